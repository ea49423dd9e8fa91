CREATE TABLE `erasures` (
	`user_id` integer PRIMARY KEY NOT NULL,
	`uuid` text NOT NULL,
	`addresses` text DEFAULT '[]' NOT NULL,
	`position` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL
);
