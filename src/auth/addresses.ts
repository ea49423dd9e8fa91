import type { Context } from "hono";
import type { App } from "../env.ts";
import { type ApiError, forbidden } from "../http/errors.ts";
import type { Key } from "./keys.ts";

/** The caller's address, as Cloudflare sees it; undefined where nothing sets the header. */
export const addressOf = (c: Context<App>) => c.req.header("cf-connecting-ip");

/** Whether a key with these ranges may be used from the address (docs/keys.md#allowed-addresses). */
export async function isAllowed(allowed_ips: string[], address: string | undefined) {
	if (allowed_ips.length === 0) return true;
	// Loaded only for keys that have ranges.
	const { includes } = await import("./ranges.ts");
	return address !== undefined && includes(allowed_ips, address);
}

/** The error if the key may not be used from the address; undefined if it may. */
export async function checkAddress(
	{ allowed_ips }: Pick<Key, "allowed_ips">,
	address: string | undefined,
): Promise<ApiError | undefined> {
	if (await isAllowed(allowed_ips, address)) return undefined;
	return forbidden(`API key can't be used from this address: ${address ?? "unknown"}.`);
}
