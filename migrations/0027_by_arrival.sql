DROP INDEX `batch_export_runs_scheduled`;--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `by` text DEFAULT 'arrival' NOT NULL;--> statement-breakpoint
UPDATE batch_export_runs SET "by" = 'event' WHERE backfill_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `batch_export_runs_by_arrival` ON `batch_export_runs` (`batch_export_id`,`data_interval_end`) WHERE "by" = 'arrival';--> statement-breakpoint
ALTER TABLE `batch_export_backfills` ADD `by` text DEFAULT 'event' NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `next_start_at` text DEFAULT '' NOT NULL;--> statement-breakpoint
-- The next window of the grid. With a start_at in the future, the schedule has come to now.
UPDATE batch_exports SET next_start_at = min(
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
  coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', next_end_at, CASE interval
    WHEN 'hour' THEN '-1 hours' WHEN 'day' THEN '-1 days' WHEN 'week' THEN '-7 days'
    WHEN 'every 5 minutes' THEN '-5 minutes' ELSE '-15 minutes' END), next_end_at));
