CREATE TABLE `batch_export_backfills` (
	`id` text PRIMARY KEY NOT NULL,
	`batch_export_id` text NOT NULL,
	`project_id` integer NOT NULL,
	`start_at` text NOT NULL,
	`end_at` text NOT NULL,
	`interval` text NOT NULL,
	`status` text DEFAULT 'Running' NOT NULL,
	`total_runs` integer NOT NULL,
	`finished_runs` integer DEFAULT 0 NOT NULL,
	`failed_runs` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`finished_at` text,
	`last_updated_at` text NOT NULL,
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `batch_export_backfills_export` ON `batch_export_backfills` (`batch_export_id`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_backfills_running` ON `batch_export_backfills` (`project_id`,`last_updated_at`) WHERE status = 'Running';--> statement-breakpoint
CREATE TABLE `batch_export_log_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`batch_export_id` text NOT NULL,
	`run_id` text,
	`timestamp` text NOT NULL,
	`level` text NOT NULL,
	`message` text NOT NULL,
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_export` ON `batch_export_log_entries` (`batch_export_id`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_run` ON `batch_export_log_entries` (`run_id`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_timestamp` ON `batch_export_log_entries` (`timestamp`);--> statement-breakpoint
CREATE TABLE `batch_export_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`batch_export_id` text NOT NULL,
	`backfill_id` text,
	`status` text DEFAULT 'Starting' NOT NULL,
	`records_completed` integer DEFAULT 0 NOT NULL,
	`records_total_count` integer,
	`latest_error` text,
	`data_interval_start` text NOT NULL,
	`data_interval_end` text NOT NULL,
	`cursor` text,
	`state` text,
	`launched` integer DEFAULT false NOT NULL,
	`attempt` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`finished_at` text,
	`last_updated_at` text NOT NULL,
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`backfill_id`) REFERENCES `batch_export_backfills`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `batch_export_runs_scheduled` ON `batch_export_runs` (`batch_export_id`,`data_interval_end`) WHERE backfill_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX `batch_export_runs_backfill` ON `batch_export_runs` (`backfill_id`,`data_interval_end`);--> statement-breakpoint
CREATE INDEX `batch_export_runs_export` ON `batch_export_runs` (`batch_export_id`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_runs_status` ON `batch_export_runs` (`batch_export_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_runs_open` ON `batch_export_runs` (`batch_export_id`,`id`) WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX `batch_export_runs_driven` ON `batch_export_runs` (`last_updated_at`) WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX `batch_export_runs_unclean` ON `batch_export_runs` (`last_updated_at`) WHERE finished_at is not null and state is not null;--> statement-breakpoint
CREATE TABLE `batch_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`project_id` integer NOT NULL,
	`name` text NOT NULL,
	`model` text DEFAULT 'events' NOT NULL,
	`destination` text NOT NULL,
	`interval` text NOT NULL,
	`paused` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	`last_updated_at` text NOT NULL,
	`last_paused_at` text,
	`start_at` text,
	`end_at` text,
	`xql_query` text,
	`schema` text,
	`deleted` integer DEFAULT false NOT NULL,
	`next_end_at` text NOT NULL,
	`due_at` text NOT NULL,
	`mailed_at` text,
	`runs` integer DEFAULT 0 NOT NULL,
	`log_entries` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `batch_exports_organization` ON `batch_exports` (`organization_id`,`id`);--> statement-breakpoint
CREATE INDEX `batch_exports_project` ON `batch_exports` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `batch_exports_due` ON `batch_exports` (`due_at`) WHERE not paused and not deleted;--> statement-breakpoint
CREATE INDEX `batch_exports_deleted` ON `batch_exports` (`id`) WHERE deleted;--> statement-breakpoint
CREATE TABLE `events` (
	`team_id` integer NOT NULL,
	`uuid` text NOT NULL,
	`event` text NOT NULL,
	`distinct_id` text NOT NULL,
	`person_id` text,
	`properties` text NOT NULL,
	`person_properties` text,
	`elements_chain` text DEFAULT '' NOT NULL,
	`timestamp` text NOT NULL,
	`created_at` text NOT NULL,
	`_inserted_at` text NOT NULL,
	PRIMARY KEY(`team_id`, `uuid`)
);
--> statement-breakpoint
CREATE INDEX `events_inserted` ON `events` (`team_id`,`_inserted_at`,`uuid`);--> statement-breakpoint
CREATE INDEX `events_happened` ON `events` (`team_id`,`timestamp`,`uuid`);--> statement-breakpoint
CREATE TABLE `persons` (
	`team_id` integer NOT NULL,
	`distinct_id` text NOT NULL,
	`person_id` text NOT NULL,
	`properties` text NOT NULL,
	`person_version` integer DEFAULT 1 NOT NULL,
	`created_at` text NOT NULL,
	`_inserted_at` text NOT NULL,
	PRIMARY KEY(`team_id`, `distinct_id`)
);
--> statement-breakpoint
CREATE INDEX `persons_inserted` ON `persons` (`team_id`,`_inserted_at`,`distinct_id`);--> statement-breakpoint
CREATE INDEX `persons_made` ON `persons` (`team_id`,`created_at`,`distinct_id`);