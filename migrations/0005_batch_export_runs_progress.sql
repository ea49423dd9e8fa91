ALTER TABLE `batch_export_runs` ADD `fingerprint` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `resume_state` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `tries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `next_try_at` text;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `undelivered_windows` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `undelivered_mailed_at` text;--> statement-breakpoint
CREATE INDEX `batch_exports_undelivered` ON `batch_exports` (`undelivered_mailed_at`) WHERE undelivered_windows > 0;