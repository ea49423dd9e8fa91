CREATE TABLE `access_controls` (
	`organization_id` integer NOT NULL,
	`id` text NOT NULL,
	`resource` text NOT NULL,
	`resource_id` text DEFAULT '' NOT NULL,
	`role_id` text,
	`user_id` integer,
	`access_level` integer NOT NULL,
	`created_by` integer,
	`created_at` text NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`role_id`) REFERENCES `roles`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`,`user_id`) REFERENCES `members`(`organization_id`,`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `access_controls_role` ON `access_controls` (`organization_id`,`resource`,`resource_id`,`role_id`) WHERE role_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `access_controls_member` ON `access_controls` (`organization_id`,`resource`,`resource_id`,`user_id`) WHERE user_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `access_controls_everyone` ON `access_controls` (`organization_id`,`resource`,`resource_id`) WHERE role_id is null and user_id is null;--> statement-breakpoint
CREATE TABLE `role_members` (
	`organization_id` integer NOT NULL,
	`role_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`organization_id`, `role_id`, `user_id`),
	FOREIGN KEY (`role_id`) REFERENCES `roles`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`,`user_id`) REFERENCES `members`(`organization_id`,`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `role_members_user` ON `role_members` (`organization_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `roles` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`created_by` integer,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `roles_name` ON `roles` (`organization_id`,`name`);--> statement-breakpoint
ALTER TABLE `organizations` ADD `access` text;--> statement-breakpoint
ALTER TABLE `members` ADD `access` text;--> statement-breakpoint
ALTER TABLE `scim_groups` ADD `roles` text DEFAULT '[]' NOT NULL;
--> statement-breakpoint
INSERT INTO `roles` (`id`, `organization_id`, `name`, `description`, `created_at`) VALUES
  ('00000000-0000-7000-8000-000000000001', NULL, 'Auditor', 'Can view everything, including the activity log, and change nothing.', '2026-11-28T00:00:00.000Z');
--> statement-breakpoint
CREATE TRIGGER projects_access AFTER DELETE ON projects BEGIN
  DELETE FROM access_controls WHERE organization_id = old.organization_id AND resource = 'project' AND resource_id = cast(old.id AS text);
END;
--> statement-breakpoint
CREATE TRIGGER plugins_access AFTER DELETE ON plugins BEGIN
  DELETE FROM access_controls WHERE organization_id = old.organization_id AND resource = 'plugin' AND resource_id = cast(old.id AS text);
END;
--> statement-breakpoint
CREATE TRIGGER webhooks_access AFTER DELETE ON webhooks BEGIN
  DELETE FROM access_controls WHERE organization_id = old.organization_id AND resource = 'webhook' AND resource_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER domains_access AFTER DELETE ON domains BEGIN
  DELETE FROM access_controls WHERE organization_id = old.organization_id AND resource = 'domain' AND resource_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_access AFTER DELETE ON batch_exports BEGIN
  DELETE FROM access_controls WHERE organization_id = old.organization_id AND resource = 'batch_export' AND resource_id = old.uuid;
END;
