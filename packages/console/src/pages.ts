/** THE PAGE TABLE: every page of the console. A page is loaded when it is first opened. */
import lazy from "preact-iso/lazy";

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages = [
	["/members", lazy(() => import("./pages/members/members.tsx"))],
] as const;

/** Pages of the signed-in user. Their paths are compared before those of organizations. */
export const ownPages: (readonly [path: string, page: () => never])[] = [];

/** The menu of an organization: for each group the paths below it, and their words. */
export const MENU: readonly (readonly [
	group: string,
	entries: readonly (readonly [path: string, words: string])[],
])[] = [["Organization", [["members", "Members"]]]];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [];
