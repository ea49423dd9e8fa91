DROP INDEX `plugin_jobs_open`;--> statement-breakpoint
ALTER TABLE `plugin_jobs` ADD `organization_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_jobs` ADD `turn` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `plugin_jobs_turn` ON `plugin_jobs` (`turn`) WHERE status = 'queued';--> statement-breakpoint
CREATE INDEX `plugin_jobs_organization` ON `plugin_jobs` (`organization_id`,`turn`) WHERE status = 'queued';--> statement-breakpoint
CREATE INDEX `plugin_jobs_running` ON `plugin_jobs` (`started_at`) WHERE status = 'running';--> statement-breakpoint
CREATE INDEX `plugin_jobs_tasks` ON `plugin_jobs` (`organization_id`,`status`,`created_at`) WHERE kind = 'task';--> statement-breakpoint
-- SQLite adds no NOT NULL column without a default; every row gets a value of its own below.
ALTER TABLE `plugin_configs` ADD `uuid` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE plugin_configs SET uuid = lower(hex(randomblob(16)));
--> statement-breakpoint
CREATE UNIQUE INDEX `plugin_configs_uuid` ON `plugin_configs` (`uuid`);--> statement-breakpoint
UPDATE plugin_jobs SET organization_id =
  (SELECT organization_id FROM plugin_configs WHERE id = plugin_jobs.plugin_config_id);
--> statement-breakpoint
UPDATE plugin_jobs SET turn = ranked.turn
  FROM (
    SELECT id, row_number() OVER (PARTITION BY organization_id ORDER BY id) AS turn
    FROM plugin_jobs WHERE status = 'queued'
  ) AS ranked
  WHERE ranked.id = plugin_jobs.id;
--> statement-breakpoint
-- plugin_jobs.turn: the lowest turn that waits, or the one after the organization's last if that is higher.
CREATE TRIGGER plugin_jobs_insert AFTER INSERT ON plugin_jobs BEGIN
  UPDATE plugin_jobs SET
    organization_id = (SELECT organization_id FROM plugin_configs WHERE id = new.plugin_config_id),
    turn = max(
      coalesce(
        (SELECT turn FROM plugin_jobs WHERE status = 'queued' AND id <> new.id ORDER BY turn LIMIT 1),
        0
      ),
      coalesce(
        (SELECT turn + 1 FROM plugin_jobs
          WHERE status = 'queued' AND id <> new.id
            AND organization_id = (SELECT organization_id FROM plugin_configs WHERE id = new.plugin_config_id)
          ORDER BY turn DESC LIMIT 1),
        0
      )
    )
  WHERE id = new.id;
END;
