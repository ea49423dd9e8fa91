CREATE TABLE `plugin_activity` (
	`position` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` integer,
	`activity` text NOT NULL,
	`created_at` text NOT NULL,
	`plugin_id` integer NOT NULL,
	`families` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `plugin_activity_plugin` ON `plugin_activity` (`plugin_id`) WHERE families < 8;--> statement-breakpoint
CREATE INDEX `plugin_activity_created` ON `plugin_activity` (`organization_id`,`families`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `plugin_activity_user` ON `plugin_activity` (`organization_id`,`families`,`user_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `plugin_activity_activity` ON `plugin_activity` (`organization_id`,`families`,`activity`,`created_at`,`id`);--> statement-breakpoint
-- plugin_activity: the entries about plugins, with the families of the plugin. Once a plugin has 200 entries, new ones have 8
-- instead, so that a change of its families updates 200 rows at most.
CREATE TRIGGER activity_log_plugin_activity_insert AFTER INSERT ON activity_log WHEN new.scope = 'Plugin' AND NOT new.is_system BEGIN
  INSERT INTO plugin_activity (position, id, organization_id, user_id, activity, created_at, plugin_id, families)
    SELECT new.position, new.id, new.organization_id, new.user_id, new.activity, new.created_at, id, iif(activity_entries < 200, families, 8)
    FROM plugins WHERE id = cast(new.item_id AS integer) AND organization_id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_plugin_activity_delete AFTER DELETE ON activity_log WHEN old.scope = 'Plugin' AND NOT old.is_system BEGIN
  DELETE FROM plugin_activity WHERE position = old.position;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_activity_families AFTER UPDATE OF capabilities ON plugins WHEN new.families <> old.families BEGIN
  UPDATE plugin_activity SET families = new.families WHERE plugin_id = new.id AND families < 8;
END;
--> statement-breakpoint
-- Rows with an 8 stay as long as their entry. No list has them, since their plugin isn't found.
CREATE TRIGGER plugins_activity_delete AFTER DELETE ON plugins BEGIN
  DELETE FROM plugin_activity WHERE plugin_id = old.id AND families < 8;
END;
--> statement-breakpoint
-- The entries that are there already.
INSERT INTO plugin_activity (position, id, organization_id, user_id, activity, created_at, plugin_id, families)
  SELECT e.position, e.id, e.organization_id, e.user_id, e.activity, e.created_at, p.id, iif(row_number() OVER (PARTITION BY p.id ORDER BY e.position) <= 200, p.families, 8)
  FROM activity_log AS e JOIN plugins AS p ON p.id = cast(e.item_id AS integer) AND p.organization_id = e.organization_id
  WHERE e.scope = 'Plugin' AND NOT e.is_system;
