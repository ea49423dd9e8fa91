ALTER TABLE `batch_export_ranges` ADD `dismissed` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `batch_export_ranges_missing` ON `batch_export_ranges` (`batch_export_id`,`start_at`) WHERE "by" = 'arrival' and latest_error is not null and not dismissed;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `dismissed` integer DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE `batch_export_ranges` SET `dismissed` = 1 WHERE `latest_error` = 'Cancelled';
