ALTER TABLE `plugin_configs` ADD `enabled_at` text;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `storage_keys` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_configs` ADD `storage_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `plugin_storage` ADD `bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Of configs that are enabled already it isn't known since when.
UPDATE plugin_configs SET enabled_at = updated_at WHERE enabled;
--> statement-breakpoint
UPDATE plugin_storage SET bytes = length(cast(key AS blob)) + length(cast(value AS blob));
--> statement-breakpoint
UPDATE plugin_configs SET
  storage_keys = (SELECT count(*) FROM plugin_storage WHERE plugin_config_id = plugin_configs.id),
  storage_bytes = (SELECT coalesce(sum(bytes), 0) FROM plugin_storage WHERE plugin_config_id = plugin_configs.id);
--> statement-breakpoint
-- plugin_configs.storage_keys and storage_bytes: what count(*) and sum(bytes) over a config's storage would say.
CREATE TRIGGER plugin_storage_insert AFTER INSERT ON plugin_storage BEGIN
  UPDATE plugin_configs SET storage_keys = storage_keys + 1, storage_bytes = storage_bytes + new.bytes
    WHERE id = new.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_storage_update AFTER UPDATE OF bytes ON plugin_storage BEGIN
  UPDATE plugin_configs SET storage_bytes = storage_bytes + new.bytes - old.bytes WHERE id = new.plugin_config_id;
END;
--> statement-breakpoint
CREATE TRIGGER plugin_storage_delete AFTER DELETE ON plugin_storage BEGIN
  UPDATE plugin_configs SET storage_keys = storage_keys - 1, storage_bytes = storage_bytes - old.bytes
    WHERE id = old.plugin_config_id;
END;
