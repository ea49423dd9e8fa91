import type { Context } from "hono";
import type { App } from "../env.ts";
import { type ApiError, forbidden, throttled } from "../http/errors.ts";
import type { Key } from "./keys.ts";

/** Returns the caller's IP address from Cloudflare's header; undefined without the header. */
export const addressOf = (c: Context<App>) => c.req.header("cf-connecting-ip");

/** Whether ranges allow the IP address (docs/keys.md#allowed-addresses). */
export async function isAllowed(allowed_ips: string[], address: string | undefined) {
	if (allowed_ips.length === 0) return true;
	// Loaded only for keys with allowed ranges.
	const { includes } = await import("./ranges.ts");
	return address !== undefined && includes(allowed_ips, address);
}

/** Returns the error if the key can't be used from the IP address; undefined if it can. */
export async function checkAddress(
	{ allowed_ips }: Pick<Key, "allowed_ips">,
	address: string | undefined,
): Promise<ApiError | undefined> {
	if (await isAllowed(allowed_ips, address)) return undefined;
	return forbidden(`API key can't be used from this address: ${address ?? "unknown"}.`);
}

/**
 * Counts a failed authentication from the caller's network: an IPv4 address, or a /64 of IPv6
 * addresses. Returns `error`, or a 429 after too many failures.
 */
export async function countFailure(c: Context<App>, error: ApiError) {
	// Loaded only for failures.
	const { networkOf } = await import("./ranges.ts");
	const { success } = await c.env.AUTH_FAILURES.limit({
		key: networkOf(addressOf(c) ?? "unknown"),
	});
	return success ? error : throttled(60);
}
