-- activity_counts holds what count(*) over activity_log would say, so that no page has to count.
CREATE TRIGGER activity_log_insert AFTER INSERT ON activity_log BEGIN
  INSERT INTO activity_counts VALUES (coalesce(new.organization_id, ''), coalesce(new.project_id, 0), 1)
    ON CONFLICT DO UPDATE SET entries = entries + 1;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_delete AFTER DELETE ON activity_log BEGIN
  UPDATE activity_counts SET entries = entries - 1
    WHERE organization_id = coalesce(old.organization_id, '') AND project_id = coalesce(old.project_id, 0);
  DELETE FROM activity_counts
    WHERE organization_id = coalesce(old.organization_id, '') AND project_id = coalesce(old.project_id, 0) AND entries = 0;
END;
--> statement-breakpoint
-- organizations.active_members: the members whose user is active.
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER users_activity AFTER UPDATE OF is_active ON users WHEN new.is_active <> old.is_active BEGIN
  UPDATE organizations SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (SELECT organization_id FROM members WHERE user_id = new.id);
END;
--> statement-breakpoint
-- plugin_configs.log_entries: what count(*) over a config's log would say.
CREATE TRIGGER plugin_log_entries_insert AFTER INSERT ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries + 1 WHERE id = new.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_delete AFTER DELETE ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries - 1 WHERE id = old.plugin_config_id;
END;
