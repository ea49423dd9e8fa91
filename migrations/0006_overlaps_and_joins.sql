ALTER TABLE `batch_exports` ADD `pause_note` text;--> statement-breakpoint
ALTER TABLE `users` ADD `factor_reset_at` text;--> statement-breakpoint
ALTER TABLE `personal_api_keys` ADD `previous_hash` text;--> statement-breakpoint
ALTER TABLE `personal_api_keys` ADD `previous_value_expires_at` text;--> statement-breakpoint
CREATE INDEX `personal_api_keys_previous` ON `personal_api_keys` (`previous_hash`) WHERE previous_hash is not null;
--> statement-breakpoint
DROP TRIGGER activity_log_alert;
--> statement-breakpoint
CREATE TRIGGER activity_log_alert AFTER INSERT ON activity_log
  WHEN new.is_system OR (new.scope = 'Member' AND new.activity = 'created' AND new."trigger" ->> 'via' IN ('invite', 'sso', 'scim')) BEGIN
  INSERT INTO alerts (organization_id, scope, activity, subject, position, due_at)
    SELECT o.id, new.scope, new.activity,
      iif(new.is_system, coalesce(new."trigger" ->> 'batch_export_id', new."trigger" ->> 'plugin_config_id', new.item_id), ''),
      new.position, max(strftime('%Y-%m-%dT%H:%M:%fZ', new.created_at / 1000.0, 'unixepoch'), coalesce(n.next_mail_at, ''))
    FROM organizations AS o LEFT JOIN notifications AS n
      ON n.organization_id = o.id AND n.scope = new.scope AND n.activity = new.activity
    WHERE o.id = new.organization_id AND (new.is_system OR o.is_member_join_email_enabled)
      AND coalesce(n.recipients <> '[]', new.scope || '.' || new.activity IN
        ('BatchExportRun.failed', 'BatchExportRun.skipped', 'BatchExport.paused', 'Key.expiring', 'Domain.unverified',
          'Webhook.disabled', 'AuditStream.failed', 'Member.created'))
    ON CONFLICT DO UPDATE SET position = excluded.position, due_at = max(due_at, excluded.due_at) WHERE position IS NULL;
END;
