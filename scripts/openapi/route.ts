/** What the document knows of a route. */
import type { Operation } from "../../src/http/router.ts";
import { isSettings, objectPath } from "../../src/tenant/precondition.ts";

export type Route = {
	/** The id of its operation. */
	id: string;
	/** In capitals. */
	method: string;
	/** The path of its family. */
	mount: string;
	/** Its path below `mount`. */
	below: string;
	/** The whole path, as the document writes it. */
	path: string;
	operation: Operation;
	/** Whether it needs no key. */
	open: boolean;
};

export const isBelowApi = ({ path }: Route) => path.startsWith("/api/");

/** Whether the route takes a key, which accepting an invite doesn't need; signing in takes none. */
export const takesKey = ({ open, path }: Pick<Route, "open" | "path">) =>
	!open || path.startsWith("/api/invites/");

/** Whether the route takes `Idempotency-Key` (docs/api.md#safe-retries). */
export const isRetryable = (route: Route) =>
	route.method === "POST" && isBelowApi(route) && takesKey(route);

/** Whether the route answers with an `ETag` (docs/api.md#caching-and-conditional-requests). */
export const hasTag = (route: Route) =>
	route.method === "GET" &&
	isBelowApi(route) &&
	(route.operation.answer ?? route.operation.media) !== undefined;

/** Whether the route changes one object, so that it takes `If-Match`. */
export const takesIfMatch = ({ method, below, open }: Route) =>
	!open &&
	method !== "GET" &&
	(objectPath(below) !== undefined || (method === "PATCH" && isSettings(below)));
