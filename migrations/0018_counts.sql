CREATE TABLE `plugin_counts` (
	`organization_id` text NOT NULL,
	`is_global` integer NOT NULL,
	`families` integer NOT NULL,
	`is_used` integer NOT NULL,
	`plugins` integer NOT NULL,
	`activity_entries` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `is_global`, `families`, `is_used`)
);
--> statement-breakpoint
CREATE INDEX `plugin_counts_global` ON `plugin_counts` (`organization_id`) WHERE is_global;--> statement-breakpoint
CREATE TABLE `plugin_uses` (
	`organization_id` text NOT NULL,
	`plugin_id` integer NOT NULL,
	`is_own` integer NOT NULL,
	`configs` integer NOT NULL,
	`enabled_configs` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `plugin_id`)
);
--> statement-breakpoint
CREATE INDEX `plugin_uses_foreign` ON `plugin_uses` (`organization_id`,`plugin_id`) WHERE not is_own;--> statement-breakpoint
DROP INDEX `activity_log_item`;--> statement-breakpoint
CREATE INDEX `activity_log_scope` ON `activity_log` (`organization_id`,`scope`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_activity` ON `activity_log` (`organization_id`,`activity`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_user` ON `activity_log` (`organization_id`,`user_id`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
CREATE INDEX `activity_log_item` ON `activity_log` (`organization_id`,`item_id`,`created_at`,`id`) WHERE not is_system;--> statement-breakpoint
DROP INDEX `batch_export_log_entries_export`;--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_export` ON `batch_export_log_entries` (`batch_export_id`,`level`,`timestamp`,`id`);--> statement-breakpoint
DROP INDEX `batch_exports_organization`;--> statement-breakpoint
DROP INDEX `batch_exports_project`;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `starting_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `running_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `completed_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `failed_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `failed_retryable_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `cancelled_runs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `debug_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `info_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `warning_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `error_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `backfills` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `batch_exports` ADD `days` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `batch_exports_organization` ON `batch_exports` (`organization_id`,`deleted`,`id`);--> statement-breakpoint
CREATE INDEX `batch_exports_project` ON `batch_exports` (`project_id`,`deleted`,`id`);--> statement-breakpoint
DROP INDEX `members_organization`;--> statement-breakpoint
ALTER TABLE `members` ADD `is_active` integer DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX `members_updated` ON `members` (`organization_id`,`is_active`,`updated_at`);--> statement-breakpoint
CREATE INDEX `members_organization` ON `members` (`organization_id`,`is_active`,`joined_at`,`id`);--> statement-breakpoint
DROP INDEX `personal_api_keys_user`;--> statement-breakpoint
CREATE INDEX `personal_api_keys_user` ON `personal_api_keys` (`user_id`,`id`);--> statement-breakpoint
DROP INDEX `plugin_configs_project`;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `debug_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `log_type_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `info_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `warn_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `error_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `plugin_configs_exports` ON `plugin_configs` (`organization_id`,`id`) WHERE enabled and not deleted;--> statement-breakpoint
CREATE INDEX `plugin_configs_project` ON `plugin_configs` (`project_id`,`deleted`,`order`,`id`);--> statement-breakpoint
DROP INDEX `plugin_log_entries_config`;--> statement-breakpoint
CREATE INDEX `plugin_log_entries_config` ON `plugin_log_entries` (`plugin_config_id`,`type`,`timestamp`,`id`);--> statement-breakpoint
ALTER TABLE `batch_export_runs` ADD `log_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `invites` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `domains` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `projects` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `open_projects` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `batch_exports` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `open_batch_exports` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugins` ADD `families` integer GENERATED ALWAYS AS ((iif(instr(coalesce(capabilities ->> '$.methods', ''), '"onEvent"') or instr(coalesce(capabilities ->> '$.methods', ''), '"exportEvents"') or instr(coalesce(capabilities ->> '$.methods', ''), '"composeWebhook"'), 1, 0)
  + iif(capabilities ->> '$.methods' is null and capabilities ->> '$.scheduled_tasks' is null, 2, 0)
  + iif(json_array_length(coalesce(capabilities -> '$.scheduled_tasks', '[]')) > 0
    or (capabilities ->> '$.methods' is not null
      and not (instr(coalesce(capabilities ->> '$.methods', ''), '"onEvent"') or instr(coalesce(capabilities ->> '$.methods', ''), '"exportEvents"') or instr(coalesce(capabilities ->> '$.methods', ''), '"composeWebhook"') or instr(coalesce(capabilities ->> '$.methods', ''), '"processEvent"'))), 4, 0))) VIRTUAL;--> statement-breakpoint
ALTER TABLE `plugins` ADD `is_used` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `plugins` ADD `activity_entries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `plugins_unused` ON `plugins` (`organization_id`,`id`) WHERE not is_used;--> statement-breakpoint
CREATE INDEX `plugins_destinations` ON `plugins` (`organization_id`,`id`) WHERE families & 1;--> statement-breakpoint
CREATE INDEX `plugins_frontend_apps` ON `plugins` (`organization_id`,`id`) WHERE families & 2;--> statement-breakpoint
CREATE INDEX `plugins_import_apps` ON `plugins` (`organization_id`,`id`) WHERE families & 4;--> statement-breakpoint
ALTER TABLE `projects` ADD `active_members` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `projects` ADD `batch_exports` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `projects` ADD `plugin_configs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `projects_access` ON `projects` (`organization_id`,`access_control`,`id`);--> statement-breakpoint
ALTER TABLE `users` ADD `organizations` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `personal_api_keys` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `project_members_project` ON `project_members` (`project_id`,`id`);
--> statement-breakpoint
-- Written by hand from here: what Drizzle doesn't know.
-- The index of member searches: a document for each active member. `name` has the names and the address; `text` has them
-- with the letters replaced that FTS5 folds unlike src/db/contains.ts; `letters` has those with a U+0001 around each, so that one
-- or two letters are a trigram, too. `organization` and `person` are one trigram
-- each, made of the ids: a search reads the documents of its organization only. src/members/search.ts makes the queries.
CREATE VIRTUAL TABLE member_search USING fts5(organization, person, text, letters, name UNINDEXED, organization_id UNINDEXED, user_id UNINDEXED, tokenize = 'trigram');
--> statement-breakpoint
DROP TRIGGER members_insert;
--> statement-breakpoint
DROP TRIGGER members_delete;
--> statement-breakpoint
DROP TRIGGER users_activity;
--> statement-breakpoint
DROP TRIGGER plugin_log_entries_insert;
--> statement-breakpoint
DROP TRIGGER plugin_log_entries_delete;
--> statement-breakpoint
DROP TRIGGER batch_export_runs_insert;
--> statement-breakpoint
DROP TRIGGER batch_export_runs_delete;
--> statement-breakpoint
DROP TRIGGER batch_export_log_entries_insert;
--> statement-breakpoint
DROP TRIGGER batch_export_log_entries_delete;
--> statement-breakpoint
-- The counters of organizations, users and projects: what count(*) would say.
CREATE TRIGGER invites_counted AFTER INSERT ON invites BEGIN
  UPDATE organizations SET invites = invites + 1 WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER invites_uncounted AFTER DELETE ON invites BEGIN
  UPDATE organizations SET invites = invites - 1 WHERE id = old.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER domains_counted AFTER INSERT ON domains BEGIN
  UPDATE organizations SET domains = domains + 1 WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER domains_uncounted AFTER DELETE ON domains BEGIN
  UPDATE organizations SET domains = domains - 1 WHERE id = old.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER personal_api_keys_counted AFTER INSERT ON personal_api_keys BEGIN
  UPDATE users SET personal_api_keys = personal_api_keys + 1 WHERE id = new.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER personal_api_keys_uncounted AFTER DELETE ON personal_api_keys BEGIN
  UPDATE users SET personal_api_keys = personal_api_keys - 1 WHERE id = old.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER members_insert AFTER INSERT ON members BEGIN
  UPDATE users SET organizations = organizations + 1 WHERE id = new.user_id;
  UPDATE organizations SET active_members = active_members + 1
    WHERE id = new.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
  UPDATE members SET is_active = false WHERE id = new.id AND NOT (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
  INSERT INTO member_search (organization, person, text, letters, name, organization_id, user_id)
    SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))),
      char(983040 + (user_id >> 32 & 65535), 983040 + (user_id >> 16 & 65535), 983040 + (user_id & 65535)),
      text,
      (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')),
      name, organization_id, user_id
    FROM (
      SELECT organization_id, user_id, name,
        replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text
      FROM (
        SELECT organization_id, user_id, users.first_name || ' ' || users.last_name || ' ' || users.email AS name
        FROM members JOIN users ON users.id = members.user_id WHERE members.id = new.id AND users.is_active AND NOT users.is_service_account
      )
    );
END;
--> statement-breakpoint
CREATE TRIGGER members_delete AFTER DELETE ON members BEGIN
  UPDATE users SET organizations = organizations - 1 WHERE id = old.user_id;
  UPDATE organizations SET active_members = active_members - 1
    WHERE id = old.organization_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
  DELETE FROM member_search WHERE rowid IN (
    SELECT rowid FROM member_search WHERE member_search MATCH 'organization:"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '"' || ' AND ' || 'person:"' || char(983040 + (old.user_id >> 32 & 65535), 983040 + (old.user_id >> 16 & 65535), 983040 + (old.user_id & 65535)) || '"' AND organization_id = old.organization_id AND user_id = old.user_id
  );
END;
--> statement-breakpoint
CREATE TRIGGER users_activity AFTER UPDATE OF is_active ON users
  WHEN new.is_active <> old.is_active AND NOT new.is_service_account BEGIN
  UPDATE organizations SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (SELECT organization_id FROM members WHERE user_id = new.id);
  UPDATE projects SET active_members = active_members + new.is_active - old.is_active
    WHERE id IN (
      SELECT project_id FROM members JOIN project_members USING (organization_id, user_id) WHERE members.user_id = new.id
    );
  UPDATE members SET is_active = new.is_active WHERE user_id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_search AFTER UPDATE OF first_name, last_name, email, is_active ON users
  WHEN (new.first_name, new.last_name, new.email, new.is_active) IS NOT (old.first_name, old.last_name, old.email, old.is_active) BEGIN
  DELETE FROM member_search WHERE rowid IN (
    SELECT rowid FROM member_search WHERE member_search MATCH 'person:"' || char(983040 + (new.id >> 32 & 65535), 983040 + (new.id >> 16 & 65535), 983040 + (new.id & 65535)) || '"' AND user_id = new.id
  );
  INSERT INTO member_search (organization, person, text, letters, name, organization_id, user_id)
    SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))),
      char(983040 + (user_id >> 32 & 65535), 983040 + (user_id >> 16 & 65535), 983040 + (user_id & 65535)),
      text,
      (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')),
      name, organization_id, user_id
    FROM (
      SELECT organization_id, user_id, name,
        replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text
      FROM (
        SELECT organization_id, user_id, users.first_name || ' ' || users.last_name || ' ' || users.email AS name
        FROM members JOIN users ON users.id = members.user_id WHERE members.user_id = new.id AND new.is_active AND NOT new.is_service_account
      )
    );
END;
--> statement-breakpoint
-- Before the user's row is gone: the triggers of memberships ask it whether the user is active.
CREATE TRIGGER users_delete BEFORE DELETE ON users BEGIN
  DELETE FROM project_members WHERE (organization_id, user_id) IN (SELECT organization_id, user_id FROM members WHERE user_id = old.id);
  DELETE FROM members WHERE user_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER project_members_insert AFTER INSERT ON project_members BEGIN
  UPDATE projects SET active_members = active_members + 1
    WHERE id = new.project_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = new.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER project_members_delete AFTER DELETE ON project_members BEGIN
  UPDATE projects SET active_members = active_members - 1
    WHERE id = old.project_id AND (SELECT is_active AND NOT is_service_account FROM users WHERE id = old.user_id);
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_counted AFTER INSERT ON batch_exports WHEN NOT new.deleted BEGIN
  UPDATE projects SET batch_exports = batch_exports + 1 WHERE id = new.project_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_uncounted AFTER DELETE ON batch_exports WHEN NOT old.deleted BEGIN
  UPDATE projects SET batch_exports = batch_exports - 1 WHERE id = old.project_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_exports_recounted AFTER UPDATE OF deleted ON batch_exports WHEN new.deleted <> old.deleted BEGIN
  UPDATE projects SET batch_exports = batch_exports + old.deleted - new.deleted WHERE id = new.project_id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_counted AFTER INSERT ON projects BEGIN
  UPDATE organizations SET projects = projects + 1, open_projects = open_projects + (NOT new.access_control) WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_recounted AFTER UPDATE OF access_control, batch_exports ON projects
  WHEN new.access_control <> old.access_control OR new.batch_exports <> old.batch_exports BEGIN
  UPDATE organizations SET
    open_projects = open_projects + old.access_control - new.access_control,
    batch_exports = batch_exports + new.batch_exports - old.batch_exports,
    open_batch_exports = open_batch_exports + iif(new.access_control, 0, new.batch_exports) - iif(old.access_control, 0, old.batch_exports)
    WHERE id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_uncounted AFTER DELETE ON projects BEGIN
  UPDATE organizations SET
    projects = projects - 1,
    open_projects = open_projects - (NOT old.access_control),
    batch_exports = batch_exports - old.batch_exports,
    open_batch_exports = open_batch_exports - iif(old.access_control, 0, old.batch_exports)
    WHERE id = old.organization_id;
END;
--> statement-breakpoint
-- The counters of exports, runs and plugin configs.
CREATE TRIGGER batch_export_runs_insert AFTER INSERT ON batch_export_runs BEGIN
  UPDATE batch_exports SET runs = runs + 1,
    starting_runs = starting_runs + (new.status = 'Starting'),
    running_runs = running_runs + (new.status = 'Running'),
    completed_runs = completed_runs + (new.status = 'Completed'),
    failed_runs = failed_runs + (new.status = 'Failed'),
    failed_retryable_runs = failed_retryable_runs + (new.status = 'FailedRetryable'),
    cancelled_runs = cancelled_runs + (new.status = 'Cancelled')
    WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_runs_delete AFTER DELETE ON batch_export_runs BEGIN
  UPDATE batch_exports SET runs = runs - 1,
    starting_runs = starting_runs - (old.status = 'Starting'),
    running_runs = running_runs - (old.status = 'Running'),
    completed_runs = completed_runs - (old.status = 'Completed'),
    failed_runs = failed_runs - (old.status = 'Failed'),
    failed_retryable_runs = failed_retryable_runs - (old.status = 'FailedRetryable'),
    cancelled_runs = cancelled_runs - (old.status = 'Cancelled')
    WHERE id = old.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_runs_recounted AFTER UPDATE OF status ON batch_export_runs WHEN new.status <> old.status BEGIN
  UPDATE batch_exports SET
    starting_runs = starting_runs + (new.status = 'Starting') - (old.status = 'Starting'),
    running_runs = running_runs + (new.status = 'Running') - (old.status = 'Running'),
    completed_runs = completed_runs + (new.status = 'Completed') - (old.status = 'Completed'),
    failed_runs = failed_runs + (new.status = 'Failed') - (old.status = 'Failed'),
    failed_retryable_runs = failed_retryable_runs + (new.status = 'FailedRetryable') - (old.status = 'FailedRetryable'),
    cancelled_runs = cancelled_runs + (new.status = 'Cancelled') - (old.status = 'Cancelled')
    WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_insert AFTER INSERT ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.level = 'DEBUG'),
    info_entries = info_entries + (new.level = 'INFO'),
    warning_entries = warning_entries + (new.level = 'WARNING'),
    error_entries = error_entries + (new.level = 'ERROR')
    WHERE id = new.batch_export_id;
  UPDATE batch_export_runs SET log_entries = log_entries + 1 WHERE id = new.run_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_delete AFTER DELETE ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries - 1,
    debug_entries = debug_entries - (old.level = 'DEBUG'),
    info_entries = info_entries - (old.level = 'INFO'),
    warning_entries = warning_entries - (old.level = 'WARNING'),
    error_entries = error_entries - (old.level = 'ERROR')
    WHERE id = old.batch_export_id;
  UPDATE batch_export_runs SET log_entries = log_entries - 1 WHERE id = old.run_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_backfills_counted AFTER INSERT ON batch_export_backfills BEGIN
  UPDATE batch_exports SET backfills = backfills + 1 WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_backfills_uncounted AFTER DELETE ON batch_export_backfills BEGIN
  UPDATE batch_exports SET backfills = backfills - 1 WHERE id = old.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_days_counted AFTER INSERT ON batch_export_days BEGIN
  UPDATE batch_exports SET days = days + 1 WHERE id = new.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER batch_export_days_uncounted AFTER DELETE ON batch_export_days BEGIN
  UPDATE batch_exports SET days = days - 1 WHERE id = old.batch_export_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_insert AFTER INSERT ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.type = 'DEBUG'),
    log_type_entries = log_type_entries + (new.type = 'LOG'),
    info_entries = info_entries + (new.type = 'INFO'),
    warn_entries = warn_entries + (new.type = 'WARN'),
    error_entries = error_entries + (new.type = 'ERROR')
    WHERE id = new.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_delete AFTER DELETE ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries - 1,
    debug_entries = debug_entries - (old.type = 'DEBUG'),
    log_type_entries = log_type_entries - (old.type = 'LOG'),
    info_entries = info_entries - (old.type = 'INFO'),
    warn_entries = warn_entries - (old.type = 'WARN'),
    error_entries = error_entries - (old.type = 'ERROR')
    WHERE id = old.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_counted AFTER INSERT ON plugin_configs WHEN NOT new.deleted BEGIN
  UPDATE projects SET plugin_configs = plugin_configs + 1 WHERE id = new.project_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_uncounted AFTER DELETE ON plugin_configs WHEN NOT old.deleted BEGIN
  UPDATE projects SET plugin_configs = plugin_configs - 1 WHERE id = old.project_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_recounted AFTER UPDATE OF deleted ON plugin_configs WHEN new.deleted <> old.deleted BEGIN
  UPDATE projects SET plugin_configs = plugin_configs + old.deleted - new.deleted WHERE id = new.project_id;
END;
--> statement-breakpoint
-- plugin_uses: which plugins an organization uses, with how many configs.
CREATE TRIGGER plugin_configs_uses_insert AFTER INSERT ON plugin_configs WHEN NOT new.deleted BEGIN
  INSERT INTO plugin_uses VALUES (new.organization_id, new.plugin_id, EXISTS (SELECT 1 FROM plugins WHERE id = new.plugin_id AND organization_id = new.organization_id), 1, new.enabled)
    ON CONFLICT DO UPDATE SET configs = configs + excluded.configs, enabled_configs = enabled_configs + excluded.enabled_configs;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_uses_update AFTER UPDATE OF enabled, deleted ON plugin_configs WHEN new.enabled <> old.enabled OR new.deleted <> old.deleted BEGIN
  INSERT INTO plugin_uses VALUES (new.organization_id, new.plugin_id, EXISTS (SELECT 1 FROM plugins WHERE id = new.plugin_id AND organization_id = new.organization_id), old.deleted - new.deleted, iif(new.deleted, 0, new.enabled) - iif(old.deleted, 0, old.enabled))
    ON CONFLICT DO UPDATE SET configs = configs + excluded.configs, enabled_configs = enabled_configs + excluded.enabled_configs;
  DELETE FROM plugin_uses WHERE organization_id = new.organization_id AND plugin_id = new.plugin_id AND configs = 0;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_configs_uses_delete AFTER DELETE ON plugin_configs WHEN NOT old.deleted BEGIN
  UPDATE plugin_uses SET configs = configs - 1, enabled_configs = enabled_configs - old.enabled
    WHERE organization_id = old.organization_id AND plugin_id = old.plugin_id;
  DELETE FROM plugin_uses WHERE organization_id = old.organization_id AND plugin_id = old.plugin_id AND configs = 0;
END;
--> statement-breakpoint
-- plugins.is_used: whether the plugin's own organization has an enabled config of it.
CREATE TRIGGER plugin_uses_insert AFTER INSERT ON plugin_uses WHEN new.is_own AND new.enabled_configs > 0 BEGIN
  UPDATE plugins SET is_used = true WHERE id = new.plugin_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_uses_update AFTER UPDATE OF enabled_configs ON plugin_uses WHEN new.is_own AND (new.enabled_configs > 0) <> (old.enabled_configs > 0) BEGIN
  UPDATE plugins SET is_used = new.enabled_configs > 0 WHERE id = new.plugin_id;
END;
--> statement-breakpoint
-- plugin_counts: the plugins of an organization, by what lists filter them by.
CREATE TRIGGER plugins_counted AFTER INSERT ON plugins BEGIN
  INSERT INTO plugin_counts VALUES (new.organization_id, new.is_global, new.families, new.is_used, 1, new.activity_entries)
    ON CONFLICT DO UPDATE SET plugins = plugins + excluded.plugins, activity_entries = activity_entries + excluded.activity_entries;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_recounted AFTER UPDATE OF capabilities, is_global, is_used, activity_entries ON plugins
  WHEN (new.families, new.is_global, new.is_used, new.activity_entries) <> (old.families, old.is_global, old.is_used, old.activity_entries) BEGIN
  INSERT INTO plugin_counts VALUES (old.organization_id, old.is_global, old.families, old.is_used, -1, -old.activity_entries)
    ON CONFLICT DO UPDATE SET plugins = plugins + excluded.plugins, activity_entries = activity_entries + excluded.activity_entries;
  INSERT INTO plugin_counts VALUES (new.organization_id, new.is_global, new.families, new.is_used, 1, new.activity_entries)
    ON CONFLICT DO UPDATE SET plugins = plugins + excluded.plugins, activity_entries = activity_entries + excluded.activity_entries;
  DELETE FROM plugin_counts
    WHERE organization_id = old.organization_id AND is_global = old.is_global AND families = old.families AND is_used = old.is_used AND plugins = 0;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_uncounted AFTER DELETE ON plugins BEGIN
  INSERT INTO plugin_counts VALUES (old.organization_id, old.is_global, old.families, old.is_used, -1, -old.activity_entries)
    ON CONFLICT DO UPDATE SET plugins = plugins + excluded.plugins, activity_entries = activity_entries + excluded.activity_entries;
  DELETE FROM plugin_counts
    WHERE organization_id = old.organization_id AND is_global = old.is_global AND families = old.families AND is_used = old.is_used AND plugins = 0;
END;
--> statement-breakpoint
-- plugins.activity_entries: the entries about a plugin in its organization's log.
CREATE TRIGGER activity_log_plugins_insert AFTER INSERT ON activity_log WHEN new.scope = 'Plugin' AND NOT new.is_system BEGIN
  UPDATE plugins SET activity_entries = activity_entries + 1 WHERE id = cast(new.item_id AS integer) AND organization_id = new.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER activity_log_plugins_delete AFTER DELETE ON activity_log WHEN old.scope = 'Plugin' AND NOT old.is_system BEGIN
  UPDATE plugins SET activity_entries = activity_entries - 1 WHERE id = cast(old.item_id AS integer) AND organization_id = old.organization_id;
END;
--> statement-breakpoint
-- The counters of the rows that are there already. The order counts: some are sums of others.
UPDATE users SET organizations = (SELECT count(*) FROM members WHERE user_id = users.id), personal_api_keys = (SELECT count(*) FROM personal_api_keys WHERE user_id = users.id);
--> statement-breakpoint
UPDATE members SET is_active = false WHERE user_id IN (SELECT id FROM users WHERE NOT is_active OR is_service_account);
--> statement-breakpoint
INSERT INTO member_search (organization, person, text, letters, name, organization_id, user_id)
    SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))),
      char(983040 + (user_id >> 32 & 65535), 983040 + (user_id >> 16 & 65535), 983040 + (user_id & 65535)),
      text,
      (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')),
      name, organization_id, user_id
    FROM (
      SELECT organization_id, user_id, name,
        replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text
      FROM (
        SELECT organization_id, user_id, users.first_name || ' ' || users.last_name || ' ' || users.email AS name
        FROM members JOIN users ON users.id = members.user_id WHERE users.is_active AND NOT users.is_service_account
      )
    );
--> statement-breakpoint
UPDATE organizations SET
  invites = (SELECT count(*) FROM invites WHERE organization_id = organizations.id),
  domains = (SELECT count(*) FROM domains WHERE organization_id = organizations.id),
  projects = (SELECT count(*) FROM projects WHERE organization_id = organizations.id),
  open_projects = (SELECT count(*) FROM projects WHERE organization_id = organizations.id AND NOT access_control);
--> statement-breakpoint
UPDATE projects SET
  active_members = (SELECT count(*) FROM project_members JOIN users ON users.id = user_id WHERE project_id = projects.id AND is_active AND NOT is_service_account),
  batch_exports = (SELECT count(*) FROM batch_exports WHERE project_id = projects.id AND NOT deleted),
  plugin_configs = (SELECT count(*) FROM plugin_configs WHERE project_id = projects.id AND NOT deleted);
--> statement-breakpoint
UPDATE batch_exports SET
  starting_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'Starting'),
  running_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'Running'),
  completed_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'Completed'),
  failed_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'Failed'),
  failed_retryable_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'FailedRetryable'),
  cancelled_runs = (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = batch_exports.id AND status = 'Cancelled'),
  debug_entries = (SELECT count(*) FROM batch_export_log_entries WHERE batch_export_id = batch_exports.id AND level = 'DEBUG'),
  info_entries = (SELECT count(*) FROM batch_export_log_entries WHERE batch_export_id = batch_exports.id AND level = 'INFO'),
  warning_entries = (SELECT count(*) FROM batch_export_log_entries WHERE batch_export_id = batch_exports.id AND level = 'WARNING'),
  error_entries = (SELECT count(*) FROM batch_export_log_entries WHERE batch_export_id = batch_exports.id AND level = 'ERROR'),
  backfills = (SELECT count(*) FROM batch_export_backfills WHERE batch_export_id = batch_exports.id),
  days = (SELECT count(*) FROM batch_export_days WHERE batch_export_id = batch_exports.id);
--> statement-breakpoint
UPDATE batch_export_runs SET log_entries = (SELECT count(*) FROM batch_export_log_entries WHERE run_id = batch_export_runs.id);
--> statement-breakpoint
UPDATE plugin_configs SET
  debug_entries = (SELECT count(*) FROM plugin_log_entries WHERE plugin_config_id = plugin_configs.id AND type = 'DEBUG'),
  log_type_entries = (SELECT count(*) FROM plugin_log_entries WHERE plugin_config_id = plugin_configs.id AND type = 'LOG'),
  info_entries = (SELECT count(*) FROM plugin_log_entries WHERE plugin_config_id = plugin_configs.id AND type = 'INFO'),
  warn_entries = (SELECT count(*) FROM plugin_log_entries WHERE plugin_config_id = plugin_configs.id AND type = 'WARN'),
  error_entries = (SELECT count(*) FROM plugin_log_entries WHERE plugin_config_id = plugin_configs.id AND type = 'ERROR');
--> statement-breakpoint
INSERT INTO plugin_counts
  SELECT organization_id, is_global, families, is_used, count(*), 0 FROM plugins GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
INSERT INTO plugin_uses
  SELECT organization_id, plugin_id, organization_id = (SELECT owner.organization_id FROM plugins AS owner WHERE owner.id = plugin_id),
    count(*), sum(enabled) FROM plugin_configs WHERE NOT deleted GROUP BY 1, 2;
--> statement-breakpoint
UPDATE plugins SET activity_entries = (
  SELECT count(*) FROM activity_log
    WHERE activity_log.organization_id = plugins.organization_id AND scope = 'Plugin' AND item_id = cast(plugins.id AS text) AND NOT is_system
);
