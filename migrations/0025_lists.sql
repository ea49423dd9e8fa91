CREATE TABLE `plugin_config_counts` (
	`organization_id` text NOT NULL,
	`families` integer NOT NULL,
	`enabled_configs` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `families`)
);
--> statement-breakpoint
DROP INDEX `plugins_unused`;--> statement-breakpoint
CREATE INDEX `plugins_unused_destinations` ON `plugins` (`organization_id`,`id`) WHERE families & 1 and not is_used;--> statement-breakpoint
CREATE INDEX `plugins_global_destinations` ON `plugins` (`id`) WHERE families & 1 and is_global;--> statement-breakpoint
CREATE INDEX `plugins_unused_frontend_apps` ON `plugins` (`organization_id`,`id`) WHERE families & 2 and not is_used;--> statement-breakpoint
CREATE INDEX `plugins_global_frontend_apps` ON `plugins` (`id`) WHERE families & 2 and is_global;--> statement-breakpoint
CREATE INDEX `plugins_unused_import_apps` ON `plugins` (`organization_id`,`id`) WHERE families & 4 and not is_used;--> statement-breakpoint
CREATE INDEX `plugins_global_import_apps` ON `plugins` (`id`) WHERE families & 4 and is_global;--> statement-breakpoint
CREATE INDEX `batch_export_backfills_status_range` ON `batch_export_backfills` (`batch_export_id`,`status`,`end_at`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_runs_unsuccessful` ON `batch_export_runs` (`batch_export_id`,`status`,`data_interval_end`,`id`) WHERE status in ('Failed', 'FailedRetryable', 'Cancelled');--> statement-breakpoint
-- plugin_config_counts: an organization's enabled configs of destinations, by families. A new config gets its families by an update.
CREATE TRIGGER plugin_configs_enabled_counted AFTER UPDATE OF enabled, deleted, families ON plugin_configs
  WHEN new.enabled AND NOT new.deleted AND new.families & 1 AND (NOT old.enabled OR old.deleted OR old.families <> new.families) BEGIN
  INSERT INTO plugin_config_counts VALUES (new.organization_id, new.families, 1)
    ON CONFLICT DO UPDATE SET enabled_configs = enabled_configs + 1;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_enabled_recounted AFTER UPDATE OF enabled, deleted, families ON plugin_configs
  WHEN old.enabled AND NOT old.deleted AND old.families & 1 AND (NOT new.enabled OR new.deleted OR old.families <> new.families) BEGIN
  UPDATE plugin_config_counts SET enabled_configs = enabled_configs - 1 WHERE organization_id = old.organization_id AND families = old.families;
  DELETE FROM plugin_config_counts WHERE organization_id = old.organization_id AND families = old.families AND enabled_configs = 0;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_enabled_uncounted AFTER DELETE ON plugin_configs WHEN old.enabled AND NOT old.deleted AND old.families & 1 BEGIN
  UPDATE plugin_config_counts SET enabled_configs = enabled_configs - 1 WHERE organization_id = old.organization_id AND families = old.families;
  DELETE FROM plugin_config_counts WHERE organization_id = old.organization_id AND families = old.families AND enabled_configs = 0;
END;
--> statement-breakpoint
-- The configs that are there already.
INSERT INTO plugin_config_counts
  SELECT organization_id, families, count(*) FROM plugin_configs WHERE enabled AND NOT deleted AND families & 1 GROUP BY organization_id, families;
