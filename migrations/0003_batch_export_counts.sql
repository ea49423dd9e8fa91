-- batch_exports.runs and .log_entries: what count(*) would say.
CREATE TRIGGER batch_export_runs_insert AFTER INSERT ON batch_export_runs BEGIN
  UPDATE batch_exports SET runs = runs + 1 WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_runs_delete AFTER DELETE ON batch_export_runs BEGIN
  UPDATE batch_exports SET runs = runs - 1 WHERE id = old.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_insert AFTER INSERT ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries + 1 WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_delete AFTER DELETE ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries - 1 WHERE id = old.batch_export_id;
END;
--> statement-breakpoint
-- The progress of a backfill, also when one of its runs is tried again.
CREATE TRIGGER batch_export_runs_status AFTER UPDATE OF status ON batch_export_runs WHEN new.backfill_id IS NOT NULL BEGIN
  UPDATE batch_export_backfills SET
    finished_runs = finished_runs + (new.status NOT IN ('Starting', 'Running')) - (old.status NOT IN ('Starting', 'Running')),
    failed_runs = failed_runs + (new.status IN ('Failed', 'FailedRetryable')) - (old.status IN ('Failed', 'FailedRetryable'))
    WHERE id = new.backfill_id;
END;
--> statement-breakpoint
-- With a project its exports end, and what runs for them; the clock then removes their rows.
CREATE TRIGGER projects_delete AFTER DELETE ON projects BEGIN
  UPDATE batch_exports SET deleted = 1, last_updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE project_id = old.id AND NOT deleted;
END;
--> statement-breakpoint
-- What runs for a deleted export is cancelled.
CREATE TRIGGER batch_exports_delete AFTER UPDATE OF deleted ON batch_exports WHEN new.deleted AND NOT old.deleted BEGIN
  UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE batch_export_id = new.id AND status = 'Running';
  UPDATE batch_export_runs SET status = 'Cancelled', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE batch_export_id = new.id AND finished_at IS NULL;
END;
