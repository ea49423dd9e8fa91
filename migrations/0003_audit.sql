ALTER TABLE `activity_log` ADD `origin` text;--> statement-breakpoint
ALTER TABLE `organizations` ADD `logs_addresses` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `last_sign_in_at` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `has_origin` integer DEFAULT false NOT NULL;