/** THE PAGE TABLE: every page of the console. A page is loaded when it is first opened. */
import type { ComponentType } from "preact";
import lazy from "preact-iso/lazy";

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages: readonly (readonly [path: string, page: ComponentType])[] = [
	["/members", lazy(() => import("./pages/members/members.tsx"))],
	["/plugins", lazy(() => import("./pages/plugins/plugins.tsx"))],
	["/plugins/install", lazy(() => import("./pages/plugins/install.tsx"))],
	["/plugins/:plugin", lazy(() => import("./pages/plugins/plugin.tsx"))],
	["/plugins/:plugin/source", lazy(() => import("./pages/plugins/source.tsx"))],
	["/plugins/:plugin/activity", lazy(() => import("./pages/plugins/plugin_activity.tsx"))],
	["/plugin_configs", lazy(() => import("./pages/plugins/configs.tsx"))],
	["/plugin_configs/new", lazy(() => import("./pages/plugins/new_config.tsx"))],
	["/plugin_configs/:project/:config", lazy(() => import("./pages/plugins/config.tsx"))],
	["/plugin_configs/:project/:config/log", lazy(() => import("./pages/plugins/config_log.tsx"))],
	[
		"/plugin_configs/:project/:config/activity",
		lazy(() => import("./pages/plugins/config_activity.tsx")),
	],
];

/** Pages of the signed-in user. Their paths are compared before those of organizations. */
export const ownPages: readonly (readonly [path: string, page: ComponentType])[] = [];

/**
 * The menu of an organization: for each group the paths below it, and their words. A page that isn't in
 * the table yet has no row here.
 */
export const MENU: readonly (readonly [
	group: string,
	entries: readonly (readonly [path: string, words: string])[],
])[] = [
	["Organization", [["members", "Members"]]],
	[
		"Pipeline",
		[
			["plugins", "Plugins"],
			["plugin_configs", "Plugin configs"],
		],
	],
	["Security", []],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [];
