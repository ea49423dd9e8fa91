-- Written by hand: WITHOUT ROWID, and the copy of the rows, whose senders aren't known.
CREATE TABLE `__new_invite_mails` (
	`sent_at` text NOT NULL,
	`invite_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` integer DEFAULT 0 NOT NULL,
	`stranger` text,
	PRIMARY KEY(`sent_at`, `invite_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_invite_mails`("sent_at", "invite_id", "organization_id") SELECT "sent_at", "invite_id", "organization_id" FROM `invite_mails`;--> statement-breakpoint
DROP TABLE `invite_mails`;--> statement-breakpoint
ALTER TABLE `__new_invite_mails` RENAME TO `invite_mails`;--> statement-breakpoint
CREATE INDEX `invite_mails_organization` ON `invite_mails` (`organization_id`,`sent_at`);--> statement-breakpoint
CREATE INDEX `invite_mails_user` ON `invite_mails` (`user_id`,`sent_at`);--> statement-breakpoint
CREATE INDEX `invite_mails_stranger` ON `invite_mails` (`stranger`,`sent_at`) WHERE stranger is not null;--> statement-breakpoint
ALTER TABLE `users` ADD `organizations_created` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `organizations_created_since` text DEFAULT '' NOT NULL;
