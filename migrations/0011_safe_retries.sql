CREATE TABLE `idempotency_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`created_at` text NOT NULL,
	`under_way_until` text NOT NULL,
	`journal` text,
	`rows` text,
	`answer` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_user_key` ON `idempotency_keys` (`user_id`,`key`);--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `__new_assertions` (
	`holds` integer DEFAULT 1 NOT NULL,
	`is_unchanged` integer DEFAULT 1 NOT NULL,
	`is_unused` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "still_admitted" CHECK("__new_assertions"."holds"),
	CONSTRAINT "still_unchanged" CHECK("__new_assertions"."is_unchanged"),
	CONSTRAINT "still_unused" CHECK("__new_assertions"."is_unused")
);
--> statement-breakpoint
-- The table is always empty, so there are no rows to copy.
DROP TABLE `assertions`;--> statement-breakpoint
ALTER TABLE `__new_assertions` RENAME TO `assertions`;--> statement-breakpoint
ALTER TABLE `personal_api_keys` ADD `version` text DEFAULT '2026-11-21' NOT NULL;
