CREATE TABLE `moved_users` (
	`organization_id` integer NOT NULL,
	`uuid` text NOT NULL,
	`user_id` integer NOT NULL,
	`email` text NOT NULL,
	PRIMARY KEY(`organization_id`, `uuid`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `moved_users_user_id_unique` ON `moved_users` (`user_id`);--> statement-breakpoint
CREATE INDEX `moved_users_email` ON `moved_users` (`email`);--> statement-breakpoint
ALTER TABLE `organizations` ADD `moving` text;--> statement-breakpoint
CREATE INDEX `organizations_moving` ON `organizations` (`id`) WHERE moving is not null;
--> statement-breakpoint
CREATE TRIGGER users_arrive AFTER UPDATE OF last_sign_in_at ON users
  WHEN new.is_email_verified AND EXISTS (SELECT 1 FROM moved_users WHERE email = new.email) BEGIN
  INSERT OR IGNORE INTO members (id, organization_id, user_id, level, joined_at, updated_at, is_active, access)
    SELECT m.id, m.organization_id, new.id, m.level, m.joined_at, m.updated_at, m.is_active, m.access
    FROM moved_users AS w JOIN members AS m ON m.organization_id = w.organization_id AND m.user_id = w.user_id WHERE w.email = new.email;
  UPDATE members SET level = max(level, coalesce((SELECT m.level FROM moved_users AS w
      JOIN members AS m ON m.organization_id = w.organization_id AND m.user_id = w.user_id
      WHERE w.organization_id = members.organization_id AND w.email = new.email), 0))
    WHERE user_id = new.id AND organization_id IN (SELECT organization_id FROM moved_users WHERE email = new.email);
  UPDATE OR IGNORE project_members SET user_id = new.id
    WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE OR IGNORE role_members SET user_id = new.id
    WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE OR IGNORE access_controls SET user_id = new.id
    WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE access_controls SET created_by = new.id
    WHERE (organization_id, created_by) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE invites SET created_by = new.id
    WHERE (organization_id, created_by) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE service_accounts SET created_by = new.id
    WHERE (organization_id, created_by) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE roles SET created_by = new.id
    WHERE (organization_id, created_by) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE scim_tokens SET created_by = new.id
    WHERE (organization_id, created_by) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE OR IGNORE scim_users SET user_id = new.id WHERE (domain_id, user_id) IN (SELECT d.id, w.user_id
    FROM moved_users AS w JOIN domains AS d ON d.organization_id = w.organization_id WHERE w.email = new.email);
  UPDATE OR IGNORE scim_group_members SET user_id = new.id WHERE user_id IN (SELECT user_id FROM moved_users WHERE email = new.email)
    AND domain_id IN (SELECT d.id FROM moved_users AS w JOIN domains AS d ON d.organization_id = w.organization_id WHERE w.email = new.email);
  UPDATE domains SET break_glass = (SELECT json_group_array(iif(value IN (SELECT user_id FROM moved_users WHERE email = new.email), new.id, value))
      FROM json_each(break_glass))
    WHERE organization_id IN (SELECT organization_id FROM moved_users WHERE email = new.email) AND break_glass <> '[]';
  UPDATE notifications SET recipients = replace(recipients, (SELECT w.uuid FROM moved_users AS w
      WHERE w.organization_id = notifications.organization_id AND w.email = new.email), new.uuid)
    WHERE organization_id IN (SELECT organization_id FROM moved_users WHERE email = new.email);
  UPDATE activity_log SET user_id = new.id WHERE not is_system
    AND (organization_id, user_id) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  UPDATE activity_log SET user_id = new.id WHERE is_system
    AND (organization_id, user_id) IN (SELECT organization_id, user_id FROM moved_users WHERE email = new.email);
  DELETE FROM users WHERE id IN (SELECT user_id FROM moved_users WHERE email = new.email);
END;
