import { ActivityEntry } from "../activity_log/shape.ts";
import { pluginAccess } from "../db/tenant.ts";
import { page } from "../http/page.ts";
import {
	answers,
	creates,
	lists,
	listsAs,
	removes,
	router,
} from "../http/router.ts";
import { body } from "../http/valid.ts";
import { PluginConfig } from "../plugin_configs/shape.ts";
import type { Family } from "./families.ts";
import * as overviews from "./overviews.ts";
import * as plugins from "./queries.ts";
import { RepositoryEntry } from "./repository.ts";
import {
	create,
	source as files,
	Plugin,
	PluginSource,
	PluginUpdate,
	update,
} from "./shape.ts";
import * as source from "./source.ts";

/** Interface 4.6 and 4.7, behaviour 9: one module, mounted once for each family. */
export default (family: Family) => {
	const own: Parameters<typeof body>[1] = (tenant, id) =>
		plugins.findOwn(tenant, family, id);
	const editable: typeof own = async (tenant, id) =>
		source.findOwn(tenant, family, id);
	return router()
		.use("*", pluginAccess)
		.get("/", lists(Plugin, "List the plugins, newest first"), async (c) =>
			c.json(await plugins.list(c.var.tenant, family, page(c))),
		)
		.post("/", creates(Plugin, "Add a plugin"), body(create), async (c) =>
			c.json(
				await plugins.insert(c.var.tenant, family, c.req.valid("json")),
				201,
			),
		)
		.get(
			"/activity",
			listsAs(
				Plugin,
				ActivityEntry,
				"List what was done to the plugins, newest first",
			),
			async (c) =>
				c.json(await overviews.activity(c.var.tenant, family, page(c))),
		)
		.get(
			"/exports_unsubscribe_configs",
			listsAs(
				Plugin,
				PluginConfig,
				"List the enabled configs of the destinations",
			),
			async (c) =>
				c.json(await overviews.exportConfigs(c.var.tenant, family, page(c))),
		)
		.get(
			"/repository",
			listsAs(
				Plugin,
				RepositoryEntry,
				"List the plugins that can be installed",
			),
			async (c) => c.json(await overviews.listed(c.var.tenant, page(c))),
		)
		.get(
			"/unused",
			listsAs(Plugin, Plugin, "List the plugins without an enabled config"),
			async (c) =>
				c.json(await overviews.unused(c.var.tenant, family, page(c))),
		)
		.get(
			"/:id/check_for_updates",
			answers(
				PluginUpdate,
				"Ask where the plugin came from for its newest tag",
			),
			async (c) =>
				c.json(
					await plugins.checkForUpdates(
						c.var.tenant,
						family,
						c.req.param("id"),
					),
				),
		)
		.post(
			"/:id/upgrade",
			answers(Plugin, "Install the newest of the plugin"),
			body(update, own),
			async (c) =>
				c.json(await plugins.upgrade(c.var.tenant, family, c.req.param("id"))),
		)
		.get(
			"/:id/source",
			answers(PluginSource, "Retrieve a plugin's source"),
			async (c) =>
				c.json(await source.find(c.var.tenant, family, c.req.param("id"))),
		)
		.patch(
			"/:id/update_source",
			answers(
				PluginSource,
				"Write files of a plugin's source; null removes one",
			),
			body(files, editable),
			async (c) =>
				c.json(
					await source.update(
						c.var.tenant,
						family,
						c.req.param("id"),
						c.req.valid("json"),
					),
				),
		)
		.get("/:id", answers(Plugin, "Retrieve a plugin"), async (c) =>
			c.json(await plugins.find(c.var.tenant, family, c.req.param("id"))),
		)
		.patch(
			"/:id",
			answers(Plugin, "Change a plugin"),
			body(update, own),
			async (c) =>
				c.json(
					await plugins.update(
						c.var.tenant,
						family,
						c.req.param("id"),
						c.req.valid("json"),
					),
				),
		)
		.delete(
			"/:id",
			removes("Delete a plugin, its source and its configs"),
			async (c) => {
				await plugins.remove(c.var.tenant, family, c.req.param("id"));
				return c.body(null, 204);
			},
		);
};
