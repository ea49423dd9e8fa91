/** THE PAGE TABLE: every page of the console. A page is loaded when it is first opened. */
import { lazy } from "./lazy.tsx";

type Pages = readonly (readonly [path: string, page: ReturnType<typeof lazy>])[];

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages: Pages = [
	["/members", lazy(() => import("./pages/members/members.tsx"))],
	["/members/invites", lazy(() => import("./pages/members/invites.tsx"))],
	["/members/invite", lazy(() => import("./pages/members/invite.tsx"))],
	["/domains", lazy(() => import("./pages/domains/domains.tsx"))],
	["/domains/:domain", lazy(() => import("./pages/domains/domain.tsx"))],
	["/projects", lazy(() => import("./pages/projects/projects.tsx"))],
	["/projects/:project", lazy(() => import("./pages/projects/project.tsx"))],
	["/service_accounts", lazy(() => import("./pages/keys/accounts.tsx"))],
	["/service_accounts/:account/*", lazy(() => import("./pages/keys/account.tsx"))],
	["/webhooks", lazy(() => import("./pages/events/webhooks.tsx"))],
	["/webhooks/new", lazy(() => import("./pages/events/new_webhook.tsx"))],
	["/webhooks/:id", lazy(() => import("./pages/events/webhook.tsx"))],
];

/** Pages of the signed-in user. Their paths are compared before those of organizations. */
export const ownPages: Pages = [
	["/console/account", lazy(() => import("./pages/sign_in/account.tsx"))],
	["/console/keys", lazy(() => import("./pages/keys/own_keys.tsx"))],
	["/console/keys/new", lazy(() => import("./pages/keys/new_key.tsx"))],
	["/console/keys/:key", lazy(() => import("./pages/keys/key.tsx"))],
	["/console/keys/:key/edit", lazy(() => import("./pages/keys/edit_key.tsx"))],
];

/**
 * The menu of an organization: for each group the paths below it, and their words. A page that isn't in
 * the table yet has no row here.
 */
export const MENU: readonly (readonly [
	group: string,
	entries: readonly (readonly [path: string, words: string])[],
])[] = [
	[
		"Organization",
		[
			["members", "Members"],
			["projects", "Projects"],
			["domains", "Domains"],
		],
	],
	["Pipeline", []],
	[
		"Security",
		[
			["service_accounts", "Service accounts"],
			["webhooks", "Webhooks"],
		],
	],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [
	["/console/account", "Account"],
	["/console/keys", "API keys"],
];
