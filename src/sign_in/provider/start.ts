import type { Context } from "hono";
import type { App } from "../../env.ts";
import { isTooOften } from "../../keys/network_limits.ts";
import { fail } from "./finish.ts";
import { SignInError } from "./problems.ts";
import type { Started } from "./shape.ts";
import { redirectTo } from "./state.ts";
import { testOf } from "./trial.ts";

type Owned = Pick<Started, "domain_id" | "organization_id">;

type Start<T extends Owned> = {
	/** Its name, as in `identities`. */
	connection: string;
	/** Throws SignInError if the connection isn't set up. */
	find: () => Promise<T>;
	/** Stores the state of the sign-in, and returns the URL at the provider. */
	requestUrl: (connection: T, started: Started) => Promise<string>;
};

/** Starts a sign-in, or the test of a connection (`?test=`): leads to the provider. */
export const start = <T extends Owned>(c: Context<App>, options: Start<T>) =>
	redirectToProvider(c, options).catch((error: unknown) => fail(c, error));

/** Throws SignInError if the caller's network has sent too many requests. */
export async function checkRate(c: Context<App>, requests: "sign-ins" | "responses") {
	if (await isTooOften(c, requests, 60))
		throw new SignInError("too_many_attempts", `Too many ${requests} from this network.`);
}

async function redirectToProvider<T extends Owned>(
	c: Context<App>,
	{ connection, find, requestUrl }: Start<T>,
) {
	await checkRate(c, "sign-ins");
	const test = await testOf(c, connection);
	const is_own = c.req.header("sec-fetch-site") === "same-origin";
	const attempt = { connection, domain_id: null, organization_id: null, is_own, test };
	return find().then(
		(settings) => {
			const { domain_id, organization_id } = settings;
			const started = { ...attempt, domain_id, organization_id };
			return requestUrl(settings, started).then(
				(url) => redirectTo(c, url),
				(error: unknown) => fail(c, error, started),
			);
		},
		(error: unknown) => fail(c, error, attempt),
	);
}
