import type { Context } from "hono";
import type { App } from "../../env.ts";
import { isTooOften } from "../../keys/network_limits.ts";
import { fail } from "./finish.ts";
import { SignInError } from "./problems.ts";
import type { Started } from "./shape.ts";
import { redirectTo } from "./state.ts";
import { testOf } from "./trial.ts";

type Known = Pick<Started, "domain_id" | "organization_id">;

type Start<T extends Known> = {
	/** Its name, as in `identities`. */
	connection: string;
	/** Throws SignInError if the connection isn't set up. */
	find: () => Promise<T>;
	/** Stores what the sign-in remembers, and returns the URL at the provider. */
	begin: (found: T, started: Started) => Promise<string>;
};

/** Starts a sign-in, or the test of a connection (`?test=`): leads to the provider. */
export const start = <T extends Known>(c: Context<App>, how: Start<T>) =>
	lead(c, how).catch((error: unknown) => fail(c, error));

async function lead<T extends Known>(c: Context<App>, { connection, find, begin }: Start<T>) {
	await checkRate(c, "sign-ins");
	const test = await testOf(c, connection);
	const is_own = c.req.header("sec-fetch-site") === "same-origin";
	const unknown = { connection, domain_id: null, organization_id: null, is_own, test };
	return find().then(
		(found) => {
			const { domain_id, organization_id } = found;
			const started = { ...unknown, domain_id, organization_id };
			return begin(found, started).then(
				(url) => redirectTo(c, url),
				(error: unknown) => fail(c, error, started),
			);
		},
		(error: unknown) => fail(c, error, unknown),
	);
}

/** Throws SignInError if the caller's network has asked too often. */
export async function checkRate(c: Context<App>, what: "sign-ins" | "responses") {
	if (await isTooOften(c, what, 60))
		throw new SignInError("too_many_attempts", `Too many ${what} from this network.`);
}
