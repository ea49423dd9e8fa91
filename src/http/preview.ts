import type { Context } from "hono";
import type { App } from "../env.ts";

const previews = new WeakSet<Request>();

/**
 * Marks a request as a preview for a language model (src/mcp/server/gateway.ts): it ends before its
 * handler, so it checks all that comes before, and changes nothing. Requests from outside are never
 * marked.
 */
export const markPreview = (request: Request) => previews.add(request);

export const isPreview = ({ req }: Context<App>) => previews.has(req.raw);
