CREATE TABLE `audit_streams` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
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
	`tries` integer DEFAULT 0 NOT NULL,
	`failing_since` text,
	`latest_error` text,
	`told_at` text,
	`next_attempt_at` text,
	`claim` integer DEFAULT 0 NOT NULL,
	`claimed_until` text,
	`organization_deleted_at` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_streams_organization` ON `audit_streams` (`organization_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_streams_due` ON `audit_streams` (`next_attempt_at`) WHERE next_attempt_at is not null;
--> statement-breakpoint
-- A stream delivers what led to the deletion of its organization, and is then deleted, too (src/audit_streams/deliver.ts).
CREATE TRIGGER audit_streams_organization_delete AFTER DELETE ON organizations BEGIN
  DELETE FROM audit_streams WHERE organization_id = old.id AND NOT enabled;
  UPDATE audit_streams SET organization_deleted_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    next_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE organization_id = old.id;
END;
