-- The index that searches of members used before member_names (the migration `search`), and what triggers wrote to it.
DROP TRIGGER users_search;
--> statement-breakpoint
DROP TRIGGER members_insert;
--> statement-breakpoint
DROP TRIGGER members_delete;
--> statement-breakpoint
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE users SET organizations = organizations + 1 WHERE id = new.user_id;
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
  UPDATE members SET is_active = false WHERE id = new.id AND NOT (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE users SET organizations = organizations - 1 WHERE id = old.user_id;
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
DROP TABLE member_search;
