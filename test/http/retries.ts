import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { idempotencyKeys } from "../../src/db/schema/idempotency_keys.ts";
import { domains } from "../../src/db/schema/organizations.ts";
import { users } from "../../src/db/schema/people.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { identities, passkeys, signInStates, twoFactors } from "../../src/db/schema/sign_in.ts";
import { digest } from "../../src/keys/keys.ts";
import { send as sendForm } from "../oauth/support.ts";
import { verify } from "../sign_in/link/support.ts";
import { newAuthenticator } from "../support/authenticator.ts";
import { address, type Guarded, guarded, subject, type World } from "../support/routes.ts";
import { eventually, stopClock } from "../support/time.ts";
import { codeOf } from "../support/totp.ts";
import { type call, cost, db, furnished, withBatch } from "../support/world.ts";

export const SOON = "2999-01-01T00:00:00.000Z";

export type Options = NonNullable<Parameters<typeof call>[2]>;

/** Without restorations: in a furnished tenant, nothing was deleted (test/deletions/). */
const posts = guarded.filter(
	({ method, path }) => method === "POST" && !path.includes(":deleted_id"),
);

/** Sends a POST with an Idempotency-Key. */
export const post = (home: Pick<World, "ask">, path: string, key: string, options: Options = {}) =>
	home.ask("POST", path, {
		...options,
		headers: { "idempotency-key": key, ...options.headers },
	});

/** Repeats a request until its first response has been kept. */
export const replayed = (send: () => ReturnType<typeof call>) =>
	eventually(async () => {
		const response = await send();
		expect(response.headers.get("idempotency-replayed")).toBe("true");
		return response;
	});

export const entriesOf = ({ owner }: Pick<World, "owner">) =>
	db.select().from(activityLog).where(eq(activityLog.user_id, owner.id));

export const rowsOf = ({ owner }: Pick<World, "owner">) =>
	db.select().from(idempotencyKeys).where(eq(idempotencyKeys.user_id, owner.id));

/** The tests' D1, whose second batch is written, but never returns. */
function killing() {
	const { promise: written, resolve } = Promise.withResolvers<void>();
	let trips = 0;
	const env = withBatch(async (send) => {
		trips += 1;
		const results = await send();
		if (trips < 2) return results;
		resolve();
		return new Promise(() => {});
	});
	return { env, written };
}

/** Ends the lease of a request that was killed. */
export const expireLease = ({ owner }: { owner: { id: number } }) =>
	db
		.update(idempotencyKeys)
		.set({ lease_expires_at: "2000-01-01T00:00:00.000Z" })
		.where(eq(idempotencyKeys.user_id, owner.id));

const TWO_FACTOR = "/api/users/@me/two_factor";

const PASSKEYS = "/api/users/@me/passkeys";

/** Makes a user one who has no factor yet, and who may register passkeys. */
async function withoutFactor({ owner }: World) {
	await db.delete(passkeys).where(eq(passkeys.user_id, owner.id));
	await verify(owner);
}

/** A new passkey, which isn't registered yet. */
async function made(home: World) {
	await withoutFactor(home);
	const { body } = await home.ask("POST", `${PASSKEYS}/begin`);
	return { name: "Laptop", credential: await (await newAuthenticator()).register(body) };
}

/** Registers the passkey of the path. Returns a recovery code. */
async function registered(home: World) {
	const { body } = await home.ask("POST", PASSKEYS, { body: await made(home) });
	await db.update(passkeys).set({ id: home.passkey }).where(eq(passkeys.id, body.id));
	return { code: body.recovery_codes[0] };
}

/** Sets up a second factor. Returns a code of the app. */
async function begun(home: World) {
	const { ask } = home;
	await withoutFactor(home);
	stopClock();
	return { code: await codeOf((await ask("POST", `${TWO_FACTOR}/begin`)).body.secret) };
}

/** Enables a second factor. Returns a recovery code. */
async function enabled(home: World) {
	const { body } = await home.ask("POST", `${TWO_FACTOR}/confirm`, { body: await begun(home) });
	return { code: body.recovery_codes[0] };
}

/** Enables a second factor, also for the member of the path. Returns a recovery code. */
async function bothEnabled(home: World) {
	const given = await enabled(home);
	const [factor] = await db.select().from(twoFactors).where(eq(twoFactors.user_id, home.owner.id));
	const [member] = await db.select().from(users).where(eq(users.uuid, home.member));
	if (!factor || !member) throw new Error("There is no factor or no member.");
	await db.insert(twoFactors).values({ ...factor, user_id: member.id });
	return given;
}

/** Verifies the domain of the path. */
async function verifyDomain({ domain: id }: World) {
	const verified_at = "2026-01-01T00:00:00.000Z";
	await db.update(domains).set({ verified_at }).where(eq(domains.id, id));
}

/** Keeps what the provider of the path's domain said about the owner. Returns the token for it. */
async function tested(home: World) {
	const { domain: domain_id, owner } = home;
	await verifyDomain(home);
	const email = `ada@${domain_id}.example.com`;
	await db.update(users).set({ email }).where(eq(users.id, owner.id));
	const connection = `oidc:${domain_id}`;
	// The test would find another account of the owner at this provider.
	await db.delete(identities).where(eq(identities.connection, connection));
	const who = {
		connection,
		domain_id,
		subject: "ada",
		email,
		is_email_verified: true,
		first_name: "",
		last_name: "",
		has_factor: false,
		claims: {},
	};
	const token = v7();
	await db.insert(signInStates).values({
		hash: await digest(token),
		kind: "tested",
		data: { user_id: owner.id, domain_id, who },
		expires_at: SOON,
	});
	return { token };
}

/** A paused copy of the export of the path, which can continue it. */
async function duplicated({ batch_export }: World) {
	const [row] = await db.select().from(batchExports).where(eq(batchExports.uuid, batch_export));
	if (!row) throw new Error("There is no export.");
	const { id: _, ...copied } = row;
	const uuid = v7();
	const own = { uuid, name: "Copy", paused: true, runs: 0, backfills: 0 };
	await db.insert(batchExports).values({ ...copied, ...own });
	return { to: uuid };
}

/** What the command line asks for, and the person allows. */
const APP_REQUEST = {
	response_type: "code",
	client_id: "tenantry-cli",
	redirect_uri: "http://127.0.0.1/callback",
	code_challenge: "x".repeat(43),
	code_challenge_method: "S256",
};

const CHOICE = { scopes: ["project:read"] };

/** Starts a device that shows a code. */
async function withDevice() {
	const form = new URLSearchParams({ client_id: APP_REQUEST.client_id });
	const response = await sendForm("POST", "/oauth/device_authorization", form);
	const { user_code } = await response.json<{ user_code: string }>();
	return { user_code };
}

const PACKAGE = "https://www.npmjs.com/package/hello/v";

/**
 * POSTs that change nothing in a furnished tenant: creates what they change, and returns their
 * bodies.
 */
const PREPARED: Record<string, (home: World, path: string) => Promise<unknown>> = {
	"/batch_exports/:id/unpause": async ({ batch_export }) => {
		await db.update(batchExports).set({ paused: true }).where(eq(batchExports.uuid, batch_export));
	},
	"/batch_exports/:id/hand_over": duplicated,
	"/domains/:id/verify": async ({ domain: id }) => {
		const domain = "right.example.test";
		await db.delete(domains).where(eq(domains.domain, domain));
		const verification_challenge = "challenge-challenge-challenge-challenge-123";
		await db.update(domains).set({ domain, verification_challenge }).where(eq(domains.id, id));
	},
	"/:id/upgrade": async (home, path) => {
		const old = { plugin_type: "custom", url: `${PACKAGE}/1.0.0`, tag: "1.0.0" } as const;
		const its = eq(plugins.id, Number(subject(path, home)));
		await db.update(plugins).set(old).where(its);
		return { url: `${PACKAGE}/1.1.0` };
	},
	"/scim/tokens": verifyDomain,
	"/app_requests": async () => ({ ...APP_REQUEST, ...CHOICE }),
	"/device_requests": async () => ({ ...(await withDevice()), ...CHOICE }),
	"/device_requests/deny": withDevice,
	"/sign_in_test": async (home) => {
		await verifyDomain(home);
		return { method: "oidc" };
	},
	"/sign_in_test/complete": tested,
	"/members/remind_two_factor": withoutFactor,
	"/two_factor/begin": withoutFactor,
	"/two_factor/confirm": begun,
	"/two_factor/disable": enabled,
	"/two_factor/reset": bothEnabled,
	"/two_factor/recovery_codes": enabled,
	"/passkeys/begin": withoutFactor,
	"/passkeys": made,
	"/passkeys/:id/remove": registered,
};

/**
 * Returns a tenant, and a function that sends a POST of the route, which has something to change.
 */
async function prepare(route: Guarded) {
	const home = await furnished();
	const [, arrange] = Object.entries(PREPARED).find(([end]) => route.path.endsWith(end)) ?? [];
	const body = arrange ? await arrange(home, route.path) : route.body?.(home);
	const send = (options?: Options) =>
		post(home, address(route.path, home), "a key", {
			...(body !== undefined && { body }),
			...options,
		});
	return { home, send };
}

/** Sends a request whose process is killed after its change. */
export async function sendKilled(send: (options: Options) => unknown) {
	const dying = killing();
	// It is answered only if it changed nothing.
	expect(await Promise.race([dying.written, send({ env: dying.env })])).toBeUndefined();
}

/**
 * POSTs that are always rejected: plugin configs have no migrations, and nobody has asked for what
 * would be previewed.
 */
export const rejected = posts.filter(({ path }) => /\/(?:migrate|preview)$/.test(path));
export const changing = posts.filter((route) => !rejected.includes(route));

/** Tests that each POST is safe to repeat. */
export const testRetries = (routes: Guarded[]) =>
	describe.each(routes)("POST $path", (route) => {
		let home: World;
		let send: (options?: Options) => ReturnType<typeof call>;
		beforeEach(async () => {
			({ home, send } = await prepare(route));
		});

		test("that is repeated with its Idempotency-Key gets the first response, in one round trip, and changes nothing", async () => {
			const first = await send();
			expect(first.headers.has("idempotency-replayed")).toBe(false);
			expect(cost(first).trips).toBeLessThanOrEqual(2);
			const entries = await entriesOf(home);
			const again = await replayed(send);
			expect([again.status, again.body]).toEqual([first.status, first.body]);
			for (const name of ["content-type", "content-length", "link"])
				expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
			expect(cost(again).trips).toBe(1);
			expect(await entriesOf(home)).toEqual(entries);
		});

		test("that is killed after its change gets a 409 when it is repeated, and changes nothing again", async () => {
			await sendKilled(send);
			const entries = await entriesOf(home);
			const early = await send();
			expect([early.status, early.body.code]).toEqual([409, "idempotency_key_in_use"]);
			expect(early.headers.get("retry-after")).toBe("1");
			await expireLease(home);
			for (let i = 0; i < 2; i++) {
				const { status, body, headers } = await send();
				expect([status, body.code, headers.get("retry-after")]).toEqual([
					409,
					"outcome_unknown",
					null,
				]);
			}
			expect(await entriesOf(home)).toEqual(entries);
		});
	});
