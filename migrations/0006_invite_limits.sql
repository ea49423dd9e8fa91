CREATE TABLE `invite_mails` (
	`invite_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`sent_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `invite_mails_organization` ON `invite_mails` (`organization_id`,`sent_at`);--> statement-breakpoint
ALTER TABLE `domains` ADD `claimed_at` text;--> statement-breakpoint
CREATE INDEX `invites_open` ON `invites` (`organization_id`,`created_at`);--> statement-breakpoint
-- Claims made so far have three days from now on.
UPDATE domains SET claimed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now');
