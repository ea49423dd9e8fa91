-- activity_counts holds what count(*) over activity_log would say, so that no page has to count.
CREATE TRIGGER activity_log_insert AFTER INSERT ON activity_log BEGIN
  INSERT INTO activity_counts VALUES (coalesce(new.organization_id, ''), coalesce(new.project_id, 0), 1)
    ON CONFLICT DO UPDATE SET entries = entries + 1;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_delete AFTER DELETE ON activity_log BEGIN
  UPDATE activity_counts SET entries = entries - 1
    WHERE organization_id = coalesce(old.organization_id, '') AND project_id = coalesce(old.project_id, 0);
END;
