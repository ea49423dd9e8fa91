/** THE PAGE TABLE: every page of the console. A page is loaded when it is first opened. */
import type { ComponentType } from "preact";
import lazy from "preact-iso/lazy";

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages: readonly (readonly [path: string, page: ComponentType])[] = [
	["/members", lazy(() => import("./pages/members/members.tsx"))],
	["/webhooks", lazy(() => import("./pages/events/webhooks.tsx"))],
	["/webhooks/new", lazy(() => import("./pages/events/new_webhook.tsx"))],
	["/webhooks/:id", lazy(() => import("./pages/events/webhook.tsx"))],
	["/notifications", lazy(() => import("./pages/events/notifications.tsx"))],
	["/activity", lazy(() => import("./pages/events/activity.tsx"))],
	["/activity/events", lazy(() => import("./pages/events/feed.tsx"))],
	["/audit_streams", lazy(() => import("./pages/events/audit_streams.tsx"))],
	["/audit_streams/new", lazy(() => import("./pages/events/new_audit_stream.tsx"))],
	["/audit_streams/:id", lazy(() => import("./pages/events/audit_stream.tsx"))],
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
	[
		"Organization",
		[
			["members", "Members"],
			["webhooks", "Webhooks"],
			["notifications", "Notifications"],
		],
	],
	["Pipeline", []],
	[
		"Security",
		[
			["activity", "Activity"],
			["audit_streams", "Audit streams"],
		],
	],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [];
