-- Searches read the texts of an organization's rows (src/db/contains.ts) instead of full-text indexes, which cost rows with each
-- write, and which `wrangler d1 export` can't read.
DROP TRIGGER batch_export_log_entries_insert;
--> statement-breakpoint
DROP TRIGGER batch_export_log_entries_search_delete;
--> statement-breakpoint
DROP TRIGGER domains_search_delete;
--> statement-breakpoint
DROP TRIGGER domains_search_insert;
--> statement-breakpoint
DROP TRIGGER domains_search_update;
--> statement-breakpoint
DROP TRIGGER invites_search_delete;
--> statement-breakpoint
DROP TRIGGER invites_search_insert;
--> statement-breakpoint
DROP TRIGGER invites_search_update;
--> statement-breakpoint
DROP TRIGGER member_names_delete;
--> statement-breakpoint
DROP TRIGGER member_names_insert;
--> statement-breakpoint
DROP TRIGGER plugin_log_entries_insert;
--> statement-breakpoint
DROP TRIGGER plugin_log_entries_search_delete;
--> statement-breakpoint
DROP TRIGGER plugins_search_delete;
--> statement-breakpoint
DROP TRIGGER plugins_search_insert;
--> statement-breakpoint
DROP TRIGGER plugins_search_update;
--> statement-breakpoint
DROP TRIGGER projects_search_delete;
--> statement-breakpoint
DROP TRIGGER projects_search_insert;
--> statement-breakpoint
DROP TRIGGER projects_search_update;
--> statement-breakpoint
DROP TRIGGER member_names_update;
--> statement-breakpoint
DROP TABLE batch_export_log_search;
--> statement-breakpoint
DROP TABLE domain_search;
--> statement-breakpoint
DROP TABLE invite_search;
--> statement-breakpoint
DROP TABLE member_names;
--> statement-breakpoint
DROP TABLE plugin_log_search;
--> statement-breakpoint
DROP TABLE plugin_search;
--> statement-breakpoint
DROP TABLE project_search;
--> statement-breakpoint
DROP VIEW batch_export_log_documents;
--> statement-breakpoint
DROP VIEW domain_documents;
--> statement-breakpoint
DROP VIEW invite_documents;
--> statement-breakpoint
DROP VIEW member_documents;
--> statement-breakpoint
DROP VIEW plugin_documents;
--> statement-breakpoint
DROP VIEW plugin_log_documents;
--> statement-breakpoint
DROP VIEW project_documents;
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
CREATE TRIGGER plugin_log_entries_insert AFTER INSERT ON plugin_log_entries BEGIN
  UPDATE plugin_configs SET log_entries = log_entries + 1,
    debug_entries = debug_entries + (new.type = 'DEBUG'),
    log_type_entries = log_type_entries + (new.type = 'LOG'),
    info_entries = info_entries + (new.type = 'INFO'),
    warn_entries = warn_entries + (new.type = 'WARN'),
    error_entries = error_entries + (new.type = 'ERROR')
    WHERE id = new.plugin_config_id;
END;
