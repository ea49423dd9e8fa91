CREATE TABLE `batch_export_days` (
	`batch_export_id` text NOT NULL,
	`day` text NOT NULL,
	`runs` integer DEFAULT 0 NOT NULL,
	`rows` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`seconds` real DEFAULT 0 NOT NULL,
	PRIMARY KEY(`batch_export_id`, `day`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `fingerprint` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `resume_state` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `tries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `next_try_at` text;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `started_at` text;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `undelivered_windows` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `undelivered_mailed_at` text;--> statement-breakpoint
CREATE INDEX `batch_exports_undelivered` ON `batch_exports` (`undelivered_mailed_at`) WHERE undelivered_windows > 0;