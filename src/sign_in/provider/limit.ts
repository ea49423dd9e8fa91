import type { Context } from "hono";
import type { App } from "../../env.ts";
import { isTooOften } from "../../keys/network_limits.ts";
import { SignInError } from "./problems.ts";

/** Throws SignInError if the caller's network has asked too often. */
export async function checkRate(c: Context<App>, what: "sign-ins" | "responses") {
	if (await isTooOften(c, what, 60))
		throw new SignInError("too_many_attempts", `Too many ${what} from this network.`);
}
