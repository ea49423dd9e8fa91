import type { Context } from "hono";
import type { App } from "../env.ts";

/*
 * The resources of apps' tokens (RFC 8707): a token that an app sends to one resource must not
 * work at another. Other keys work everywhere.
 */

/** The resources: the first part of their paths. */
export const AUDIENCES = ["api", "mcp"] as const;

export type Audience = (typeof AUDIENCES)[number];

/** The requests of the MCP server to the API, which have the token of its own request. */
const ofMcp = new WeakSet<Request>();

/** Marks a request to the API as part of a request to `/mcp`. */
export function asPartOfMcp(request: Request) {
	ofMcp.add(request);
	return request;
}

/** Returns the resource that a request is for; undefined for paths that are part of none. */
export function audienceOf({ req }: Context<App>): Audience | undefined {
	const [, first] = req.path.split("/");
	return ofMcp.has(req.raw) ? "mcp" : AUDIENCES.find((audience) => audience === first);
}
