/** THE PAGE TABLE: all pages of the console. A page is loaded when it is first opened. */
import { lazy } from "./lazy.tsx";

type Pages = readonly (readonly [path: string, page: ReturnType<typeof lazy<object>>])[];

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

export const SignInAgain = lazy(() => import("./pages/sign_in/sign_in_again.tsx"));

export const Palette = lazy(() => import("./pages/palette.tsx"));

/** The pages of a service account and its keys. */
const ServiceAccount = lazy(() => import("./pages/keys/account.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages: Pages = [
	["/", lazy(() => import("./pages/overview/overview.tsx"))],
	["/members", lazy(() => import("./pages/members/members.tsx"))],
	["/members/invites", lazy(() => import("./pages/members/invites.tsx"))],
	["/members/invite", lazy(() => import("./pages/members/invite.tsx"))],
	["/members/roles", lazy(() => import("./pages/members/roles.tsx"))],
	["/members/roles/:role", lazy(() => import("./pages/members/role.tsx"))],
	["/members/review", lazy(() => import("./pages/members/review.tsx"))],
	["/access/:resource/:object", lazy(() => import("./pages/members/object_access.tsx"))],
	["/members/:member/:tab?", lazy(() => import("./pages/members/member.tsx"))],
	["/projects", lazy(() => import("./pages/projects/projects.tsx"))],
	["/projects/:project", lazy(() => import("./pages/projects/project.tsx"))],
	["/domains", lazy(() => import("./pages/domains/domains.tsx"))],
	["/domains/:domain/:tab?", lazy(() => import("./pages/domains/domain.tsx"))],
	["/notifications", lazy(() => import("./pages/events/notifications.tsx"))],
	["/settings", lazy(() => import("./pages/overview/settings.tsx"))],
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
	["/batch_exports", lazy(() => import("./pages/batch_exports/list.tsx"))],
	["/batch_exports/new", lazy(() => import("./pages/batch_exports/new.tsx"))],
	["/batch_exports/:id/runs/:run", lazy(() => import("./pages/batch_exports/run.tsx"))],
	["/batch_exports/:id/:tab?", lazy(() => import("./pages/batch_exports/export.tsx"))],
	["/service_accounts", lazy(() => import("./pages/keys/accounts.tsx"))],
	["/service_accounts/:account", ServiceAccount],
	["/service_accounts/:account/*", ServiceAccount],
	["/credentials", lazy(() => import("./pages/keys/credentials.tsx"))],
	["/apps", lazy(() => import("./pages/oauth/apps.tsx"))],
	["/webhooks", lazy(() => import("./pages/events/webhooks.tsx"))],
	["/webhooks/new", lazy(() => import("./pages/events/new_webhook.tsx"))],
	["/webhooks/:id/:tab?", lazy(() => import("./pages/events/webhook.tsx"))],
	["/activity", lazy(() => import("./pages/events/activity.tsx"))],
	["/activity/events", lazy(() => import("./pages/events/feed.tsx"))],
	["/audit_streams", lazy(() => import("./pages/events/audit_streams.tsx"))],
	["/audit_streams/new", lazy(() => import("./pages/events/new_audit_stream.tsx"))],
	["/audit_streams/:id", lazy(() => import("./pages/events/audit_stream.tsx"))],
];

/** Pages of the signed-in user. Their paths are matched before the paths of organizations. */
export const ownPages: Pages = [
	["/console/new", lazy(() => import("./pages/overview/new.tsx"))],
	["/console/oauth", lazy(() => import("./pages/oauth/consent.tsx"))],
	["/console/device", lazy(() => import("./pages/oauth/device.tsx"))],
	["/console/accept", lazy(() => import("./pages/sign_in/accept.tsx"))],
	["/console/account", lazy(() => import("./pages/sign_in/account.tsx"))],
	["/console/keys", lazy(() => import("./pages/keys/own_keys.tsx"))],
	["/console/keys/new", lazy(() => import("./pages/keys/new_key.tsx"))],
	["/console/keys/:key", lazy(() => import("./pages/keys/key.tsx"))],
	["/console/keys/:key/edit", lazy(() => import("./pages/keys/edit_key.tsx"))],
];
