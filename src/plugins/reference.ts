import { describe, type Reference } from "../http/reference.ts";
import type families from "./routes.ts";
import type { allPlugins } from "./routes.ts";
import { filters } from "./shape.ts";

const TAG = {
	name: "Plugins",
	description:
		"Plugins that are installed for an organization, those of all families together. Reading requires the organization's `plugins_access_level` to be at least 3, writing 6.",
};

export const ofAll: Reference<typeof allPlugins> = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listPlugins",
				summary: "List all plugins",
				description:
					"Lists the plugins that the organization can see, with the families that each belongs to, newest first.",
			},
		},
	},
};

type Family = Reference<ReturnType<typeof families>>;

/** What the operations of a family are called, and what makes a plugin one of it. */
type Nouns = { id: string; one: string; many: string; tag: string; which: string };

const family = ({ id, one, many, tag, which }: Nouns): Family => ({
	tag: {
		name: tag,
		description: `${which} An id may be that of a plugin of any family. Reading requires the organization's \`plugins_access_level\` to be at least 3, writing 6.`,
	},
	operations: {
		"/": {
			get: {
				id: `list${id}s`,
				summary: `List the ${many}`,
				description: `Lists the ${many} that the organization can see, newest first: its own, global ones, and those with a config in one of its projects.`,
			},
			post: {
				id: `create${id}`,
				summary: `Add a plugin to the ${many}`,
				description: `With a \`url\`, the plugin is installed from npm, GitHub or GitLab; without one, write its source afterwards. Without \`capabilities\`, it gets those of ${one}.`,
			},
		},
		"/activity": {
			get: {
				id: `list${id}Activity`,
				summary: `List the activity of the ${many}`,
				description: `Lists the changes of the ${many}, newest first, with the fields of the plugin that the first entry is about.`,
			},
		},
		"/exports_unsubscribe_configs": {
			get: {
				id: `list${id}ExportConfigs`,
				summary: `List the enabled configs of ${many} that export`,
				description: `Lists the enabled configs, in projects that you can see, of those ${many} that send events elsewhere, with the fields of the first one's plugin.`,
			},
		},
		"/repository": {
			get: {
				id: `list${id}Repository`,
				summary: "List the plugins that can be installed",
				description:
					"Lists the entries of the plugin repository, and whether each is installed. 400 if the repository doesn't answer.",
			},
		},
		"/unused": {
			get: {
				id: `listUnused${id}s`,
				summary: `List the unused ${many}`,
				description: `Lists the ${many} without an enabled config in the organization, with the fields of the first one.`,
			},
		},
		"/:id/check_for_updates": {
			get: {
				id: `check${id}ForUpdates`,
				summary: `Check ${one} for updates`,
				description:
					"Asks the place that the plugin was installed from for its newest version, and keeps it as `latest_tag`.",
			},
		},
		"/:id/upgrade": {
			post: {
				id: `upgrade${id}`,
				summary: `Upgrade ${one}`,
				description:
					"Installs the newest version from the plugin's URL; does nothing for a plugin that was written in place. Only admins may do so where a config of the plugin keeps a secret.",
			},
		},
		"/:id/source": {
			get: {
				id: `get${id}Source`,
				summary: `Retrieve the source of ${one}`,
				description: "Answers with the plugin and the text of its files.",
			},
		},
		"/:id/update_source": {
			patch: {
				id: `update${id}Source`,
				summary: `Write the source of ${one}`,
				description:
					"Writes the files in the body, and deletes those that are null; others stay. Its capabilities are read off the source. Only admins may do so where a config of the plugin keeps a secret.",
			},
		},
		"/:id": {
			get: {
				id: `get${id}`,
				summary: `Retrieve ${one}`,
				description: "Answers with the plugin.",
			},
			patch: {
				id: `update${id}`,
				summary: `Change ${one}`,
				description:
					"Only your organization's own plugins can be changed. `is_global` requires its `plugins_access_level` to be 9.",
			},
			delete: {
				id: `delete${id}`,
				summary: `Delete ${one}`,
				description:
					"Deletes the plugin with its source, configs and logs. Not while it is global, or while another organization has a config of it.",
			},
		},
	},
});

export const destinations = family({
	id: "Destination",
	one: "a destination",
	many: "destinations",
	tag: "Pipeline destinations",
	which: "Plugins that send events elsewhere.",
});

export const frontendApps = family({
	id: "FrontendApp",
	one: "a frontend app",
	many: "frontend apps",
	tag: "Pipeline frontend apps",
	which: "Plugins that run in the browser.",
});

export const importApps = family({
	id: "ImportApp",
	one: "an import app",
	many: "import apps",
	tag: "Pipeline import apps",
	which: "Plugins that bring events in.",
});

describe(filters, {
	search: "Only plugins whose name, description or URL contains this text, in any case.",
	family: "Only plugins of this family. May be repeated.",
});
