ALTER TABLE `batch_export_runs` ADD `fingerprint` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `resume_state` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `tries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `next_try_at` text;