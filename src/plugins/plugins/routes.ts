import * as z from "zod";
import { deletedFilter, listDeleted } from "../../access/deletions.ts";
import { body, query } from "../../access/input.ts";
import { pluginAccess } from "../../access/middleware.ts";
import { ActivityEntry } from "../../activity/activity_log/shape.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, paginatedAs, router } from "../../http/router.ts";
import { Contents } from "../../organizations/contents.ts";
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

const ACCESS =
	"Any member may use these operations. The organization's `plugins_access_level` must be at least 3 to read and 6 to write; otherwise the response is a 403.";

const SECRETS =
	"requires level 8 if a config of the plugin, in any organization, stores a secret or has anything in its storage";

/** All plugins. Each is read and changed under any family (docs/plugins.md#families). */
export const allPlugins = () =>
	router({
		name: "Plugins",
		description: `The plugins of all families together. A plugin is installed for an organization, and configured for each project. To read or change one, use its id in the path of any of the three families. ${ACCESS}`,
		parameters: { id: z.int().min(1).describe("The plugin's id.") },
	})
		.use("*", pluginAccess)
		.get(
			"/",
			paginated(ListedPlugin, {
				id: "listPlugins",
				summary: "List all plugins",
				description:
					"Lists the plugins that the organization can see, newest first: its own, global ones, and those with a config in one of its projects. Includes those that belong to no family.",
			}),
			query(filters.extend(deletedFilter().shape)),
			async (c) => {
				const { deleted, ...wanted } = c.req.valid("query");
				return c.json(
					await (deleted
						? listDeleted<z.infer<typeof ListedPlugin>>(c.var.tenant, page(c), "plugin")
						: plugins.listAll(c.var.tenant, page(c), wanted)),
				);
			},
		)
		.get(
			"/:id/contents",
			ok(Contents, {
				id: "getPluginContents",
				summary: "Count where a plugin is used",
				description:
					"Counts the plugin configs that are deleted with the plugin, up to 1,000, also those in projects that you can't view. Those of other organizations are counted for the organization that the plugin belongs to. Changes nothing.",
			}),
			async (c) => c.json(await plugins.contents(c.var.tenant, c.req.param("id"))),
		);

/** The names of a family's operations, and which plugins belong to it. */
type Nouns = { id: string; one: string; many: string; section: string; which: string };

/** The routes of one family (docs/plugins.md#families). */
const familyRoutes = (family: Family, { id, one, many, section, which }: Nouns) =>
	router({
		name: section,
		description: `${which} Lists contain the plugins of the family; an id can be that of a plugin of any family. ${ACCESS}`,
		parameters: { id: z.int().min(1).describe("The plugin's id.") },
	})
		.use("*", pluginAccess)
		.get(
			"/",
			paginated(Plugin, {
				id: `list${id}s`,
				summary: `List the ${many}`,
				description: `Lists the ${many} that the organization can see, newest first: its own, global ones, and those with a config in one of its projects.`,
			}),
			async (c) => c.json(await plugins.list(c.var.tenant, family, page(c))),
		)
		.post(
			"/",
			created(Plugin, {
				id: `create${id}`,
				summary: `Add a plugin to the ${many}`,
				description: `Returns the plugin, which belongs to the organization.

With a \`url\`, the plugin is downloaded from npm, GitHub or GitLab. Its \`plugin.json\` then determines \`name\`, \`description\`, \`icon\`, \`config_schema\` and \`public_jobs\`, its source the \`capabilities\`, and the version \`tag\`, whatever the body says. Only \`plugin.json\`, the main file, \`site.ts\` and \`frontend.tsx\` are stored.

Without a \`url\`, the plugin has no source until you write it. Without \`capabilities\` either, it gets \`${JSON.stringify(family.capabilities).replace(":", ": ")}\`, which makes it ${one}.

400 if the URL isn't supported, or the organization has already installed it (the header \`Link\` leads to that plugin); if the download fails or takes longer than ten seconds; if \`plugin.json\` or the main file is missing or invalid; or if the archive has more than 10 MiB or 1,000 entries, or the source more than 1 MiB. 403 if \`is_global\` is true and the \`plugins_access_level\` is below 9.`,
			}),
			body(create),
			async (c) => c.json(await plugins.insert(c.var.tenant, family, c.req.valid("json")), 201),
		)
		.get(
			"/activity",
			paginatedAs(Plugin, ActivityEntry, {
				id: `list${id}Activity`,
				summary: `List the activity of the ${many}`,
				description: `Lists the entries of the organization's activity log about ${many}, newest first, with the fields of the plugin that the first entry is about (null if there are no entries). Entries of deleted plugins are only in the activity log itself.`,
			}),
			query(activityFilters),
			async (c) =>
				c.json(await overviews.activity(c.var.tenant, family, page(c), c.req.valid("query"))),
		)
		.get(
			"/exports_unsubscribe_configs",
			paginatedAs(Plugin, PluginConfig, {
				id: `list${id}ExportConfigs`,
				summary: `List the enabled configs of ${many} that export`,
				description: `Lists the enabled configs, in projects that you can see, of those ${many} that send events elsewhere, newest first, with the fields of the first one's plugin (null if there are none).`,
			}),
			async (c) => c.json(await overviews.exportConfigs(c.var.tenant, family, page(c))),
		)
		.get(
			"/repository",
			paginatedAs(Plugin, RepositoryEntry, {
				id: `list${id}Repository`,
				summary: "List the plugins that can be installed",
				description:
					"Lists the entries of the plugin repository, which is the same for all families, in its own order. The fields of the plugin are those of the first entry, if the organization has installed it, and null otherwise. 400 if the repository doesn't return a list within five seconds.",
			}),
			async (c) => c.json(await overviews.listRepository(c.var.tenant, page(c))),
		)
		.get(
			"/unused",
			paginatedAs(Plugin, Plugin, {
				id: `listUnused${id}s`,
				summary: `List the unused ${many}`,
				description: `Lists the ${many} that the organization can see and has no enabled config of, newest first, with the fields of the first one (null if there are none).`,
			}),
			async (c) => c.json(await overviews.unused(c.var.tenant, family, page(c))),
		)
		.get(
			"/:id/check_for_updates",
			ok(PluginUpdate, {
				id: `check${id}ForUpdates`,
				summary: `Check ${one} for updates`,
				description:
					"Asks npm, GitHub or GitLab for the newest version at the plugin's URL, stores it as `latest_tag`, and returns the plugin. Plugins of other organizations and plugins without a URL aren't checked: the response has the stored version. 400 if the URL doesn't exist or doesn't respond within ten seconds.",
			}),
			async (c) => c.json(await plugins.checkForUpdates(c.var.tenant, c.req.param("id"))),
		)
		.post(
			"/:id/upgrade",
			ok(Plugin, {
				id: `upgrade${id}`,
				summary: `Upgrade ${one}`,
				description: `Installs the plugin from its URL again: the newest version, unless the URL names one. With \`url\` in the body, installs that version of the same package or repository, and changes the plugin's URL to it. Replaces the installed version, and keeps configs. Returns the plugin. A plugin of type \`source\` or \`local\`, or without a URL, doesn't change.

400 for the same reasons as when installing, and if \`url\` is of another package or repository, or of a plugin that is already installed. 403 for another organization's plugin. Upgrading ${SECRETS}.`,
			}),
			body(upgrade, plugins.findOwnCode),
			async (c) =>
				c.json(
					await plugins.upgrade(c.var.tenant, family, c.req.param("id"), c.req.valid("json").url),
				),
		)
		.get(
			"/:id/source",
			ok(PluginSource, {
				id: `get${id}Source`,
				summary: `Retrieve the source of ${one}`,
				description:
					"Returns the plugin and the text of its files, whichever organization the plugin belongs to.",
			}),
			async (c) => c.json(await source.find(c.var.tenant, c.req.param("id"))),
		)
		.patch(
			"/:id/update_source",
			ok(PluginSource, {
				id: `update${id}Source`,
				summary: `Write the source of ${one}`,
				description: `The body has the text of each file by its name, for at most 50 files. Null deletes a file. Other files don't change. Returns the plugin and all its files.

\`plugin.json\` also sets \`name\`, and \`config_schema\` from its \`config\`. The main file, \`index.ts\` or else \`index.js\`, also sets \`capabilities\`, unless it can't be parsed. It is compiled immediately, as are \`site.ts\` and \`frontend.tsx\`. A compile error doesn't fail the request, but is in \`errors\`. If the main file doesn't compile, the plugin's jobs fail with that error.

400 if the plugin's type isn't \`source\`, \`plugin.json\` is invalid, or the source has more than 1 MiB in all. 403 for another organization's plugin. Writing ${SECRETS}.`,
			}),
			body(files, source.findEditable),
			async (c) =>
				c.json(await source.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.get(
			"/:id",
			ok(Plugin, {
				id: `get${id}`,
				summary: `Retrieve ${one}`,
				description: "Returns the plugin. 404 if the organization can't see it.",
			}),
			async (c) => c.json(await plugins.find(c.var.tenant, c.req.param("id"))),
		)
		.patch(
			"/:id",
			ok(Plugin, {
				id: `update${id}`,
				summary: `Change ${one}`,
				description: `Fields that aren't in the body don't change. Returns the plugin. Values of configs that a new \`config_schema\` makes secret are masked immediately.

403 for another organization's plugin, and if the body has \`is_global\` and the \`plugins_access_level\` is below 9. Changing \`capabilities\` or \`public_jobs\` ${SECRETS}.`,
			}),
			body(update, plugins.findOwn),
			async (c) =>
				c.json(await plugins.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
		)
		.delete(
			"/:id",
			noContent({
				id: `delete${id}`,
				summary: `Delete ${one}`,
				description:
					"Uninstalls the plugin: deletes it with its source, and its configs with their logs and storage. It can be restored for 30 days. 400 if it is global, or another organization has a config of it that isn't deleted. 403 for another organization's plugin.",
			}),
			async (c) => {
				await plugins.remove(c.var.tenant, c.req.param("id"));
				return c.body(null, 204);
			},
		);

export const destinations = () =>
	familyRoutes(destination, {
		id: "Destination",
		one: "a destination",
		many: "destinations",
		section: "Pipeline destinations",
		which:
			"Plugins that send events elsewhere: those with a method `onEvent`, `exportEvents` or `composeWebhook`.",
	});

export const frontendApps = () =>
	familyRoutes(frontendApp, {
		id: "FrontendApp",
		one: "a frontend app",
		many: "frontend apps",
		section: "Pipeline frontend apps",
		which: "Plugins that run in the browser: those with neither methods nor scheduled tasks.",
	});

export const importApps = () =>
	familyRoutes(importApp, {
		id: "ImportApp",
		one: "an import app",
		many: "import apps",
		section: "Pipeline import apps",
		which:
			"Plugins that bring events in: those with scheduled tasks, or with methods but none of `onEvent`, `exportEvents`, `composeWebhook` and `processEvent`.",
	});
