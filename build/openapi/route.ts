/** A route in the document. */

import { objectPath } from "../../src/access/precondition.ts";
import type { Operation, Section } from "../../src/http/router.ts";

export type Route = {
	/** The operation id. */
	id: string;
	/** The method in upper case. */
	method: string;
	section: Section;
	/** The path of its family. */
	mount: string;
	/** The path below `mount`. */
	below: string;
	/** The whole path, in the form of the document. */
	path: string;
	operation: Operation;
	/** Whether the route needs no key. */
	open: boolean;
};

export const isBelowApi = ({ path }: Route) => path.startsWith("/api/");

/** Whether a route that isn't in a family requires a key. */
export const needsKey = (path: string) => path === "/api/sign_in/key";

/**
 * Whether the route accepts a key. Accepting an invite does, although it needs none. Signing in by
 * mail doesn't.
 */
export const takesKey = ({ open, path }: Pick<Route, "open" | "path">) =>
	!open || path.startsWith("/api/invites/") || needsKey(path);

/** Whether the route accepts `Idempotency-Key` (docs/api.md#safe-retries). */
export const isRetryable = (route: Route) =>
	route.method === "POST" && isBelowApi(route) && takesKey(route) && !needsKey(route.path);

/** Whether a successful response has a body. */
export const hasBody = ({ response, page, feed, media, file }: Operation) =>
	(response ?? page ?? feed ?? media ?? file) !== undefined;

/** Whether responses of the route have an `ETag` (docs/api.md#caching-and-conditional-requests). */
export const hasTag = (route: Route) =>
	route.method === "GET" && isBelowApi(route) && hasBody(route.operation);

/** Whether the route accepts `If-Match`, because it changes one object. */
export const takesIfMatch = ({ method, below, open }: Route) =>
	!open && method !== "GET" && objectPath(below, method === "PATCH") !== undefined;
