CREATE TABLE `__new_activity_log` (
	`position` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`organization_id` text,
	`project_id` integer,
	`user_id` integer,
	`activity` text NOT NULL,
	`scope` text NOT NULL,
	`item_id` text NOT NULL,
	`name` text,
	`changes` text DEFAULT '[]' NOT NULL,
	`trigger` text,
	`is_system` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
-- Positions are given in the order of creation.
INSERT INTO `__new_activity_log`("id", "organization_id", "project_id", "user_id", "activity", "scope", "item_id", "name", "changes", "trigger", "created_at") SELECT "id", "organization_id", "project_id", "user_id", "activity", "scope", "item_id", "name", "changes", "trigger", "created_at" FROM `activity_log` ORDER BY "created_at", "id";--> statement-breakpoint
DROP TABLE `activity_log`;--> statement-breakpoint
ALTER TABLE `__new_activity_log` RENAME TO `activity_log`;--> statement-breakpoint
CREATE UNIQUE INDEX `activity_log_id_unique` ON `activity_log` (`id`);--> statement-breakpoint
CREATE INDEX `activity_log_organization` ON `activity_log` (`organization_id`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_project` ON `activity_log` (`project_id`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_item` ON `activity_log` (`organization_id`,`scope`,`item_id`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_created` ON `activity_log` (`created_at`);--> statement-breakpoint
CREATE INDEX `activity_log_feed` ON `activity_log` (`organization_id`,`position`);--> statement-breakpoint
CREATE INDEX `activity_log_type` ON `activity_log` (`organization_id`,`scope`,`activity`,`position`);
--> statement-breakpoint
-- The triggers of migration 0001, which were deleted with the old table. They leave out the entries of the system.
CREATE TRIGGER activity_log_insert AFTER INSERT ON activity_log WHEN NOT new.is_system BEGIN
  INSERT INTO activity_counts VALUES (coalesce(new.organization_id, ''), coalesce(new.project_id, 0), 1)
    ON CONFLICT DO UPDATE SET entries = entries + 1;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_delete AFTER DELETE ON activity_log WHEN NOT old.is_system BEGIN
  UPDATE activity_counts SET entries = entries - 1
    WHERE organization_id = coalesce(old.organization_id, '') AND project_id = coalesce(old.project_id, 0);
  DELETE FROM activity_counts
    WHERE organization_id = coalesce(old.organization_id, '') AND project_id = coalesce(old.project_id, 0) AND entries = 0;
END;
