ALTER TABLE `batch_export_backfills` ADD `time_zone` text;--> statement-breakpoint
ALTER TABLE `batch_export_backfills` ADD `hour` integer;--> statement-breakpoint
ALTER TABLE `batch_export_backfills` ADD `weekday` text;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `time_zone` text;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `hour` integer;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `weekday` text;