import type { Context } from "hono";
import * as z from "zod";
import { deletedFilter, listDeleted } from "../../access/deletions.ts";
import { body, query } from "../../access/input.ts";
import { needs } from "../../access/middleware.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { page } from "../../http/page.ts";
import {
	created,
	javascript,
	noBody,
	noContent,
	ok,
	paginated,
	router,
} from "../../http/router.ts";
import { PluginConfig } from "../plugins/plugin_config.ts";
import * as logs from "./logs.ts";
import * as configs from "./queries.ts";
import { create, filters, job, logFilters, PluginLogEntry, rearrange, update } from "./shape.ts";
import * as jobs from "./start_job.ts";

const UNAVAILABLE = "the organization's `plugins_access_level` is below 3";

/** Responds with an empty body, of a type that no server compresses. */
function empty(c: Context<App>, link?: string) {
	if (link) c.header("Link", link);
	c.header("Content-Length", "0");
	c.header("Content-Type", "application/octet-stream");
	return c.body(null, 200);
}

/** The configs of all projects of an organization. */
export const ofOrganization = router({
	name: "Plugin configs of an organization",
	description: "The plugin configs of all projects that you can see.",
}).get(
	"/",
	paginated(PluginConfig, {
		id: "listOrganizationPluginConfigs",
		summary: "List the plugin configs of all projects",
		description:
			"Lists the configs of all projects that you can see, by project, then by `order`. Deleted ones are omitted.",
	}),
	query(filters),
	async (c) => c.json(await configs.list(c.var.tenant, page(c), c.req.valid("query"))),
);

/** docs/plugins.md#plugin-configs */
export default router({
	name: "Plugin configs",
	description: `A plugin that is configured for a project, with its settings, log and jobs. Anyone who can see the project may use these operations. While ${UNAVAILABLE}, lists are empty, ids are a 404, and adding or reordering configs and starting jobs is a 400.`,
	parameters: {
		id: z.int().min(1).describe("The plugin config's id."),
		plugin_config_id: z
			.string()
			.regex(/^\d{1,15}$/)
			.describe("The plugin config's id."),
	},
})
	.get(
		"/",
		paginated(PluginConfig, {
			id: "listPluginConfigs",
			summary: "List the plugin configs",
			description:
				"Lists the project's configs by `order`, lowest first, then by id. Deleted ones are omitted.",
		}),
		query(deletedFilter()),
		async (c) =>
			c.json(
				await (c.req.valid("query").deleted
					? listDeleted<z.infer<typeof PluginConfig>>(c.var.tenant, page(c), "plugin_config")
					: configs.list(c.var.tenant, page(c))),
			),
	)
	.post(
		"/",
		created(PluginConfig, {
			id: "createPluginConfig",
			summary: "Add a plugin config",
			description: `Configures a plugin for the project. A project can have several configs of one plugin. Returns the config, its secrets masked.

400 if the organization can't see the plugin (\`does_not_exist\`), or ${UNAVAILABLE}. 400 on \`config__<key>\` if a value doesn't match the plugin's \`config_schema\`, or a required value of an enabled config is missing.`,
			errors: { does_not_exist: "The organization can't see the plugin." },
		}),
		body(create),
		async (c) => c.json(await configs.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.patch(
		"/rearrange",
		noBody({
			id: "rearrangePluginConfigs",
			summary: "Reorder the plugin configs",
			description: `Sets the \`order\` of several configs at once, with one entry in the activity log. Configs that aren't enabled don't change. The response has no body. 400 if ${UNAVAILABLE}.`,
		}),
		// Each config that moves requires editor access to its plugin.
		needs("viewer"),
		body(rearrange),
		async (c) => {
			await configs.rearrange(c.var.tenant, c.req.valid("json"));
			return empty(c);
		},
	)
	.get(
		"/:id",
		ok(PluginConfig, {
			id: "getPluginConfig",
			summary: "Retrieve a plugin config",
			description:
				"Returns the config, its secrets masked. Also finds one that `deleted` hides from the list.",
		}),
		async (c) => c.json(await configs.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(PluginConfig, {
			id: "updatePluginConfig",
			summary: "Change a plugin config",
			description:
				"Fields that aren't in the body don't change; the plugin can't be changed. Returns the config. Its log has an entry if it was enabled, disabled or configured. 400 on `config__<key>` if a value doesn't match the plugin's `config_schema`, or a required value of an enabled config is missing.",
		}),
		body(update, configs.find),
		async (c) => c.json(await configs.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deletePluginConfig",
			summary: "Permanently delete a plugin config",
			description:
				"Also deletes its log, its storage and its waiting jobs. It can be restored for 30 days, without its log and jobs; to keep these, set `deleted` instead.",
		}),
		async (c) => {
			await configs.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	)
	.get(
		"/:id/activity",
		noBody({
			id: "getPluginConfigActivity",
			summary: "Find a plugin config's activity log",
			description:
				'The response has no body. Its header `Link` leads to the entries (`rel="alternate"`), which require the scope `activity_log:read`.',
		}),
		async (c) => {
			const { id, team_id } = await configs.find(c.var.tenant, c.req.param("id"));
			const url = `/api/projects/${team_id}/activity_log/?scope=PluginConfig&item_id=${id}`;
			return empty(c, `<${url}>; rel="alternate"`);
		},
	)
	.get(
		"/:id/frontend",
		noBody({
			id: "getPluginConfigFrontend",
			summary: "Find a plugin config's browser script",
			description:
				'The response has no body. Its header `Link` leads to the script (`rel="alternate"`); there is none if the plugin has no `frontend.tsx`, or it doesn\'t compile.',
		}),
		async (c) => {
			const { id, team_id, script } = await configs.frontend(c.var.tenant, c.req.param("id"));
			if (script === null) return empty(c);
			const url = `/api/projects/${team_id}/plugin_configs/${id}/frontend.js`;
			return empty(c, `<${url}>; rel="alternate"; type="text/javascript"`);
		},
	)
	.get(
		"/:id/frontend.js",
		javascript({
			id: "getPluginConfigScript",
			summary: "Retrieve a plugin config's browser script",
			description:
				"Returns the JavaScript of the plugin's `frontend.tsx`, an ES module. 404 if the plugin has no such file, or it doesn't compile.",
		}),
		async (c) => {
			const { script } = await configs.frontend(c.var.tenant, c.req.param("id"));
			return c.body(orNotFound(script), 200, { "Content-Type": "text/javascript" });
		},
	)
	.post(
		"/:id/job",
		noBody({
			id: "startPluginConfigJob",
			summary: "Start a job",
			description: `Queues a job of the config's plugin, even if the config is disabled. The response has no body and doesn't wait for the job. Its header \`Link\` leads to the config's log (\`rel="monitor"\`), where the job writes its output.

A job runs once, for at most ten seconds, and can connect only to the hosts in the config's \`allowed_hosts\`. Organizations take turns, so jobs of others delay it only briefly. A job that fails or is interrupted by a restart isn't run again.

400 if \`type\` is missing or not a job of the plugin, if the config is deleted, or if ${UNAVAILABLE}.`,
		}),
		body(job, jobs.find),
		async (c) => {
			const { id, team_id } = await jobs.start(
				c.var.tenant,
				c.req.param("id"),
				c.req.valid("json"),
			);
			return empty(c, `</api/projects/${team_id}/plugin_configs/${id}/logs/>; rel="monitor"`);
		},
	)
	.post(
		"/:id/migrate",
		noBody({
			id: "migratePluginConfig",
			summary: "Migrate a plugin config",
			description:
				"Always a 400 for a config that exists: there is nothing to migrate to (see `x_function_migration_available`).",
		}),
		async (c) => {
			await configs.migrate(c.var.tenant, c.req.param("id"));
			return empty(c);
		},
	)
	.get(
		"/:plugin_config_id/logs",
		paginated(PluginLogEntry, {
			id: "listPluginConfigLogs",
			summary: "List the log of a plugin config",
			description:
				"Lists log entries of the service and the plugin's code, newest first. Secrets of the config are masked. Entries are kept for seven days, at most 1,000 per run.",
		}),
		query(logFilters, configs.find),
		async (c) =>
			c.json(
				await logs.list(
					c.var.tenant,
					c.req.param("plugin_config_id"),
					page(c),
					c.req.valid("query"),
				),
			),
	);
