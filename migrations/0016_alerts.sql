CREATE TABLE `alerts` (
	`organization_id` text NOT NULL,
	`scope` text NOT NULL,
	`activity` text NOT NULL,
	`subject` text NOT NULL,
	`position` integer,
	`due_at` text NOT NULL,
	PRIMARY KEY(`organization_id`, `scope`, `activity`, `subject`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `alerts_due` ON `alerts` (`due_at`);--> statement-breakpoint
CREATE TABLE `notifications` (
	`organization_id` text NOT NULL,
	`scope` text NOT NULL,
	`activity` text NOT NULL,
	`recipients` text,
	`next_mail_at` text DEFAULT '' NOT NULL,
	PRIMARY KEY(`organization_id`, `scope`, `activity`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
DROP INDEX `batch_exports_undelivered`;--> statement-breakpoint
ALTER TABLE `batch_exports` DROP COLUMN `mailed_at`;--> statement-breakpoint
ALTER TABLE `batch_exports` DROP COLUMN `undelivered_windows`;--> statement-breakpoint
ALTER TABLE `batch_exports` DROP COLUMN `undelivered_mailed_at`;--> statement-breakpoint
ALTER TABLE `domains` ADD `recheck_at` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `domains` ADD `failed_rechecks` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `domains` ADD `missing_since` text;--> statement-breakpoint
CREATE INDEX `domains_recheck` ON `domains` (`recheck_at`) WHERE verified_at is not null;--> statement-breakpoint
ALTER TABLE `personal_api_keys` ADD `announced_expiry` text;--> statement-breakpoint
CREATE INDEX `personal_api_keys_expiring` ON `personal_api_keys` (`expires_at`) WHERE expires_at is not null and announced_expiry is not expires_at;
--> statement-breakpoint
-- Remembers which item an event of the system is about, if the organization has its type mailed: as it has set, else those
-- of the list (src/notifications/types.ts has the same defaults). What is remembered already stays.
CREATE TRIGGER activity_log_alert AFTER INSERT ON activity_log WHEN new.is_system BEGIN
  INSERT INTO alerts (organization_id, scope, activity, subject, position, due_at)
    SELECT o.id, new.scope, new.activity,
      coalesce(new."trigger" ->> 'batch_export_id', new."trigger" ->> 'plugin_config_id', new.item_id),
      new.position, max(new.created_at, coalesce(n.next_mail_at, ''))
    FROM organizations AS o LEFT JOIN notifications AS n
      ON n.organization_id = o.id AND n.scope = new.scope AND n.activity = new.activity
    WHERE o.id = new.organization_id AND coalesce(n.recipients <> '[]', new.scope || '.' || new.activity IN
      ('BatchExportRun.failed', 'BatchExportRun.skipped', 'BatchExport.paused', 'Key.expiring', 'Domain.unverified',
        'Webhook.disabled', 'AuditStream.failed'))
    ON CONFLICT DO UPDATE SET position = excluded.position, due_at = max(due_at, excluded.due_at) WHERE position IS NULL;
END;
