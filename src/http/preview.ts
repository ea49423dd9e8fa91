import type { Context } from "hono";
import type { App } from "../env.ts";

/** The requests of language models (src/mcp/server/gateway.ts), and whether each is a preview. */
const ofModels = new WeakMap<Request, { isPreview: boolean }>();

/**
 * Marks a request as one of a language model: unknown fields in its body are an error, because
 * models misspell them. A preview ends before its handler, so it checks all that comes before, and
 * changes nothing. Requests from outside are never marked.
 */
export const markModel = (request: Request, isPreview: boolean) =>
	ofModels.set(request, { isPreview });

export const isOfModel = ({ req }: Context<App>) => ofModels.has(req.raw);

export const isPreview = ({ req }: Context<App>) => ofModels.get(req.raw)?.isPreview === true;
