CREATE TABLE `organizations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`uuid` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`logo_media_id` text,
	`plugins_access_level` integer NOT NULL,
	`available_product_features` text DEFAULT '[]' NOT NULL,
	`is_member_join_email_enabled` integer DEFAULT true NOT NULL,
	`metadata` text DEFAULT '{}' NOT NULL,
	`customer_id` text,
	`enforce_2fa` integer,
	`keys_must_expire` integer DEFAULT false NOT NULL,
	`active_members` integer DEFAULT 0 NOT NULL,
	`invites` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`session_idle_minutes` integer DEFAULT 720 NOT NULL,
	`session_max_minutes` integer DEFAULT 10080 NOT NULL,
	`allowed_apps` text
);
--> statement-breakpoint
CREATE TABLE `projects` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`uuid` text NOT NULL,
	`organization_id` integer NOT NULL,
	`name` text NOT NULL,
	`timezone` text DEFAULT 'UTC' NOT NULL,
	`access_control` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
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
	`is_service_account` integer DEFAULT false NOT NULL,
	`current_organization_id` integer,
	`current_project_id` integer,
	`organizations_created` integer DEFAULT 0 NOT NULL,
	`organizations_created_since` text DEFAULT '' NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `activity_log` (
	`position` integer PRIMARY KEY NOT NULL,
	`organization_id` integer,
	`project_id` integer,
	`user_id` integer,
	`activity` text NOT NULL,
	`scope` text NOT NULL,
	`item_id` text NOT NULL,
	`is_system` integer DEFAULT false NOT NULL,
	`created_at` integer NOT NULL,
	`nonce` integer DEFAULT 0 NOT NULL,
	`total` integer,
	`total_without_project` integer,
	`project_total` integer,
	`name` text,
	`changes` text DEFAULT '[]' NOT NULL,
	`trigger` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `assertions` (
	`has_access` integer DEFAULT 1 NOT NULL,
	`is_current` integer DEFAULT 1 NOT NULL,
	`is_unchanged` integer DEFAULT 1 NOT NULL,
	`has_room` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "has_access" CHECK("assertions"."has_access"),
	CONSTRAINT "is_current" CHECK("assertions"."is_current"),
	CONSTRAINT "is_unchanged" CHECK("assertions"."is_unchanged"),
	CONSTRAINT "has_room" CHECK("assertions"."has_room")
);
--> statement-breakpoint
CREATE TABLE `audit_streams` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer NOT NULL,
	`organization_uuid` text NOT NULL,
	`name` text NOT NULL,
	`destination` text NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`position` integer DEFAULT 0 NOT NULL,
	`sequence` integer DEFAULT 0 NOT NULL,
	`digest` text NOT NULL,
	`delivered_events` integer DEFAULT 0 NOT NULL,
	`missing_events` integer DEFAULT 0 NOT NULL,
	`last_file` text,
	`last_delivered_at` text,
	`delivered_until` text,
	`file` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`failing_since` text,
	`latest_error` text,
	`last_notified_at` text,
	`next_attempt_at` text,
	`lease` integer DEFAULT 0 NOT NULL,
	`lease_expires_at` text,
	`organization_deleted_at` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `batch_exports` (
	`id` integer PRIMARY KEY NOT NULL,
	`uuid` text NOT NULL,
	`organization_id` integer NOT NULL,
	`project_id` integer NOT NULL,
	`name` text NOT NULL,
	`model` text DEFAULT 'events' NOT NULL,
	`destination` text NOT NULL,
	`interval` text NOT NULL,
	`paused` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	`last_updated_at` text NOT NULL,
	`last_paused_at` integer,
	`start_at` text,
	`end_at` text,
	`xql_query` text,
	`schema` text,
	`deleted` integer DEFAULT false NOT NULL,
	`next_start_at` text NOT NULL,
	`next_end_at` text NOT NULL,
	`due_at` text NOT NULL,
	`runs` integer DEFAULT 0 NOT NULL,
	`backfills` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `batch_export_backfills` (
	`batch_export_id` integer NOT NULL,
	`id` text NOT NULL,
	`project_id` integer NOT NULL,
	`start_at` text NOT NULL,
	`end_at` text NOT NULL,
	`interval` text NOT NULL,
	`by` text DEFAULT 'event' NOT NULL,
	`status` text DEFAULT 'Running' NOT NULL,
	`next_start_at` text NOT NULL,
	`total_runs` integer NOT NULL,
	`finished_runs` integer DEFAULT 0 NOT NULL,
	`failed_runs` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`finished_at` text,
	`last_updated_at` text NOT NULL,
	PRIMARY KEY(`batch_export_id`, `id`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_days` (
	`batch_export_id` integer NOT NULL,
	`day` text NOT NULL,
	`runs` integer DEFAULT 0 NOT NULL,
	`rows` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`seconds` real DEFAULT 0 NOT NULL,
	PRIMARY KEY(`batch_export_id`, `day`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_ranges` (
	`batch_export_id` integer NOT NULL,
	`by` text NOT NULL,
	`start_at` integer NOT NULL,
	`end_at` integer NOT NULL,
	`latest_error` text,
	`runs` integer NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`batch_export_id`, `by`, `start_at`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `batch_export_runs` (
	`batch_export_id` integer NOT NULL,
	`id` text NOT NULL,
	`backfill_id` text,
	`status` text DEFAULT 'Starting' NOT NULL,
	`records_completed` integer DEFAULT 0 NOT NULL,
	`records_total_count` integer,
	`latest_error` text,
	`by` text DEFAULT 'arrival' NOT NULL,
	`data_interval_start` integer NOT NULL,
	`data_interval_end` integer NOT NULL,
	`cursor` text,
	`state` text,
	`fingerprint` text,
	`resume_state` text,
	`lease` integer DEFAULT 0 NOT NULL,
	`lease_expires_at` integer,
	`attempts` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`unfit_values` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	`last_updated_at` integer NOT NULL,
	PRIMARY KEY(`batch_export_id`, `id`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `domains` (
	`id` text NOT NULL,
	`organization_id` integer NOT NULL,
	`domain` text NOT NULL,
	`claimed_at` text,
	`verified_at` text,
	`verification_challenge` text NOT NULL,
	`jit_provisioning_enabled` integer DEFAULT false NOT NULL,
	`sso_enforcement` text DEFAULT '' NOT NULL,
	`saml_entity_id` text,
	`saml_acs_url` text,
	`saml_x509_cert` text,
	`recheck_at` text DEFAULT '' NOT NULL,
	`failed_rechecks` integer DEFAULT 0 NOT NULL,
	`missing_since` text,
	`saml_idp_initiated` integer DEFAULT false NOT NULL,
	`oidc_issuer` text,
	`oidc_client_id` text,
	`oidc_client_secret` text,
	`jit_provisioning_level` integer DEFAULT 1 NOT NULL,
	`break_glass` text DEFAULT '[]' NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`id` integer PRIMARY KEY NOT NULL,
	`team_id` integer NOT NULL,
	`uuid` blob NOT NULL,
	`event` text NOT NULL,
	`distinct_id` text NOT NULL,
	`person_id` text,
	`properties` text NOT NULL,
	`person_properties` text,
	`elements_chain` text DEFAULT '' NOT NULL,
	`timestamp` integer NOT NULL,
	`_inserted_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `persons` (
	`id` integer PRIMARY KEY NOT NULL,
	`team_id` integer NOT NULL,
	`distinct_id` text NOT NULL,
	`person_id` text,
	`properties` text NOT NULL,
	`person_version` integer DEFAULT 1 NOT NULL,
	`created_at` integer NOT NULL,
	`_inserted_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`user_id` integer NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`created_at` text NOT NULL,
	`lease_expires_at` text NOT NULL,
	`response` text,
	PRIMARY KEY(`user_id`, `key`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invite_mails` (
	`sent_at` text NOT NULL,
	`invite_id` text NOT NULL,
	`organization_id` integer NOT NULL,
	`user_id` integer DEFAULT 0 NOT NULL,
	`stranger` text,
	PRIMARY KEY(`organization_id`, `sent_at`, `invite_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invites` (
	`id` text NOT NULL,
	`organization_id` integer NOT NULL,
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
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`created_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `plugins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` integer NOT NULL,
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
	`compile_at` text,
	`families` integer GENERATED ALWAYS AS ((iif(instr(coalesce(capabilities ->> '$.methods', ''), '"onEvent"') or instr(coalesce(capabilities ->> '$.methods', ''), '"exportEvents"') or instr(coalesce(capabilities ->> '$.methods', ''), '"composeWebhook"'), 1, 0)
  + iif(capabilities ->> '$.methods' is null and capabilities ->> '$.scheduled_tasks' is null, 2, 0)
  + iif(json_array_length(coalesce(capabilities -> '$.scheduled_tasks', '[]')) > 0
    or (capabilities ->> '$.methods' is not null
      and not (instr(coalesce(capabilities ->> '$.methods', ''), '"onEvent"') or instr(coalesce(capabilities ->> '$.methods', ''), '"exportEvents"') or instr(coalesce(capabilities ->> '$.methods', ''), '"composeWebhook"') or instr(coalesce(capabilities ->> '$.methods', ''), '"processEvent"'))), 4, 0))) VIRTUAL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `plugin_configs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`uuid` text NOT NULL,
	`project_id` integer NOT NULL,
	`organization_id` integer NOT NULL,
	`plugin_id` integer NOT NULL,
	`enabled` integer DEFAULT false NOT NULL,
	`enabled_at` text,
	`order` integer NOT NULL,
	`config` text DEFAULT '{}' NOT NULL,
	`error` text,
	`results` text DEFAULT '{}' NOT NULL,
	`generation` integer DEFAULT 0 NOT NULL,
	`name` text,
	`description` text,
	`deleted` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`plugin_id`) REFERENCES `plugins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `plugin_jobs` (
	`turn` integer NOT NULL,
	`id` integer DEFAULT (abs(random() >> 11)) NOT NULL,
	`organization_id` integer NOT NULL,
	`plugin_config_id` integer NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`lease_expires_at` text,
	`payload` text,
	PRIMARY KEY(`turn`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `plugin_storage` (
	`plugin_config_id` integer NOT NULL,
	`key` text NOT NULL,
	`bytes` integer NOT NULL,
	`value` text NOT NULL,
	PRIMARY KEY(`plugin_config_id`, `key`),
	FOREIGN KEY (`plugin_config_id`) REFERENCES `plugin_configs`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `members` (
	`id` text NOT NULL,
	`organization_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`level` integer NOT NULL,
	`joined_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`is_active` integer DEFAULT true NOT NULL,
	PRIMARY KEY(`organization_id`, `user_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `alerts` (
	`organization_id` integer NOT NULL,
	`scope` text NOT NULL,
	`activity` text NOT NULL,
	`subject` text NOT NULL,
	`position` integer,
	`due_at` text NOT NULL,
	PRIMARY KEY(`organization_id`, `scope`, `activity`, `subject`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `notifications` (
	`organization_id` integer NOT NULL,
	`scope` text NOT NULL,
	`activity` text NOT NULL,
	`recipients` text,
	`next_mail_at` text DEFAULT '' NOT NULL,
	PRIMARY KEY(`organization_id`, `scope`, `activity`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `personal_api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`label` text NOT NULL,
	`hash` text NOT NULL,
	`mask_value` text NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`scoped_organizations` text DEFAULT '[]' NOT NULL,
	`scoped_projects` text DEFAULT '[]' NOT NULL,
	`allowed_ips` text DEFAULT '[]' NOT NULL,
	`expires_at` text,
	`created_at` text NOT NULL,
	`last_used_at` text,
	`last_rolled_at` text,
	`version` text DEFAULT '2026-11-21' NOT NULL,
	`expiry_notified_for` text,
	`session` text,
	`client_id` text,
	`audience` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `personal_api_key_days` (
	`key_id` text NOT NULL,
	`day` text NOT NULL,
	`requests` integer NOT NULL,
	`refusals` integer NOT NULL,
	`last_address` text,
	PRIMARY KEY(`key_id`, `day`),
	FOREIGN KEY (`key_id`) REFERENCES `personal_api_keys`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `plugin_source_files` (
	`plugin_id` integer NOT NULL,
	`filename` text NOT NULL,
	`source` text NOT NULL,
	`compiled` text,
	`error` text,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`plugin_id`, `filename`),
	FOREIGN KEY (`plugin_id`) REFERENCES `plugins`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `project_members` (
	`id` text NOT NULL,
	`project_id` integer NOT NULL,
	`organization_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`level` integer NOT NULL,
	`joined_at` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`project_id`, `user_id`),
	FOREIGN KEY (`project_id`) REFERENCES `projects`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`,`user_id`) REFERENCES `members`(`organization_id`,`user_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `service_accounts` (
	`id` text NOT NULL,
	`organization_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`name` text NOT NULL,
	`created_by` integer NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`created_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sign_ins` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`key_id` text,
	`method` text DEFAULT 'mail' NOT NULL,
	`connection` text,
	`has_factor` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`user_id` integer NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`user_id`, `digest`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `two_factors` (
	`user_id` integer PRIMARY KEY NOT NULL,
	`secret` text,
	`confirmed_at` text,
	`last_step` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`attempts_since` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer NOT NULL,
	`format` text DEFAULT 'standard' NOT NULL,
	`url` text NOT NULL,
	`routing_key` text,
	`types` text DEFAULT '[]' NOT NULL,
	`selectors` text DEFAULT '[]' NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`disabled_reason` text,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_secret_expires_at` text,
	`position` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`failing_since` text,
	`last_error` text,
	`next_attempt_at` text,
	`lease` integer DEFAULT 0 NOT NULL,
	`lease_expires_at` text,
	`missed_events` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`deliveries` text DEFAULT '[]' NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `task_minutes` (
	`id` integer PRIMARY KEY NOT NULL,
	`minute` text NOT NULL,
	`dropped` text DEFAULT '[]' NOT NULL
);
--> statement-breakpoint
CREATE TABLE `batch_export_logs` (
	`batch_export_id` integer NOT NULL,
	`position` integer NOT NULL,
	`total` integer NOT NULL,
	`run_id` text,
	`id` text NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`batch_export_id`, `position`),
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `plugin_logs` (
	`plugin_config_id` integer NOT NULL,
	`position` integer NOT NULL,
	`total` integer NOT NULL,
	`id` text NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`plugin_config_id`, `position`),
	FOREIGN KEY (`plugin_config_id`) REFERENCES `plugin_configs`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `identities` (
	`connection` text NOT NULL,
	`subject` text NOT NULL,
	`user_id` integer NOT NULL,
	`email` text NOT NULL,
	`created_at` text NOT NULL,
	`last_used_at` text,
	PRIMARY KEY(`connection`, `subject`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`credential_id` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` integer NOT NULL,
	`name` text NOT NULL,
	`public_key` text NOT NULL,
	`sign_count` integer NOT NULL,
	`transports` text DEFAULT '[]' NOT NULL,
	`is_backed_up` integer NOT NULL,
	`created_at` text NOT NULL,
	`last_used_at` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scim_group_members` (
	`domain_id` text NOT NULL,
	`group_id` text NOT NULL,
	`user_id` integer NOT NULL,
	PRIMARY KEY(`domain_id`, `group_id`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scim_groups` (
	`domain_id` text NOT NULL,
	`id` text NOT NULL,
	`external_id` text,
	`display_name` text NOT NULL,
	`level` integer,
	`projects` text DEFAULT '[]' NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`domain_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scim_requests` (
	`domain_id` text NOT NULL,
	`id` text NOT NULL,
	`method` text NOT NULL,
	`path` text NOT NULL,
	`status` integer NOT NULL,
	`request` text,
	`response` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`domain_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scim_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer NOT NULL,
	`domain_id` text NOT NULL,
	`hash` text NOT NULL,
	`mask_value` text NOT NULL,
	`created_by` integer NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text,
	`last_used_at` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scim_users` (
	`domain_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`external_id` text,
	`active` integer DEFAULT true NOT NULL,
	`names` text,
	`manual` text,
	`granted` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`domain_id`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sign_in_states` (
	`hash` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`data` text NOT NULL,
	`expires_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `oauth_codes` (
	`hash` text PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`approval` text NOT NULL,
	`expires_at` text NOT NULL,
	`key_id` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `oauth_refresh_tokens` (
	`key_id` text PRIMARY KEY NOT NULL,
	`family` text NOT NULL,
	`hash` text NOT NULL,
	`expires_at` text NOT NULL,
	`ends_at` text,
	FOREIGN KEY (`key_id`) REFERENCES `personal_api_keys`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `oauth_device_requests` (
	`user_code_hash` text PRIMARY KEY NOT NULL,
	`device_code_hash` text NOT NULL,
	`request` text NOT NULL,
	`is_denied` integer DEFAULT false NOT NULL,
	`expires_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text DEFAULT '[]' NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `trusted_issuers` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` integer NOT NULL,
	`service_account_id` text NOT NULL,
	`name` text NOT NULL,
	`issuer` text NOT NULL,
	`audience` text NOT NULL,
	`subject` text NOT NULL,
	`claims` text DEFAULT '{}' NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`scoped_projects` text DEFAULT '[]' NOT NULL,
	`created_at` text NOT NULL,
	`last_used_at` text,
	FOREIGN KEY (`organization_id`,`service_account_id`) REFERENCES `service_accounts`(`organization_id`,`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_log_organization` ON `activity_log` (`organization_id`) WHERE not is_system;
--> statement-breakpoint
CREATE INDEX `activity_log_system` ON `activity_log` (`organization_id`) WHERE is_system;
--> statement-breakpoint
CREATE INDEX `activity_log_project` ON `activity_log` (`project_id`) WHERE project_id is not null and not is_system;
--> statement-breakpoint
CREATE INDEX `activity_log_item` ON `activity_log` (`organization_id`,`item_id`) WHERE not is_system;
--> statement-breakpoint
CREATE INDEX `audit_streams_organization` ON `audit_streams` (`organization_id`,`id`);
--> statement-breakpoint
CREATE INDEX `audit_streams_due` ON `audit_streams` (`next_attempt_at`) WHERE next_attempt_at is not null;
--> statement-breakpoint
CREATE INDEX `batch_export_backfills_range` ON `batch_export_backfills` (`batch_export_id`,`end_at`,`id`);
--> statement-breakpoint
CREATE INDEX `batch_export_backfills_running` ON `batch_export_backfills` (`project_id`,`batch_export_id`) WHERE status = 'Running';
--> statement-breakpoint
CREATE UNIQUE INDEX `batch_export_runs_window` ON `batch_export_runs` (`batch_export_id`,`data_interval_end`,case "by" when 'arrival' then '' else backfill_id end);
--> statement-breakpoint
CREATE INDEX `batch_export_runs_unfinished` ON `batch_export_runs` (`finished_at`,`batch_export_id`,`backfill_id`,`id`) WHERE finished_at is null;
--> statement-breakpoint
CREATE INDEX `batch_export_runs_unsuccessful` ON `batch_export_runs` (`batch_export_id`,`status`,`id`,`data_interval_end`) WHERE status in ('Failed', 'FailedRetryable', 'Cancelled');
--> statement-breakpoint
CREATE INDEX `batch_export_runs_unclean` ON `batch_export_runs` (`last_updated_at`) WHERE finished_at is not null and state is not null;
--> statement-breakpoint
CREATE INDEX `batch_exports_organization` ON `batch_exports` (`organization_id`,`uuid`,`project_id`) WHERE not deleted;
--> statement-breakpoint
CREATE INDEX `batch_exports_due` ON `batch_exports` (`deleted`,`due_at`) WHERE not paused or deleted;
--> statement-breakpoint
CREATE UNIQUE INDEX `domains_domain_unique` ON `domains` (`domain`);
--> statement-breakpoint
CREATE INDEX `domains_recheck` ON `domains` (`recheck_at`) WHERE verified_at is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `events_uuid` ON `events` (`team_id`,`uuid`);
--> statement-breakpoint
CREATE INDEX `events_far` ON `events` (`team_id`,`timestamp`,`uuid`) WHERE abs(timestamp - _inserted_at) > 3600000;
--> statement-breakpoint
CREATE UNIQUE INDEX `persons_distinct_id` ON `persons` (`team_id`,`distinct_id`);
--> statement-breakpoint
CREATE INDEX `invite_mails_user` ON `invite_mails` (`user_id`,`sent_at`);
--> statement-breakpoint
CREATE INDEX `invite_mails_stranger` ON `invite_mails` (`stranger`,`sent_at`) WHERE stranger is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `invites_token_hash_unique` ON `invites` (`token_hash`);
--> statement-breakpoint
CREATE UNIQUE INDEX `invites_organization_email` ON `invites` (`organization_id`,`target_email`);
--> statement-breakpoint
CREATE INDEX `plugin_jobs_organization` ON `plugin_jobs` (`organization_id`,`turn`);
--> statement-breakpoint
CREATE INDEX `members_organization` ON `members` (`organization_id`,`is_active`,`joined_at`,`id`);
--> statement-breakpoint
CREATE INDEX `members_admins` ON `members` (`organization_id`,`level`) WHERE level >= 8;
--> statement-breakpoint
CREATE INDEX `members_user` ON `members` (`user_id`,`organization_id`);
--> statement-breakpoint
CREATE INDEX `alerts_due` ON `alerts` (`due_at`);
--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_uuid_unique` ON `organizations` (`uuid`);
--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_slug_unique` ON `organizations` (`slug`);
--> statement-breakpoint
CREATE UNIQUE INDEX `personal_api_keys_hash_unique` ON `personal_api_keys` (`hash`);
--> statement-breakpoint
CREATE INDEX `personal_api_keys_user` ON `personal_api_keys` (`user_id`,`id`);
--> statement-breakpoint
CREATE INDEX `personal_api_keys_expiring` ON `personal_api_keys` (`expires_at`) WHERE session is null and client_id is null and expires_at is not null and expiry_notified_for is not expires_at;
--> statement-breakpoint
CREATE INDEX `plugin_configs_project` ON `plugin_configs` (`project_id`,`plugin_id`);
--> statement-breakpoint
CREATE INDEX `plugin_configs_plugin` ON `plugin_configs` (`plugin_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `plugins_organization_url` ON `plugins` (`organization_id`,`url`);
--> statement-breakpoint
CREATE INDEX `plugins_global` ON `plugins` (`id`) WHERE is_global;
--> statement-breakpoint
CREATE INDEX `plugins_compile` ON `plugins` (`compile_at`) WHERE compile_at is not null;
--> statement-breakpoint
CREATE INDEX `plugins_tasks` ON `plugins` (`id`) WHERE capabilities ->> '$.scheduled_tasks' is not null;
--> statement-breakpoint
CREATE INDEX `project_members_organization_user` ON `project_members` (`organization_id`,`user_id`);
--> statement-breakpoint
CREATE INDEX `projects_organization` ON `projects` (`organization_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `service_accounts_user_id_unique` ON `service_accounts` (`user_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `sign_ins_token_hash_unique` ON `sign_ins` (`token_hash`);
--> statement-breakpoint
CREATE INDEX `sign_ins_user` ON `sign_ins` (`user_id`,`created_at`);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_uuid_unique` ON `users` (`uuid`);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);
--> statement-breakpoint
CREATE INDEX `webhooks_organization` ON `webhooks` (`organization_id`,`id`);
--> statement-breakpoint
CREATE INDEX `identities_user` ON `identities` (`user_id`);
--> statement-breakpoint
CREATE INDEX `passkeys_user` ON `passkeys` (`user_id`);
--> statement-breakpoint
CREATE INDEX `scim_group_members_user` ON `scim_group_members` (`domain_id`,`user_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `scim_tokens_hash_unique` ON `scim_tokens` (`hash`);
--> statement-breakpoint
CREATE INDEX `scim_tokens_domain` ON `scim_tokens` (`organization_id`,`domain_id`);
--> statement-breakpoint
CREATE INDEX `scim_users_external` ON `scim_users` (`domain_id`,`external_id`);
--> statement-breakpoint
CREATE INDEX `domains_id` ON `domains` (`id`);
--> statement-breakpoint
CREATE INDEX `oauth_clients_organization` ON `oauth_clients` (`organization_id`,`id`);
--> statement-breakpoint
CREATE INDEX `personal_api_keys_client` ON `personal_api_keys` (`client_id`) WHERE client_id is not null;
--> statement-breakpoint
CREATE INDEX `trusted_issuers_account` ON `trusted_issuers` (`organization_id`,`service_account_id`,`id`);
--> statement-breakpoint
CREATE TRIGGER batch_export_runs_status AFTER UPDATE OF finished_at ON batch_export_runs
  WHEN new.backfill_id IS NOT NULL AND (new.finished_at IS NULL) <> (old.finished_at IS NULL) BEGIN
  UPDATE batch_export_backfills SET
    finished_runs = finished_runs + iif(new.finished_at IS NULL, -1, 1),
    failed_runs = failed_runs + (new.status IN ('Failed', 'FailedRetryable')) - (old.status IN ('Failed', 'FailedRetryable'))
    WHERE batch_export_id = new.batch_export_id AND id = new.backfill_id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_delete AFTER DELETE ON projects BEGIN
  UPDATE batch_exports SET deleted = 1, last_updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE organization_id = old.organization_id AND project_id = old.id AND NOT deleted;
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_delete AFTER UPDATE OF deleted ON batch_exports WHEN new.deleted AND NOT old.deleted BEGIN
  UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE project_id = new.project_id AND batch_export_id = new.id AND status = 'Running';
  UPDATE batch_export_runs SET status = 'Cancelled', finished_at = cast(round(unixepoch('subsec') * 1000) as integer)
    WHERE batch_export_id = new.id AND finished_at IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER service_accounts_delete AFTER DELETE ON service_accounts BEGIN
  DELETE FROM personal_api_keys WHERE user_id = old.user_id;
  DELETE FROM members WHERE user_id = old.user_id;
  UPDATE users SET is_active = false WHERE id = old.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER audit_streams_organization_delete AFTER DELETE ON organizations BEGIN
  DELETE FROM audit_streams WHERE organization_id = old.id AND NOT enabled;
  UPDATE audit_streams SET organization_deleted_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    next_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE organization_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_alert AFTER INSERT ON activity_log WHEN new.is_system BEGIN
  INSERT INTO alerts (organization_id, scope, activity, subject, position, due_at)
    SELECT o.id, new.scope, new.activity,
      coalesce(new."trigger" ->> 'batch_export_id', new."trigger" ->> 'plugin_config_id', new.item_id),
      new.position, max(strftime('%Y-%m-%dT%H:%M:%fZ', new.created_at / 1000.0, 'unixepoch'), coalesce(n.next_mail_at, ''))
    FROM organizations AS o LEFT JOIN notifications AS n
      ON n.organization_id = o.id AND n.scope = new.scope AND n.activity = new.activity
    WHERE o.id = new.organization_id AND coalesce(n.recipients <> '[]', new.scope || '.' || new.activity IN
      ('BatchExportRun.failed', 'BatchExportRun.skipped', 'BatchExport.paused', 'Key.expiring', 'Domain.unverified',
        'Webhook.disabled', 'AuditStream.failed'))
    ON CONFLICT DO UPDATE SET position = excluded.position, due_at = max(due_at, excluded.due_at) WHERE position IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_webhooks AFTER INSERT ON activity_log BEGIN
  UPDATE webhooks SET next_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', new.created_at / 1000.0, 'unixepoch'),
    position = new.position - 1
    WHERE organization_id = new.organization_id AND enabled AND next_attempt_at IS NULL
      AND (selectors = '[]' OR EXISTS (
        SELECT 1 FROM json_each(selectors) WHERE value IN (new.scope, new.scope || '.' || new.activity)));
END;
--> statement-breakpoint
CREATE TRIGGER invites_counted AFTER INSERT ON invites BEGIN
  UPDATE organizations SET invites = invites + 1 WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER invites_uncounted AFTER DELETE ON invites BEGIN
  UPDATE organizations SET invites = invites - 1 WHERE id = old.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER users_activity AFTER UPDATE OF is_active ON users
  WHEN new.is_active <> old.is_active AND NOT new.is_service_account BEGIN
  UPDATE organizations SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (SELECT organization_id FROM members WHERE user_id = new.id);
  UPDATE members SET is_active = new.is_active WHERE user_id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_delete BEFORE DELETE ON users BEGIN
  DELETE FROM project_members WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM members WHERE user_id = old.id);
  DELETE FROM members WHERE user_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
  UPDATE members SET is_active = false
    WHERE organization_id = new.organization_id AND user_id = new.user_id AND is_active AND NOT (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE domains SET break_glass = (SELECT json_group_array(value) FROM json_each(break_glass) WHERE value <> old.user_id)
    WHERE organization_id = old.organization_id
      AND EXISTS (SELECT 1 FROM json_each(break_glass) WHERE value = old.user_id);
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER identities_insert AFTER INSERT ON identities BEGIN
  UPDATE users SET has_social_auth = true WHERE id = new.user_id AND NOT has_social_auth;
END;
--> statement-breakpoint
CREATE TRIGGER identities_delete AFTER DELETE ON identities BEGIN
  UPDATE users SET has_social_auth = false
    WHERE id = old.user_id AND NOT EXISTS (SELECT 1 FROM identities WHERE user_id = old.user_id);
  DELETE FROM personal_api_keys WHERE user_id = old.user_id AND session ->> 'connection' = old.connection;
END;
--> statement-breakpoint
CREATE TRIGGER domains_delete AFTER DELETE ON domains BEGIN
  DELETE FROM identities WHERE connection IN ('saml:' || old.id, 'oidc:' || old.id);
  DELETE FROM scim_tokens WHERE organization_id = old.organization_id AND domain_id = old.id;
  DELETE FROM scim_users WHERE domain_id = old.id;
  DELETE FROM scim_groups WHERE domain_id = old.id;
  DELETE FROM scim_group_members WHERE domain_id = old.id;
  DELETE FROM scim_requests WHERE domain_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER oauth_clients_delete AFTER DELETE ON oauth_clients BEGIN
  DELETE FROM personal_api_keys WHERE client_id = old.id;
  DELETE FROM oauth_codes WHERE approval ->> 'client_id' = old.id;
END;
