CREATE TABLE `deleted_rows` (
	`deletion_id` integer NOT NULL,
	`table` text NOT NULL,
	`number` integer NOT NULL,
	`plugin_id` integer,
	`v0` blob,
	`v1` blob,
	`v2` blob,
	`v3` blob,
	`v4` blob,
	`v5` blob,
	`v6` blob,
	`v7` blob,
	`v8` blob,
	`v9` blob,
	`v10` blob,
	`v11` blob,
	`v12` blob,
	`v13` blob,
	`v14` blob,
	`v15` blob,
	`v16` blob,
	`v17` blob,
	`v18` blob,
	`v19` blob,
	`v20` blob,
	`v21` blob,
	`v22` blob,
	`v23` blob,
	`v24` blob,
	`v25` blob,
	`v26` blob,
	`v27` blob,
	`v28` blob,
	`v29` blob,
	`v30` blob,
	`v31` blob,
	`v32` blob,
	`v33` blob,
	`v34` blob,
	`v35` blob,
	`v36` blob,
	`v37` blob,
	`v38` blob,
	`v39` blob,
	PRIMARY KEY(`deletion_id`, `table`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deleted_rows_plugin` ON `deleted_rows` (`plugin_id`) WHERE plugin_id is not null;--> statement-breakpoint
CREATE TABLE `deletions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` integer NOT NULL,
	`project_id` integer,
	`type` text NOT NULL,
	`item_id` text NOT NULL,
	`name` text NOT NULL,
	`deleted_by` integer,
	`deleted_at` integer NOT NULL,
	`controls` text,
	`projects` text,
	`files_until` text,
	`needs` text,
	`columns` text NOT NULL,
	`shown` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deletions_item` ON `deletions` (`type`,`item_id`);--> statement-breakpoint
CREATE INDEX `deletions_organization` ON `deletions` (`organization_id`,`type`,`id`);--> statement-breakpoint
CREATE INDEX `deletions_projects` ON `deletions` (`id`) WHERE projects is not null;--> statement-breakpoint
CREATE TABLE `restore_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`deletion_id` integer NOT NULL,
	`user_id` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `restore_links_deletion` ON `restore_links` (`deletion_id`);
--> statement-breakpoint
DROP TRIGGER audit_streams_organization_delete;
--> statement-breakpoint
CREATE TRIGGER audit_streams_organization_delete AFTER DELETE ON organizations BEGIN
  UPDATE audit_streams SET organization_deleted_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    next_attempt_at = iif(enabled, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NULL) WHERE organization_id = old.id;
END;
