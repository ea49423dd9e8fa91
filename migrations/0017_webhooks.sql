CREATE TABLE `webhook_deliveries` (
	`webhook_id` text NOT NULL,
	`number` integer NOT NULL,
	`id` text NOT NULL,
	`event_id` text NOT NULL,
	`type` text NOT NULL,
	`reason` text DEFAULT 'event' NOT NULL,
	`attempt` integer DEFAULT 1 NOT NULL,
	`status` text NOT NULL,
	`response_status` integer,
	`duration_ms` integer NOT NULL,
	`error` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`webhook_id`, `number`),
	FOREIGN KEY (`webhook_id`) REFERENCES `webhooks`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`url` text NOT NULL,
	`types` text DEFAULT '[]' NOT NULL,
	`selectors` text DEFAULT '[]' NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`disabled_reason` text,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_secret_expires_at` text,
	`position` integer NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`failing_since` text,
	`last_error` text,
	`next_attempt_at` text,
	`lease` text,
	`leased_until` text,
	`missed_events` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `webhooks_organization` ON `webhooks` (`organization_id`,`id`);--> statement-breakpoint
CREATE INDEX `webhooks_due` ON `webhooks` (`next_attempt_at`) WHERE enabled and next_attempt_at is not null;
--> statement-breakpoint
-- An event makes the webhooks that want it due, unless they are already.
CREATE TRIGGER activity_log_webhooks AFTER INSERT ON activity_log BEGIN
  UPDATE webhooks SET next_attempt_at = new.created_at
    WHERE organization_id = new.organization_id AND enabled AND next_attempt_at IS NULL
      AND (selectors = '[]' OR EXISTS (
        SELECT 1 FROM json_each(selectors) WHERE value IN (new.scope, new.scope || '.' || new.activity)));
END;
--> statement-breakpoint
-- webhooks.missed_events: the events that were deleted before they were delivered.
CREATE TRIGGER activity_log_missed AFTER DELETE ON activity_log BEGIN
  UPDATE webhooks SET missed_events = missed_events + 1
    WHERE organization_id = old.organization_id AND position < old.position
      AND (selectors = '[]' OR EXISTS (
        SELECT 1 FROM json_each(selectors) WHERE value IN (old.scope, old.scope || '.' || old.activity)));
END;
