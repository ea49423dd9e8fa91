import type { Context } from "hono";
import type { Origin, UsedKey } from "../db/schema/origin.ts";
import type { App } from "../env.ts";
import { addressOf } from "../keys/addresses.ts";
import { clientOf } from "../lib/user_agent.ts";
import type { GuardRow } from "./guard.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** The key of the request, after its guard has run. */
		usedKey: UsedKey | undefined;
	}
}

/** Returns the key that the guard has found, as the log shows it. */
export const usedKeyOf = (
	id: string,
	{ key_label, is_session, client_id, is_service_account }: GuardRow,
): UsedKey => ({
	id,
	kind: is_session ? "session" : client_id && !is_service_account ? "app" : "api_key",
	// All sessions have the same label.
	label: is_session ? null : key_label,
});

/** Returns where Cloudflare locates the address of a request. */
const countryOf = (c: Context<App>) => {
	const country = c.req.raw.cf?.country;
	return typeof country === "string" ? country : null;
};

/** Returns with which key and from where a request was made, for its entries. */
export function originOf(c: Context<App>): Origin {
	const header = c.req.header("user-agent");
	return {
		key: c.get("usedKey") ?? null,
		request: {
			address: addressOf(c) ?? null,
			country: countryOf(c),
			user_agent: header === undefined ? null : clientOf(header.slice(0, 300)),
			request_id: c.get("requestId") ?? null,
		},
	};
}
