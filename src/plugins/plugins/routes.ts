import { pluginAccess } from "../../access/middleware.ts";
import { body, query } from "../../access/valid.ts";
import { ActivityEntry } from "../../activity/activity_log/shape.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, paginatedAs, router } from "../../http/router.ts";
import { destination, type Family, frontendApp, importApp } from "./families.ts";
import * as overviews from "./overviews.ts";
import { PluginConfig } from "./plugin_config.ts";
import * as plugins from "./queries.ts";
import { RepositoryEntry } from "./repository.ts";
import {
	activityFilters,
	create,
	source as files,
	filters,
	ListedPlugin,
	Plugin,
	PluginSource,
	PluginUpdate,
	update,
	upgrade,
} from "./shape.ts";
import * as source from "./source_files.ts";

/** All plugins. Each is read and changed under any family (docs/plugins.md#families). */
export const allPlugins = router()
	.use("*", pluginAccess)
	.get("/", paginated(ListedPlugin), query(filters), async (c) =>
		c.json(await plugins.listAll(c.var.tenant, page(c), c.req.valid("query"))),
	);

/** The routes of one family (docs/plugins.md#families). */
export const familyRoutes = (family: Family) => {
	return router()
		.use("*", pluginAccess)
		.get("/", paginated(Plugin), async (c) =>
			c.json(await plugins.list(c.var.tenant, family, page(c))),
		)
		.post("/", created(Plugin), body(create), async (c) =>
			c.json(await plugins.insert(c.var.tenant, family, c.req.valid("json")), 201),
		)
		.get("/activity", paginatedAs(Plugin, ActivityEntry), query(activityFilters), async (c) =>
			c.json(await overviews.activity(c.var.tenant, family, page(c), c.req.valid("query"))),
		)
		.get("/exports_unsubscribe_configs", paginatedAs(Plugin, PluginConfig), async (c) =>
			c.json(await overviews.exportConfigs(c.var.tenant, family, page(c))),
		)
		.get("/repository", paginatedAs(Plugin, RepositoryEntry), async (c) =>
			c.json(await overviews.listRepository(c.var.tenant, page(c))),
		)
		.get("/unused", paginatedAs(Plugin, Plugin), async (c) =>
			c.json(await overviews.unused(c.var.tenant, family, page(c))),
		)
		.get("/:id/check_for_updates", ok(PluginUpdate), async (c) =>
			c.json(await plugins.checkForUpdates(c.var.tenant, c.req.param("id"))),
		)
		.post("/:id/upgrade", ok(Plugin), body(upgrade, plugins.findOwnCode), async (c) =>
			c.json(
				await plugins.upgrade(c.var.tenant, family, c.req.param("id"), c.req.valid("json").url),
			),
		)
		.get("/:id/source", ok(PluginSource), async (c) =>
			c.json(await source.find(c.var.tenant, c.req.param("id"))),
		)
		.patch("/:id/update_source", ok(PluginSource), body(files, source.findEditable), async (c) =>
			c.json(await source.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.get("/:id", ok(Plugin), async (c) =>
			c.json(await plugins.find(c.var.tenant, c.req.param("id"))),
		)
		.patch("/:id", ok(Plugin), body(update, plugins.findOwn), async (c) =>
			c.json(await plugins.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.delete("/:id", noContent(), async (c) => {
			await plugins.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		});
};

export const destinations = () => familyRoutes(destination);
export const frontendApps = () => familyRoutes(frontendApp);
export const importApps = () => familyRoutes(importApp);
