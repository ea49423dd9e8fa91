import type { Context } from "hono";
import type { App } from "../env.ts";
import { throttled } from "./errors.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** Whether the request has been counted against the rate limit of its key. */
		counts: true | undefined;
	}
}

/** The limit of `REQUESTS` in wrangler.toml, which can't be read from the binding. */
export const REQUESTS = { limit: 480, period: 60 };

/**
 * Counts a request against the rate limit of its key, and sets the headers about the limit: always
 * the policy, and the number of requests left only if it is zero (docs/api.md#rate-limits).
 * @returns the 429 if the key has sent too many requests
 */
export async function countRequest(c: Context<App>, key: string) {
	const { limit, period } = REQUESTS;
	const { success } = await c.env.REQUESTS.limit({ key });
	c.set("counts", true);
	c.header("RateLimit-Policy", `"requests";q=${limit};w=${period}`);
	if (success) return undefined;
	// The limiter doesn't say when the period began.
	c.header("RateLimit", `"requests";r=0;t=${period}`);
	return throttled(period);
}
