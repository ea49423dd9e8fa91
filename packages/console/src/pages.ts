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
];

/** Pages of the signed-in user. Their paths are compared before those of organizations. */
export const ownPages: Pages = [];

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
	["Security", []],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [];
