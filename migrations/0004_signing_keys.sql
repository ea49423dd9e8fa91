CREATE TABLE `signing_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`algorithm` text NOT NULL,
	`public_key` text NOT NULL,
	`private_key` text,
	`signs_from` text NOT NULL,
	`signs_until` text,
	`created_at` text NOT NULL
);
