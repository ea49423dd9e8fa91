import type { Context } from "hono";
import { addressOf } from "../../auth/addresses.ts";
import { networkOf } from "../../auth/ranges.ts";
import type { App } from "../../env.ts";
import { throttled } from "../../http/errors.ts";

/**
 * @param what is limited, in the plural
 * @throws 429 after ten requests of a network in a minute
 */
export async function limitNetwork(c: Context<App>, what: string) {
	const key = `${what} of ${networkOf(addressOf(c) ?? "unknown")}`;
	const { success } = await c.env.SIGN_INS.limit({ key });
	if (!success) throw throttled(60);
}
