import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../../env.ts";
import { newToken } from "../../keys/keys.ts";
import { consoleOf } from "../../outbound/console.ts";
import { expired, type Problem } from "./problems.ts";
import type { Started, Verified } from "./shape.ts";
import { redirectTo, storeState, takeState } from "./state.ts";

/* The test of a connection by an admin: a sign-in that signs nobody in. */

/** The state that the API keeps for the page that starts the test. */
const Planned = z.object({
	user_id: z.number(),
	domain_id: z.string(),
	organization: z.string(),
	connection: z.string(),
});

/**
 * Returns the test that a sign-in belongs to, which the API has planned (`?test=`); undefined if it
 * isn't a test.
 * @throws SignInError if the test is unknown, used, too old, or of another connection
 */
export async function testOf(c: Context<App>, connection: string): Promise<Started["test"]> {
	const token = c.req.query("test");
	if (token === undefined) return undefined;
	const planned = Planned.safeParse(await takeState(c, { kind: "test", token, fromAnySite: true }));
	if (!planned.success || planned.data.connection !== connection) throw expired();
	const { user_id, domain_id, organization } = planned.data;
	return { user_id, domain_id, organization };
}

type Result =
	| { who: Verified }
	| { problem: Problem; detail: string; claims: Verified["claims"] | undefined };

/** Ends a test: leads back to the console, which gets the result from the API. */
export async function endTest(c: Context<App>, { connection, test }: Started, result: Result) {
	const token = newToken();
	await storeState(c, { kind: "tested", token, data: { ...test, connection, ...result } });
	return redirectTo(
		c,
		`${consoleOf(test?.organization ?? "").domain(test?.domain_id ?? "")}#tested=${token}`,
	);
}
