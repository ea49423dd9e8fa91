CREATE TABLE `personal_api_key_days` (
	`key_id` text NOT NULL,
	`day` text NOT NULL,
	`requests` integer NOT NULL,
	`refusals` integer NOT NULL,
	`last_address` text,
	PRIMARY KEY(`key_id`, `day`),
	FOREIGN KEY (`key_id`) REFERENCES `personal_api_keys`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `personal_api_key_days_day` ON `personal_api_key_days` (`day`);--> statement-breakpoint
CREATE TABLE `service_accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`name` text NOT NULL,
	`created_by` integer NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`created_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `service_accounts_user_id_unique` ON `service_accounts` (`user_id`);--> statement-breakpoint
CREATE INDEX `service_accounts_organization` ON `service_accounts` (`organization_id`,`id`);--> statement-breakpoint
ALTER TABLE `organizations` ADD `keys_must_expire` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `personal_api_keys` ADD `allowed_ips` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `is_service_account` integer DEFAULT false NOT NULL;
--> statement-breakpoint
-- A service account ends with its row, whether that is deleted itself or with its organization. Its user stays, inactive,
-- for the activity log.
CREATE TRIGGER service_accounts_delete AFTER DELETE ON service_accounts BEGIN
  DELETE FROM personal_api_keys WHERE user_id = old.user_id;
  DELETE FROM members WHERE user_id = old.user_id;
  UPDATE users SET is_active = false WHERE id = old.user_id;
END;
--> statement-breakpoint
-- The triggers of migration 0001 for organizations.active_members, which counts people: service accounts are left out.
DROP TRIGGER members_insert;
--> statement-breakpoint
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
DROP TRIGGER members_delete;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
DROP TRIGGER users_activity;
--> statement-breakpoint
CREATE TRIGGER users_activity AFTER UPDATE OF is_active ON users
  WHEN new.is_active <> old.is_active AND NOT new.is_service_account BEGIN
  UPDATE organizations SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (SELECT organization_id FROM members WHERE user_id = new.id);
END;
