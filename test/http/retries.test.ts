import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { deleteExpiredKeys } from "../../src/access/idempotency.ts";
import { digest } from "../../src/auth/keys.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { idempotencyKeys } from "../../src/db/schema/idempotency_keys.ts";
import { identities } from "../../src/db/schema/identities.ts";
import { passkeys } from "../../src/db/schema/passkeys.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { signInStates } from "../../src/db/schema/sign_in.ts";
import { users } from "../../src/db/schema/users.ts";
import { send as sendForm } from "../accounts/oauth/support.ts";
import { verify } from "../accounts/sign_in/support.ts";
import { newAuthenticator } from "../support/authenticator.ts";
import { address, guarded, subject } from "../support/routes.ts";
import { eventually, stopClock } from "../support/time.ts";
import { codeOf } from "../support/totp.ts";
import {
	call,
	cost,
	db,
	furnished,
	join,
	keyFor,
	person,
	withBatch,
	world,
} from "../support/world.ts";

const SOON = "2999-01-01T00:00:00.000Z";

type Home = Awaited<ReturnType<typeof furnished>>;
type Options = NonNullable<Parameters<typeof call>[2]>;

type Route = (typeof guarded)[number];

const posts = guarded.filter(({ method }) => method === "POST");

/** Sends a POST with an Idempotency-Key. */
const post = (home: Pick<Home, "ask">, path: string, key: string, options: Options = {}) =>
	home.ask("POST", path, {
		...options,
		headers: { "idempotency-key": key, ...options.headers },
	});

/** Repeats a request until its first response has been kept. */
const replayed = (send: () => ReturnType<typeof call>) =>
	eventually(async () => {
		const response = await send();
		expect(response.headers.get("idempotency-replayed")).toBe("true");
		return response;
	});

const entriesOf = ({ owner }: Pick<Home, "owner">) =>
	db.select().from(activityLog).where(eq(activityLog.user_id, owner.id));

const rowsOf = ({ owner }: Pick<Home, "owner">) =>
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
const expireLease = ({ owner }: { owner: { id: number } }) =>
	db
		.update(idempotencyKeys)
		.set({ lease_expires_at: "2000-01-01T00:00:00.000Z" })
		.where(eq(idempotencyKeys.user_id, owner.id));

const TWO_FACTOR = "/api/users/@me/two_factor";

const PASSKEYS = "/api/users/@me/passkeys";

/** Makes a user one who has no factor yet, and who may register passkeys. */
async function withoutFactor({ owner }: Home) {
	await db.delete(passkeys).where(eq(passkeys.user_id, owner.id));
	await verify(owner);
}

/** A new passkey, which isn't registered yet. */
async function made(home: Home) {
	await withoutFactor(home);
	const { body } = await home.ask("POST", `${PASSKEYS}/begin`);
	return { name: "Laptop", credential: await (await newAuthenticator()).register(body) };
}

/** Registers the passkey of the path. Returns a recovery code. */
async function registered(home: Home) {
	const { body } = await home.ask("POST", PASSKEYS, { body: await made(home) });
	await db.update(passkeys).set({ id: home.passkey }).where(eq(passkeys.id, body.id));
	return { code: body.recovery_codes[0] };
}

/** Sets up a second factor. Returns a code of the app. */
async function begun(home: Home) {
	const { ask } = home;
	await withoutFactor(home);
	stopClock();
	return { code: await codeOf((await ask("POST", `${TWO_FACTOR}/begin`)).body.secret) };
}

/** Enables a second factor. Returns a recovery code. */
async function enabled(home: Home) {
	const { body } = await home.ask("POST", `${TWO_FACTOR}/confirm`, { body: await begun(home) });
	return { code: body.recovery_codes[0] };
}

/** Verifies the domain of the path. */
async function verifyDomain({ domain: id }: Home) {
	const verified_at = "2026-01-01T00:00:00.000Z";
	await db.update(domains).set({ verified_at }).where(eq(domains.id, id));
}

/** Keeps what the provider of the path's domain said about the owner. Returns the token for it. */
async function tested(home: Home) {
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
const PREPARED: Record<string, (home: Home, path: string) => Promise<unknown>> = {
	"/batch_exports/:id/unpause": async ({ batch_export }) => {
		await db.update(batchExports).set({ paused: true }).where(eq(batchExports.uuid, batch_export));
	},
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
	"/two_factor/begin": withoutFactor,
	"/two_factor/confirm": begun,
	"/two_factor/disable": enabled,
	"/two_factor/recovery_codes": enabled,
	"/passkeys/begin": withoutFactor,
	"/passkeys": made,
	"/passkeys/:id/remove": registered,
};

/**
 * Returns a tenant, and a function that sends a POST of the route, which has something to change.
 */
async function prepare(route: Route) {
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
async function sendKilled(send: (options: Options) => unknown) {
	const dying = killing();
	// It is answered only if it changed nothing.
	expect(await Promise.race([dying.written, send({ env: dying.env })])).toBeUndefined();
}

/**
 * POSTs that are always rejected: plugin configs have no migrations, and nobody has asked for what
 * would be previewed.
 */
const rejected = posts.filter(({ path }) => /\/(?:migrate|preview)$/.test(path));
const changing = posts.filter((route) => !rejected.includes(route));

describe.each(changing.map((route) => [route.path, route] as const))("POST %s", (_, route) => {
	let home: Home;
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

test.each(rejected.map(({ path }) => path))(
	"POST %s, which is rejected, leaves its Idempotency-Key free",
	async (path) => {
		const home = await furnished();
		const body = rejected.find((route) => route.path === path)?.body?.(home);
		for (let i = 0; i < 2; i++) {
			const response = await post(home, address(path, home), "a key", body ? { body } : {});
			expect([response.status, response.headers.has("idempotency-replayed")]).toEqual([400, false]);
			expect(await rowsOf(home)).toEqual([]);
		}
	},
);

const SESSION = {
	session: { method: "mail", connection: null, address: null, user_agent: null },
	expires_at: SOON,
};

const domainOf = () => ({ domain: `${crypto.randomUUID()}.example.com` });

describe("an Idempotency-Key", () => {
	test("of 20 requests at once changes one thing; the others get the same response or a 409", async () => {
		const home = await world();
		const body = domainOf();
		const path = `/api/organizations/${home.id}/domains`;
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => post(home, path, "race", { body })),
		);
		const first = answers.filter(
			({ status, headers }) => status === 201 && !headers.has("idempotency-replayed"),
		);
		expect(first).toHaveLength(1);
		for (const { status, headers, body } of answers.filter((answer) => answer !== first[0]))
			if (status === 201)
				expect([headers.get("idempotency-replayed"), body]).toEqual(["true", first[0]?.body]);
			else {
				expect([status, body.code]).toEqual([409, "idempotency_key_in_use"]);
				expect(headers.get("retry-after")).toBe("1");
			}
		expect((await home.ask("GET", path)).body.count).toBe(1);
		expect(await entriesOf(home)).toHaveLength(1);
		const again = await replayed(() => post(home, path, "race", { body }));
		expect(again.body).toEqual(first[0]?.body);
	});

	test("is rejected with another body or path", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/domains`;
		const body = domainOf();
		await post(home, path, "one", { body });
		await replayed(() => post(home, path, "one", { body }));
		for (const [at, other] of [
			[path, domainOf()],
			["/api/projects", body],
			[`${path}?x=1`, body],
		] as const) {
			const response = await post(home, at, "one", { body: { name: "x", ...other } });
			expect([response.status, response.body.type, response.body.code]).toEqual([
				400,
				"invalid_request",
				"idempotency_key_reused",
			]);
		}
		expect(await entriesOf(home)).toHaveLength(1);
		// A trailing slash is no other path.
		expect((await post(home, `${path}/`, "one", { body })).status).toBe(201);
	});

	test("of another user is another key; another key of the same user is the same caller", async () => {
		const home = await world();
		const member = await join(home.id, 8);
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) =>
			call("POST", path, { key, body: { name: "P" }, headers: { "idempotency-key": "k" } });
		const first = await send(home.key);
		const theirs = await send(member.key);
		expect(theirs.body.id).not.toBe(first.body.id);
		const second = await keyFor(home.owner.id);
		expect((await replayed(() => send(second))).body).toEqual(first.body);
	});

	test("does not let a revoked or narrower key see a response", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) =>
			call("POST", path, { key, body: { name: "P" }, headers: { "idempotency-key": "k" } });
		await send(home.key);
		await replayed(() => send(home.key));
		const narrow = await keyFor(home.owner.id, { scopes: ["project:read"] });
		expect((await send(narrow)).status).toBe(403);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.user_id, home.owner.id));
		expect((await send(home.key)).status).toBe(401);
	});

	test.each([
		{ scopes: ["personal_api_key:write"] },
		{ scoped_projects: true },
		{ expires_at: "2999-01-01T00:00:00.000Z" },
	])("does not show the value of a new key to one with less access: %j", async (access) => {
		const home = await world();
		const body = { label: "New", scopes: ["*"] };
		const send = (key: string) =>
			post({ ask: home.ask }, "/api/personal_api_keys", "k", { key, body });
		const { value } = (await send(home.key)).body;
		expect((await replayed(() => send(home.key))).body.value).toBe(value);
		const { scoped_projects, ...others } = { scoped_projects: false, ...access };
		const other = await keyFor(home.owner.id, {
			...others,
			...(scoped_projects && { scoped_projects: [home.project] }),
		});
		const answer = await send(other);
		expect(answer).toMatchObject({ status: 400, body: { code: "idempotency_key_reused" } });
		expect(JSON.stringify(answer.body)).not.toContain(value);
	});

	test.each([
		["after signing in again", SESSION, { ...SESSION, expires_at: "2999-01-02T00:00:00.000Z" }],
		["with a session instead of a key", {}, SESSION],
		["with a key that has more access", { scopes: ["project:write"], expires_at: SOON }, {}],
	])("gets the first response %s", async (_, first, second) => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = (key: string) => post(home, path, "k", { key, body: { name: "P" } });
		const { body } = await send(await keyFor(home.owner.id, first));
		const other = await keyFor(home.owner.id, second);
		expect((await replayed(() => send(other))).body).toEqual(body);
	});

	test("has 1 to 255 printable characters", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		for (const key of ["", "x".repeat(256), "a\tb"]) {
			const response = await post(home, path, key, { body: { name: "P" } });
			expect([key, response.status, response.body.code]).toEqual([key, 400, "invalid_input"]);
		}
		for (const key of ["x", "x".repeat(255), "a ~!"])
			expect((await post(home, path, key, { body: { name: "P" } })).status).toBe(201);
		const stranger = await world();
		expect((await post(stranger, path, "", { body: { name: "P" } })).status).toBe(403);
	});

	test("stays free after a rejection", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/domains`;
		const { domain } = domainOf();
		const [taken] = [domainOf()];
		await home.ask("POST", path, { body: taken });
		for (const body of [{}, { domain: "no domain" }, taken]) {
			expect((await post(home, path, "again", { body })).status).toBe(400);
			expect(await rowsOf(home)).toEqual([]);
		}
		expect((await post(home, path, "again", { body: { domain } })).status).toBe(201);
	});

	test("stays free when the change changed nothing, and is kept afterwards", async () => {
		const home = await world();
		await db.insert(personalApiKeys).values(
			Array.from({ length: 4 }, () => ({
				user_id: home.owner.id,
				label: "x",
				hash: v7(),
				mask_value: "",
				scopes: ["*"],
			})),
		);
		for (let i = 5; i < 25; i++) await keyFor(home.owner.id);
		const send = () =>
			post(home, "/api/personal_api_keys", "k", { body: { label: "One more", scopes: ["*"] } });
		expect((await send()).status).toBe(400);
		const [spare] = (await home.ask("GET", "/api/personal_api_keys?limit=1")).body.results;
		await home.ask("DELETE", `/api/personal_api_keys/${spare.id}`);
		expect((await send()).status).toBe(201);
	});

	test("is free again after a day, and its row is deleted", async () => {
		const home = await world();
		const path = `/api/organizations/${home.id}/projects`;
		const send = () => post(home, path, "old", { body: { name: "P" } });
		const first = await send();
		await replayed(send);
		const age = () =>
			db
				.update(idempotencyKeys)
				.set({ created_at: new Date(Date.now() - 86_400_001).toISOString() })
				.where(eq(idempotencyKeys.user_id, home.owner.id));
		await age();
		const second = await send();
		expect([second.status, second.headers.has("idempotency-replayed")]).toEqual([201, false]);
		expect(second.body.id).not.toBe(first.body.id);
		expect((await replayed(send)).body).toEqual(second.body);
		await age();
		await deleteExpiredKeys(env);
		expect(await rowsOf(home)).toEqual([]);
	});

	test("after a 5xx repeats nothing that was written", async () => {
		const home = await world();
		const send = (overrides?: Partial<Env>) =>
			post(home, "/api/personal_api_keys", "k", {
				body: { label: "New", scopes: ["*"] },
				...(overrides && { env: overrides }),
			});
		const put = () => {
			throw new Error("KV is down.");
		};
		const KEYS: KVNamespace = Object.assign(Object.create(env.KEYS), {
			get: env.KEYS.get.bind(env.KEYS),
			put,
		});
		vi.spyOn(console, "error").mockImplementation(() => {});
		// Tests accept no 500.
		await expect(send({ KEYS })).rejects.toThrow("→ 500");
		await eventually(async () =>
			expect((await send()).body).toMatchObject({ code: "outcome_unknown" }),
		);
		expect((await home.ask("GET", "/api/personal_api_keys")).body.count).toBe(2);
	});

	test("keeps secrets sealed", async () => {
		const home = await world();
		const { body } = await post(home, "/api/personal_api_keys", "k", {
			body: { label: "New", scopes: ["*"] },
		});
		const { body: invite } = await post(home, `/api/organizations/${home.id}/invites`, "i", {
			body: { target_email: `${v7()}@tenantry.test`, send_email: false },
		});
		expect(invite.accept_url).toMatch(/\/invites\/./);
		await eventually(async () => {
			const rows = await rowsOf(home);
			expect(rows.map(({ response }) => response?.startsWith("sealed:"))).toEqual([true, true]);
			const stored = JSON.stringify(rows);
			expect(stored).not.toContain(body.value);
			expect(stored).not.toContain(invite.accept_url.split("/").at(-1));
		});
	});

	test("is rejected where secrets can't be sealed, and nothing is written", async () => {
		const home = await world();
		const { status, body } = await post(home, "/api/projects", "k", {
			body: { name: "P" },
			env: { SECRETS_KEY: "" },
		});
		expect([status, body.detail]).toEqual([
			400,
			"Secrets can't be stored: SECRETS_KEY is not configured.",
		]);
		expect((await home.ask("GET", "/api/projects")).body.count).toBe(1);
	});

	test("that has If-Match, too, gets its own response again, and not that of the GET", async () => {
		const home = await furnished();
		const path = `/api/projects/${home.project}/plugin_configs/${home.config}`;
		const tag = (await home.ask("GET", path)).headers.get("etag") ?? "";
		const send = () =>
			post(home, `${path}/job`, "a job", {
				body: { job: { type: "go" } },
				headers: { "if-match": tag },
			});
		const first = await send();
		expect([first.status, first.body]).toEqual([200, null]);
		expect((await replayed(send)).body).toBeNull();
	});

	test("doesn't matter to a PATCH or a DELETE", async () => {
		const home = await furnished();
		const headers = { "idempotency-key": "" };
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		const patched = await home.ask("PATCH", path, { body: { saml_entity_id: "x" }, headers });
		expect(patched.status).toBe(200);
		expect((await home.ask("DELETE", path, { headers })).status).toBe(204);
		expect(await db.select().from(domains).where(eq(domains.id, home.domain))).toEqual([]);
	});
});

describe("accepting an invite with an API key and an Idempotency-Key", () => {
	const invited = async () => {
		const home = await world();
		const guest = await person();
		const { body } = await home.ask("POST", `/api/organizations/${home.id}/invites`, {
			body: { target_email: guest.email, send_email: false },
		});
		const path = `/api/invites/${body.accept_url.split("/").at(-1)}/accept`;
		const send = (options: Options = {}) =>
			call("POST", path, {
				key: guest.key,
				body: {},
				headers: { "idempotency-key": "join" },
				...options,
			});
		return { home, guest, path, send };
	};

	test("gets the first response when it is repeated", async () => {
		const { home, send } = await invited();
		const first = await send();
		expect([first.status, first.body.organization.id]).toEqual([200, home.id]);
		expect((await replayed(send)).body).toEqual(first.body);
	});

	test("is a 409 when it is repeated after it was killed after its change", async () => {
		const { home, guest, send } = await invited();
		await sendKilled(send);
		expect((await send()).body.code).toBe("idempotency_key_in_use");
		await expireLease({ owner: guest });
		expect((await send()).body.code).toBe("outcome_unknown");
		const { body } = await call("GET", "/api/users/@me", { key: guest.key });
		expect(body.organization.id).toBe(home.id);
	});

	test("ignores the Idempotency-Key without an API key", async () => {
		const home = await world();
		const { body } = await home.ask("POST", `/api/organizations/${home.id}/invites`, {
			body: { target_email: `${v7()}@tenantry.test`, send_email: false },
		});
		const path = `/api/invites/${body.accept_url.split("/").at(-1)}/accept`;
		const send = () => call("POST", path, { body: {}, headers: { "idempotency-key": "join" } });
		expect((await send()).status).toBe(200);
		expect((await send()).status).toBe(404);
	});
});
