ALTER TABLE `oauth_refresh_tokens` ADD `scopes` text;--> statement-breakpoint
ALTER TABLE `oauth_refresh_tokens` ADD `last_exchange` text;