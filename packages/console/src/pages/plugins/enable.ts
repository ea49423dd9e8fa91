import { type PluginConfig, TenantryError } from "tenantry-client";
import { api } from "../../session.ts";
import { rejection } from "../../ui/form.tsx";
import { fieldsOf, pluginIn } from "./schema.ts";
import { nameOfSetting } from "./settings.tsx";

/**
 * Enables or disables a plugin in its project.
 * @throws {TenantryError} with the name of the setting, if a required setting is missing
 */
export async function setEnabled(config: PluginConfig, enabled: boolean) {
	try {
		return await api.pluginConfigs.update({ project: config.team_id, id: config.id }, { enabled });
	} catch (error) {
		if (!(error instanceof TenantryError)) throw error;
		// The config may be from a list, which has no settings.
		const whole = await api.pluginConfigs.get({ project: config.team_id, id: config.id });
		const field = fieldsOf(pluginIn(whole).config_schema).find(
			({ key }) => error.attr === nameOfSetting(key),
		);
		if (!field) throw error;
		throw rejection(
			nameOfSetting(field.key),
			`Set “${field.label}” first, then enable ${config.name}.`,
		);
	}
}
