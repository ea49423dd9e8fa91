PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_batch_export_log_entries` (
	`position` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`batch_export_id` text NOT NULL,
	`run_id` text,
	`timestamp` text NOT NULL,
	`level` text NOT NULL,
	`message` text NOT NULL,
	FOREIGN KEY (`batch_export_id`) REFERENCES `batch_exports`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `__new_batch_export_log_entries`("position", "id", "batch_export_id", "run_id", "timestamp", "level", "message") SELECT rowid, "id", "batch_export_id", "run_id", "timestamp", "level", "message" FROM `batch_export_log_entries`;--> statement-breakpoint
DROP TABLE `batch_export_log_entries`;--> statement-breakpoint
ALTER TABLE `__new_batch_export_log_entries` RENAME TO `batch_export_log_entries`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `batch_export_log_entries_id_unique` ON `batch_export_log_entries` (`id`);--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_export` ON `batch_export_log_entries` (`batch_export_id`,`level`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_run` ON `batch_export_log_entries` (`run_id`,`level`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `batch_export_log_entries_timestamp` ON `batch_export_log_entries` (`timestamp`);--> statement-breakpoint
DROP INDEX `members_updated`;--> statement-breakpoint
CREATE INDEX `members_updated` ON `members` (`organization_id`,`is_active`,`updated_at`,`joined_at`,`id`);--> statement-breakpoint
DROP INDEX `plugin_configs_exports`;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `families` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `plugin_configs_exports` ON `plugin_configs` (`organization_id`,`families`,`id`) WHERE enabled and not deleted;--> statement-breakpoint
CREATE TABLE `__new_plugin_log_entries` (
	`position` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
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
INSERT INTO `__new_plugin_log_entries`("position", "id", "team_id", "plugin_id", "plugin_config_id", "timestamp", "source", "type", "message", "instance_id") SELECT rowid, "id", "team_id", "plugin_id", "plugin_config_id", "timestamp", "source", "type", "message", "instance_id" FROM `plugin_log_entries`;--> statement-breakpoint
DROP TABLE `plugin_log_entries`;--> statement-breakpoint
ALTER TABLE `__new_plugin_log_entries` RENAME TO `plugin_log_entries`;--> statement-breakpoint
CREATE UNIQUE INDEX `plugin_log_entries_id_unique` ON `plugin_log_entries` (`id`);--> statement-breakpoint
CREATE INDEX `plugin_log_entries_config` ON `plugin_log_entries` (`plugin_config_id`,`type`,`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `plugin_log_entries_timestamp` ON `plugin_log_entries` (`timestamp`);
--> statement-breakpoint
-- Written by hand from here: what Drizzle doesn't know.
-- Full-text indexes of trigrams. Each has a view that makes its documents: `text` is what is searched, with the letters replaced
-- that FTS5 folds unlike src/db/contains.ts; `letters` has its letters with a U+0001 around each, so that one or two of them
-- are a trigram, too; other columns are one trigram each, made of an id, so that a search reads the documents of its
-- organization, export, run or config only. src/db/search.ts makes the queries. `detail = none`: a document that has all
-- trigrams of a search is a candidate, and the query looks at its text.
-- A document for each active member. The index before, member_search, stays: it is what the code asks that is deployed until
-- this version is. A later migration drops it, with its part of the triggers members_insert, members_delete and users_search.
-- What the list is sorted by is in it, so that a search need not read the members.
CREATE VIEW member_documents AS
  SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))) AS organization,
    char(983040 + (user_id >> 32 & 65535), 983040 + (user_id >> 16 & 65535), 983040 + (user_id & 65535)) AS person,
    text,
    (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')) AS letters,
    name, organization_id, user_id, id, joined_at
  FROM (
    SELECT organization_id, user_id, id, joined_at, name,
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text
    FROM (
      SELECT members.organization_id, members.user_id, members.id, members.joined_at,
        users.first_name || ' ' || users.last_name || ' ' || users.email AS name
      FROM members JOIN users ON users.id = members.user_id WHERE users.is_active AND NOT users.is_service_account
    )
  );
--> statement-breakpoint
CREATE VIRTUAL TABLE member_names USING fts5(organization, person, text, letters, name UNINDEXED, organization_id UNINDEXED, user_id UNINDEXED, id UNINDEXED, joined_at UNINDEXED, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER member_names_insert AFTER INSERT ON members BEGIN
  INSERT INTO member_names SELECT * FROM member_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER member_names_delete AFTER DELETE ON members BEGIN
  DELETE FROM member_names WHERE rowid IN (
    SELECT rowid FROM member_names WHERE member_names MATCH '"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '" AND "' || char(983040 + (old.user_id >> 32 & 65535), 983040 + (old.user_id >> 16 & 65535), 983040 + (old.user_id & 65535)) || '"' AND id = old.id
  );
END;
--> statement-breakpoint
CREATE TRIGGER member_names_update AFTER UPDATE OF first_name, last_name, email, is_active ON users
  WHEN (new.first_name, new.last_name, new.email, new.is_active) IS NOT (old.first_name, old.last_name, old.email, old.is_active) BEGIN
  DELETE FROM member_names WHERE rowid IN (
    SELECT rowid FROM member_names WHERE member_names MATCH '"' || char(983040 + (new.id >> 32 & 65535), 983040 + (new.id >> 16 & 65535), 983040 + (new.id & 65535)) || '"' AND user_id = new.id
  );
  INSERT INTO member_names SELECT * FROM member_documents WHERE user_id = new.id;
END;
--> statement-breakpoint
INSERT INTO member_names SELECT * FROM member_documents;
--> statement-breakpoint
-- A document for each plugin, whose rowid is the plugin's id. Global plugins have a trigram of their own.
CREATE VIEW plugin_documents AS
  SELECT id, organization, reach, text
  FROM (
    SELECT id, char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))) AS organization, iif(is_global, char(983040, 983040, 983040), '') AS reach,
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name || char(10) || description || char(10) || coalesce(url, ''), char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text
    FROM plugins
  );
--> statement-breakpoint
CREATE VIRTUAL TABLE plugin_search USING fts5(organization, reach, text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER plugins_search_insert AFTER INSERT ON plugins BEGIN
  INSERT INTO plugin_search (rowid, organization, reach, text) SELECT * FROM plugin_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_search_update AFTER UPDATE OF name, description, url, is_global ON plugins
  WHEN (new.name, new.description, new.url, new.is_global) IS NOT (old.name, old.description, old.url, old.is_global) BEGIN
  DELETE FROM plugin_search WHERE rowid = old.id;
  INSERT INTO plugin_search (rowid, organization, reach, text) SELECT * FROM plugin_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_search_delete AFTER DELETE ON plugins BEGIN
  DELETE FROM plugin_search WHERE rowid = old.id;
END;
--> statement-breakpoint
INSERT INTO plugin_search (rowid, organization, reach, text) SELECT * FROM plugin_documents;
--> statement-breakpoint
-- A document for each log entry. The index doesn't keep them: it reads the view. Entries are never updated.
CREATE VIEW batch_export_log_documents AS
  SELECT position,
    char(983040 + unicode(substr(batch_export_id, -6, 1)) * 256 + unicode(substr(batch_export_id, -5, 1)), 983040 + unicode(substr(batch_export_id, -4, 1)) * 256 + unicode(substr(batch_export_id, -3, 1)), 983040 + unicode(substr(batch_export_id, -2, 1)) * 256 + unicode(substr(batch_export_id, -1, 1))) AS export,
    iif(run_id IS NULL, '', char(983040 + unicode(substr(run_id, -6, 1)) * 256 + unicode(substr(run_id, -5, 1)), 983040 + unicode(substr(run_id, -4, 1)) * 256 + unicode(substr(run_id, -3, 1)), 983040 + unicode(substr(run_id, -2, 1)) * 256 + unicode(substr(run_id, -1, 1)))) AS run,
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(message, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text,
    id, timestamp, batch_export_id, run_id, level, message
  FROM batch_export_log_entries;
--> statement-breakpoint
CREATE VIRTUAL TABLE batch_export_log_search USING fts5(export, run, text, id UNINDEXED, timestamp UNINDEXED, batch_export_id UNINDEXED, run_id UNINDEXED, level UNINDEXED, message UNINDEXED, content = 'batch_export_log_documents', content_rowid = 'position', columnsize = 0, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER batch_export_log_entries_insert AFTER INSERT ON batch_export_log_entries BEGIN
  UPDATE batch_exports SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.level = 'DEBUG'),
    info_entries = info_entries + (new.level = 'INFO'),
    warning_entries = warning_entries + (new.level = 'WARNING'),
    error_entries = error_entries + (new.level = 'ERROR')
    WHERE id = new.batch_export_id;
  UPDATE batch_export_runs SET log_entries = log_entries + 1 WHERE id = new.run_id;
  INSERT INTO batch_export_log_search (rowid, export, run, text) SELECT position, export, run, text FROM batch_export_log_documents WHERE position = new.position;
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
-- Before the entry is gone: the index has to be told what it contains.
CREATE TRIGGER batch_export_log_entries_search_delete BEFORE DELETE ON batch_export_log_entries BEGIN
  INSERT INTO batch_export_log_search (batch_export_log_search, rowid, export, run, text) SELECT 'delete', position, export, run, text FROM batch_export_log_documents WHERE position = old.position;
END;
--> statement-breakpoint
INSERT INTO batch_export_log_search (batch_export_log_search) VALUES ('rebuild');
--> statement-breakpoint
CREATE VIEW plugin_log_documents AS
  SELECT position,
    char(983040 + (plugin_config_id >> 32 & 65535), 983040 + (plugin_config_id >> 16 & 65535), 983040 + (plugin_config_id & 65535)) AS config,
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(message, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text,
    id, timestamp, plugin_config_id, type, message
  FROM plugin_log_entries;
--> statement-breakpoint
CREATE VIRTUAL TABLE plugin_log_search USING fts5(config, text, id UNINDEXED, timestamp UNINDEXED, plugin_config_id UNINDEXED, type UNINDEXED, message UNINDEXED, content = 'plugin_log_documents', content_rowid = 'position', columnsize = 0, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER plugin_log_entries_insert AFTER INSERT ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.type = 'DEBUG'),
    log_type_entries = log_type_entries + (new.type = 'LOG'),
    info_entries = info_entries + (new.type = 'INFO'),
    warn_entries = warn_entries + (new.type = 'WARN'),
    error_entries = error_entries + (new.type = 'ERROR')
    WHERE id = new.plugin_config_id;
  INSERT INTO plugin_log_search (rowid, config, text) SELECT position, config, text FROM plugin_log_documents WHERE position = new.position;
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
CREATE TRIGGER plugin_log_entries_search_delete BEFORE DELETE ON plugin_log_entries BEGIN
  INSERT INTO plugin_log_search (plugin_log_search, rowid, config, text) SELECT 'delete', position, config, text FROM plugin_log_documents WHERE position = old.position;
END;
--> statement-breakpoint
INSERT INTO plugin_log_search (plugin_log_search) VALUES ('rebuild');
--> statement-breakpoint
-- plugin_configs.families: those of the plugin.
CREATE TRIGGER plugin_configs_families_insert AFTER INSERT ON plugin_configs BEGIN
  UPDATE plugin_configs SET families = (SELECT families FROM plugins WHERE id = new.plugin_id) WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER plugins_configs_families AFTER UPDATE OF capabilities ON plugins WHEN new.families <> old.families BEGIN
  UPDATE plugin_configs SET families = new.families WHERE plugin_id = new.id;
END;
--> statement-breakpoint
UPDATE plugin_configs SET families = (SELECT families FROM plugins WHERE id = plugin_id);
