CREATE TABLE `activity_counts` ();
--> statement-breakpoint
CREATE TABLE `organizations` ();
--> statement-breakpoint
CREATE TABLE `projects` ();
--> statement-breakpoint
CREATE TABLE `users` ();
--> statement-breakpoint
CREATE TABLE `activity_log` ();
--> statement-breakpoint
CREATE TABLE `assertions` ();
--> statement-breakpoint
CREATE TABLE `audit_streams` ();
--> statement-breakpoint
CREATE TABLE `batch_exports` ();
--> statement-breakpoint
CREATE TABLE `batch_export_backfills` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_days` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_log_entries` ();
--> statement-breakpoint
CREATE TABLE `batch_export_ranges` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_runs` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `domains` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` ();
--> statement-breakpoint
CREATE TABLE `persons` ();
--> statement-breakpoint
CREATE TABLE `idempotency_keys` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invite_mails` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invites` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `plugins` ();
--> statement-breakpoint
CREATE TABLE `plugin_configs` ();
--> statement-breakpoint
CREATE TABLE `plugin_jobs` ();
--> statement-breakpoint
CREATE TABLE `plugin_storage` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `members` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `alerts` ();
--> statement-breakpoint
CREATE TABLE `notifications` ();
--> statement-breakpoint
CREATE TABLE `personal_api_keys` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `personal_api_key_days` ();
--> statement-breakpoint
CREATE TABLE `plugin_log_entries` ();
--> statement-breakpoint
CREATE TABLE `plugin_source_files` ();
--> statement-breakpoint
CREATE TABLE `project_members` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `service_accounts` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sign_ins` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `recovery_codes` () WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `two_factors` ();
--> statement-breakpoint
CREATE TABLE `webhooks` ();
--> statement-breakpoint
CREATE TABLE `webhook_deliveries` ();
--> statement-breakpoint
CREATE TRIGGER batch_export_runs_status AFTER UPDATE OF finished_at ON batch_export_runs
  WHEN new.backfill_id IS NOT NULL AND (new.finished_at IS NULL) <> (old.finished_at IS NULL) BEGIN
  UPDATE batch_export_backfills SET
    finished_runs = finished_runs + iif(new.finished_at IS NULL, -1, 1),
    failed_runs = failed_runs + (new.status IN ('Failed', 'FailedRetryable')) - (old.status IN ('Failed', 'FailedRetryable'))
    WHERE batch_export_id = new.batch_export_id AND id = new.backfill_id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_delete AFTER DELETE ON projects BEGIN
  UPDATE batch_exports SET deleted = 1, last_updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE organization_id = old.organization_id AND project_id = old.id AND NOT deleted;
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_delete AFTER UPDATE OF deleted ON batch_exports WHEN new.deleted AND NOT old.deleted BEGIN
  UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE project_id = new.project_id AND batch_export_id = new.id AND status = 'Running';
  UPDATE batch_export_runs SET status = 'Cancelled', finished_at = cast(round(unixepoch('subsec') * 1000) as integer)
    WHERE batch_export_id = new.id AND finished_at IS NULL;
END;
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TRIGGER activity_log_insert AFTER INSERT ON activity_log WHEN NOT new.is_system BEGIN
  INSERT INTO activity_counts VALUES (coalesce(new.organization_id, 0), coalesce(new.project_id, 0), 1)
    ON CONFLICT DO UPDATE SET entries = entries + 1;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_delete AFTER DELETE ON activity_log WHEN NOT old.is_system BEGIN
  UPDATE activity_counts SET entries = entries - 1
    WHERE organization_id = coalesce(old.organization_id, 0) AND project_id = coalesce(old.project_id, 0);
  DELETE FROM activity_counts
    WHERE organization_id = coalesce(old.organization_id, 0) AND project_id = coalesce(old.project_id, 0) AND entries = 0;
END;
--> statement-breakpoint
CREATE TRIGGER service_accounts_delete AFTER DELETE ON service_accounts BEGIN
  DELETE FROM personal_api_keys WHERE user_id = old.user_id;
  DELETE FROM members WHERE user_id = old.user_id;
  UPDATE users SET is_active = false WHERE id = old.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER audit_streams_organization_delete AFTER DELETE ON organizations BEGIN
  DELETE FROM audit_streams WHERE organization_id = old.id AND NOT enabled;
  UPDATE audit_streams SET organization_deleted_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    next_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE organization_id = old.id;
END;
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TRIGGER activity_log_webhooks AFTER INSERT ON activity_log BEGIN
  UPDATE webhooks SET next_attempt_at = new.created_at
    WHERE organization_id = new.organization_id AND enabled AND next_attempt_at IS NULL
      AND (selectors = '[]' OR EXISTS (
        SELECT 1 FROM json_each(selectors) WHERE value IN (new.scope, new.scope || '.' || new.activity)));
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_missed AFTER DELETE ON activity_log BEGIN
  UPDATE webhooks SET missed_events = missed_events + 1
    WHERE organization_id = old.organization_id AND position < old.position
      AND (selectors = '[]' OR EXISTS (
        SELECT 1 FROM json_each(selectors) WHERE value IN (old.scope, old.scope || '.' || old.activity)));
END;
--> statement-breakpoint
CREATE TRIGGER invites_counted AFTER INSERT ON invites BEGIN
  UPDATE organizations SET invites = invites + 1 WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER invites_uncounted AFTER DELETE ON invites BEGIN
  UPDATE organizations SET invites = invites - 1 WHERE id = old.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER users_activity AFTER UPDATE OF is_active ON users
  WHEN new.is_active <> old.is_active AND NOT new.is_service_account BEGIN
  UPDATE organizations SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (SELECT organization_id FROM members WHERE user_id = new.id);
  UPDATE members SET is_active = new.is_active WHERE user_id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_delete BEFORE DELETE ON users BEGIN
  DELETE FROM project_members WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM members WHERE user_id = old.id);
  DELETE FROM members WHERE user_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_delete AFTER DELETE ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries - 1,
    debug_entries = debug_entries - (old.level = 'DEBUG'),
    info_entries = info_entries - (old.level = 'INFO'),
    warning_entries = warning_entries - (old.level = 'WARNING'),
    error_entries = error_entries - (old.level = 'ERROR')
    WHERE id = old.batch_export_id;
  UPDATE batch_export_runs SET log_entries = log_entries - 1 WHERE batch_export_id = old.batch_export_id AND id = old.run_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_delete AFTER DELETE ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries - 1,
    debug_entries = debug_entries - (old.type = 'DEBUG'),
    log_type_entries = log_type_entries - (old.type = 'LOG'),
    info_entries = info_entries - (old.type = 'INFO'),
    warn_entries = warn_entries - (old.type = 'WARN'),
    error_entries = error_entries - (old.type = 'ERROR')
    WHERE id = old.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
  UPDATE members SET is_active = false
    WHERE organization_id = new.organization_id AND user_id = new.user_id AND is_active AND NOT (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_insert AFTER INSERT ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.level = 'DEBUG'),
    info_entries = info_entries + (new.level = 'INFO'),
    warning_entries = warning_entries + (new.level = 'WARNING'),
    error_entries = error_entries + (new.level = 'ERROR')
    WHERE id = new.batch_export_id;
  UPDATE batch_export_runs SET log_entries = log_entries + 1 WHERE batch_export_id = new.batch_export_id AND id = new.run_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_insert AFTER INSERT ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.type = 'DEBUG'),
    log_type_entries = log_type_entries + (new.type = 'LOG'),
    info_entries = info_entries + (new.type = 'INFO'),
    warn_entries = warn_entries + (new.type = 'WARN'),
    error_entries = error_entries + (new.type = 'ERROR')
    WHERE id = new.plugin_config_id;
END;
