import type { Context } from "hono";
import { addressOf } from "../../auth/addresses.ts";
import { networkOf } from "../../auth/ranges.ts";
import type { App } from "../../env.ts";
import { SignInError } from "./problems.ts";

/** Whether the caller's network has asked too often: more than 60 times a minute. */
export async function isTooOften(c: Context<App>, what: string) {
	const network = networkOf(addressOf(c) ?? "unknown");
	const { success } = await c.env.AUTH_FAILURES.limit({ key: `${what} from ${network}` });
	return !success;
}

/** Throws SignInError if the caller's network has asked too often. */
export async function checkRate(c: Context<App>, what: "sign-ins" | "responses") {
	if (await isTooOften(c, what))
		throw new SignInError("too_many_attempts", `Too many ${what} from this network.`);
}
