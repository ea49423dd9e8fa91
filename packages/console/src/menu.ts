/** The menus: the pages that have a link in the sidebar, and in the palette. */
import {
	AppWindow,
	Bell,
	Blocks,
	Bot,
	FolderKanban,
	Globe,
	History,
	type IconNode,
	KeyRound,
	LayoutDashboard,
	Settings,
	ShieldCheck,
	SlidersHorizontal,
	Upload,
	User,
	Users,
	Webhook,
} from "lucide";

type Entry = readonly [path: string, words: string, icon: IconNode];

/** The menu of an organization: the pages of each group. */
export const MENU: readonly (readonly [group: string, entries: readonly Entry[]])[] = [
	[
		"Organization",
		[
			["", "Overview", LayoutDashboard],
			["members", "Members", Users],
			["projects", "Projects", FolderKanban],
			["domains", "Domains", Globe],
			["notifications", "Notifications", Bell],
			["settings", "Settings", Settings],
		],
	],
	[
		"Pipeline",
		[
			["plugins", "Plugins", Blocks],
			["plugin_configs", "Plugin configs", SlidersHorizontal],
			["batch_exports", "Batch exports", Upload],
		],
	],
	[
		"Security",
		[
			["service_accounts", "Service accounts", Bot],
			["apps", "Apps", AppWindow],
			["credentials", "Credentials", KeyRound],
			["webhooks", "Webhooks", Webhook],
			["activity", "Activity", History],
			["audit_streams", "Audit streams", ShieldCheck],
		],
	],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly Entry[] = [
	["/console/account", "Account", User],
	["/console/keys", "API keys", KeyRound],
];
