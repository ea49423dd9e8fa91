CREATE TABLE `activity_counts` (
	`organization_id` text NOT NULL,
	`project_id` integer NOT NULL,
	`entries` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `project_id`)
);
--> statement-breakpoint
CREATE INDEX `activity_counts_project` ON `activity_counts` (`project_id`);--> statement-breakpoint
CREATE TABLE `activity_log` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text,
	`project_id` integer,
	`user_id` integer NOT NULL,
	`activity` text NOT NULL,
	`scope` text NOT NULL,
	`item_id` text NOT NULL,
	`name` text,
	`changes` text DEFAULT '[]' NOT NULL,
	`trigger` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `activity_log_organization` ON `activity_log` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `activity_log_project` ON `activity_log` (`project_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `activity_log_item` ON `activity_log` (`organization_id`,`scope`,`item_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `activity_log_created` ON `activity_log` (`created_at`);--> statement-breakpoint
CREATE TABLE `assertions` (
	`holds` integer NOT NULL,
	CONSTRAINT "still_admitted" CHECK("assertions"."holds")
);
--> statement-breakpoint
CREATE TABLE `domains` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`domain` text NOT NULL,
	`verified_at` text,
	`verification_challenge` text NOT NULL,
	`jit_provisioning_enabled` integer DEFAULT false NOT NULL,
	`sso_enforcement` text DEFAULT '' NOT NULL,
	`saml_entity_id` text,
	`saml_acs_url` text,
	`saml_x509_cert` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `domains_domain_unique` ON `domains` (`domain`);--> statement-breakpoint
CREATE INDEX `domains_organization` ON `domains` (`organization_id`,`domain`);--> statement-breakpoint
CREATE TABLE `invites` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`target_email` text NOT NULL,
	`first_name` text DEFAULT '' NOT NULL,
	`level` integer DEFAULT 1 NOT NULL,
	`message` text,
	`private_project_access` text DEFAULT '[]' NOT NULL,
	`created_by` integer NOT NULL,
	`emailing_attempt_made` integer NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`created_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invites_token_hash_unique` ON `invites` (`token_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `invites_organization_email` ON `invites` (`organization_id`,`target_email`);--> statement-breakpoint
CREATE INDEX `invites_organization` ON `invites` (`organization_id`,`id`);--> statement-breakpoint
CREATE TABLE `members` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`level` integer NOT NULL,
	`joined_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `members_organization_user` ON `members` (`organization_id`,`user_id`);--> statement-breakpoint
CREATE INDEX `members_organization` ON `members` (`organization_id`,`joined_at`,`id`);--> statement-breakpoint
CREATE INDEX `members_level` ON `members` (`organization_id`,`level`);--> statement-breakpoint
CREATE UNIQUE INDEX `members_user` ON `members` (`user_id`,`organization_id`);--> statement-breakpoint
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`logo_media_id` text,
	`plugins_access_level` integer NOT NULL,
	`available_product_features` text DEFAULT '[]' NOT NULL,
	`is_member_join_email_enabled` integer DEFAULT true NOT NULL,
	`metadata` text DEFAULT '{}' NOT NULL,
	`customer_id` text,
	`enforce_2fa` integer,
	`active_members` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_slug_unique` ON `organizations` (`slug`);--> statement-breakpoint
CREATE TABLE `personal_api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`label` text NOT NULL,
	`hash` text NOT NULL,
	`mask_value` text NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`scoped_organizations` text DEFAULT '[]' NOT NULL,
	`scoped_projects` text DEFAULT '[]' NOT NULL,
	`expires_at` text,
	`created_at` text NOT NULL,
	`last_used_at` text,
	`last_rolled_at` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `personal_api_keys_hash_unique` ON `personal_api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `personal_api_keys_user` ON `personal_api_keys` (`user_id`);--> statement-breakpoint
CREATE TABLE `plugin_configs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`project_id` integer NOT NULL,
	`organization_id` text NOT NULL,
	`plugin_id` integer NOT NULL,
	`enabled` integer DEFAULT false NOT NULL,
	`order` integer NOT NULL,
	`config` text DEFAULT '{}' NOT NULL,
	`error` text,
	`name` text,
	`description` text,
	`deleted` integer DEFAULT false NOT NULL,
	`log_entries` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`plugin_id`) REFERENCES `plugins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `plugin_configs_project` ON `plugin_configs` (`project_id`,`order`,`id`);--> statement-breakpoint
CREATE INDEX `plugin_configs_organization` ON `plugin_configs` (`organization_id`,`plugin_id`);--> statement-breakpoint
CREATE INDEX `plugin_configs_plugin` ON `plugin_configs` (`plugin_id`);--> statement-breakpoint
CREATE INDEX `plugin_configs_enabled` ON `plugin_configs` (`plugin_id`) WHERE enabled and not deleted;--> statement-breakpoint
CREATE TABLE `plugin_jobs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`plugin_config_id` integer NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`payload` text,
	`scheduled_for` text,
	`status` text DEFAULT 'queued' NOT NULL,
	`created_at` text NOT NULL,
	`started_at` text,
	`finished_at` text,
	FOREIGN KEY (`plugin_config_id`) REFERENCES `plugin_configs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `plugin_jobs_task` ON `plugin_jobs` (`plugin_config_id`,`name`,`scheduled_for`);--> statement-breakpoint
CREATE INDEX `plugin_jobs_config` ON `plugin_jobs` (`plugin_config_id`,`finished_at`);--> statement-breakpoint
CREATE INDEX `plugin_jobs_open` ON `plugin_jobs` (`status`,`created_at`) WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX `plugin_jobs_finished` ON `plugin_jobs` (`finished_at`);--> statement-breakpoint
CREATE TABLE `plugin_log_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`team_id` integer NOT NULL,
	`plugin_id` integer NOT NULL,
	`plugin_config_id` integer NOT NULL,
	`timestamp` text NOT NULL,
	`source` text NOT NULL,
	`type` text NOT NULL,
	`message` text NOT NULL,
	`instance_id` text NOT NULL,
	FOREIGN KEY (`plugin_config_id`) REFERENCES `plugin_configs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `plugin_log_entries_config` ON `plugin_log_entries` (`plugin_config_id`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `plugin_log_entries_timestamp` ON `plugin_log_entries` (`timestamp`);--> statement-breakpoint
CREATE TABLE `plugin_source_files` (
	`plugin_id` integer NOT NULL,
	`filename` text NOT NULL,
	`source` text NOT NULL,
	`compiled` text,
	`error` text,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`plugin_id`, `filename`),
	FOREIGN KEY (`plugin_id`) REFERENCES `plugins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `plugin_storage` (
	`plugin_config_id` integer NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	PRIMARY KEY(`plugin_config_id`, `key`),
	FOREIGN KEY (`plugin_config_id`) REFERENCES `plugin_configs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `plugins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` text NOT NULL,
	`plugin_type` text NOT NULL,
	`name` text DEFAULT '' NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`url` text,
	`private_token` text,
	`icon` text,
	`config_schema` text DEFAULT '[]' NOT NULL,
	`tag` text,
	`latest_tag` text,
	`is_global` integer DEFAULT false NOT NULL,
	`capabilities` text NOT NULL,
	`metrics` text DEFAULT '{}' NOT NULL,
	`public_jobs` text DEFAULT '{}' NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `plugins_organization_url` ON `plugins` (`organization_id`,`url`);--> statement-breakpoint
CREATE INDEX `plugins_global` ON `plugins` (`id`) WHERE is_global;--> statement-breakpoint
CREATE TABLE `project_members` (
	`id` text PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`level` integer NOT NULL,
	`joined_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`,`user_id`) REFERENCES `members`(`organization_id`,`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `project_members_project_user` ON `project_members` (`project_id`,`user_id`);--> statement-breakpoint
CREATE INDEX `project_members_organization_user` ON `project_members` (`organization_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`uuid` text NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`timezone` text DEFAULT 'UTC' NOT NULL,
	`access_control` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_uuid_unique` ON `projects` (`uuid`);--> statement-breakpoint
CREATE INDEX `projects_organization` ON `projects` (`organization_id`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`uuid` text NOT NULL,
	`distinct_id` text NOT NULL,
	`first_name` text DEFAULT '' NOT NULL,
	`last_name` text DEFAULT '' NOT NULL,
	`email` text NOT NULL,
	`is_email_verified` integer DEFAULT false NOT NULL,
	`mascot_config` text DEFAULT '{}' NOT NULL,
	`is_active` integer DEFAULT true NOT NULL,
	`is_2fa_enabled` integer DEFAULT false NOT NULL,
	`has_social_auth` integer DEFAULT false NOT NULL,
	`current_organization_id` text,
	`current_project_id` integer,
	`created_at` text NOT NULL,
	FOREIGN KEY (`current_organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`current_project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE set null
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_uuid_unique` ON `users` (`uuid`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE INDEX `users_current_organization` ON `users` (`current_organization_id`);--> statement-breakpoint
CREATE INDEX `users_current_project` ON `users` (`current_project_id`);