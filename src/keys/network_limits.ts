import type { Context } from "hono";
import type { App } from "../env.ts";
import { throttled } from "../http/errors.ts";
import { addressOf } from "./addresses.ts";
import { networkOf } from "./ranges.ts";

/** The limiters, by the requests that they let through in a minute (wrangler.toml). */
const LIMITERS = { 10: "SIGN_INS", 60: "AUTH_FAILURES", 480: "REQUESTS" } as const;

type PerMinute = keyof typeof LIMITERS;

/**
 * Counts a request of the caller's network: an IPv4 address, or a /64 of IPv6 addresses. Returns
 * whether it is one too many.
 * @param what the requests that are counted together, in the plural
 */
export async function isTooOften(c: Context<App>, what: string, perMinute: PerMinute) {
	const network = networkOf(addressOf(c) ?? "unknown");
	const { success } = await c.env[LIMITERS[perMinute]].limit({ key: `${what} from ${network}` });
	return !success;
}

/** @throws 429 if `isTooOften` */
export async function limitNetwork(c: Context<App>, what: string, perMinute: PerMinute) {
	if (await isTooOften(c, what, perMinute)) throw throttled(60);
}
