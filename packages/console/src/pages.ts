/** THE PAGE TABLE: every page of the console. A page is loaded when it is first opened. */
import type { ComponentType } from "preact";
import lazy from "preact-iso/lazy";

export const SignIn = lazy(() => import("./pages/sign_in/sign_in.tsx"));

/** Pages below `/console/:organization`. */
export const organizationPages: readonly (readonly [path: string, page: ComponentType])[] = [
	["/members", lazy(() => import("./pages/members/members.tsx"))],
	["/batch_exports", lazy(() => import("./pages/batch_exports/list.tsx"))],
	["/batch_exports/new", lazy(() => import("./pages/batch_exports/new.tsx"))],
	["/batch_exports/:id/runs/:run", lazy(() => import("./pages/batch_exports/run.tsx"))],
	["/batch_exports/:id/:tab?", lazy(() => import("./pages/batch_exports/export.tsx"))],
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
	["Pipeline", [["batch_exports", "Batch exports"]]],
	["Security", []],
];

/** The menu of the signed-in user. */
export const OWN_MENU: readonly (readonly [path: string, words: string])[] = [];
