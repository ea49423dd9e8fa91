import { env } from "cloudflare:workers";
import { desc, eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { idempotencyKeys } from "../../../src/db/schema/idempotency_keys.ts";
import { organizationId, organizations } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { recoveryCodes, twoFactors } from "../../../src/db/schema/sign_in.ts";
import { digest } from "../../../src/keys/keys.ts";
import { stopClock } from "../../support/time.ts";
import { codeOf, wrongCode } from "../../support/totp.ts";
import {
	call,
	cost,
	db,
	keyFor,
	person,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";
import { verify } from "../link/support.ts";

const PATH = "/api/users/@me/two_factor";

type Home = Awaited<ReturnType<typeof world>>;

const rejected = (attr: string | null, code: string) => ({ status: 400, body: { attr, code } });

beforeEach(() => stopClock());

/** Lets the app show the next code. */
const nextCode = () => vi.setSystemTime(Date.now() + 30_000);

const post = ({ ask }: Pick<Home, "ask">, action: string, code?: string, options: object = {}) =>
	ask("POST", `${PATH}/${action}`, { ...(code !== undefined && { body: { code } }), ...options });

/** A tenant whose owner has proved their email address. */
async function proved() {
	const home = await world();
	await verify(home.owner);
	return home;
}

/** A tenant whose owner has a second factor. */
async function enabled() {
	const home = await proved();
	const { secret } = (await post(home, "begin")).body;
	const { status, body } = await post(home, "confirm", await codeOf(secret));
	expect(status).toBe(200);
	nextCode();
	const codes: string[] = body.recovery_codes;
	return { ...home, secret, codes };
}

const rowOf = async ({ owner }: Pick<Home, "owner">) => {
	const [row] = await db.select().from(twoFactors).where(eq(twoFactors.user_id, owner.id));
	return row;
};

const enforce = ({ id }: Pick<Home, "id">) =>
	db.update(organizations).set({ enforce_2fa: true }).where(eq(organizations.uuid, id));

test("a person sets up a second factor with a code of the app, and sees the recovery codes once", async () => {
	const home = await proved();
	const none = {
		...{ is_enabled: false, enabled_at: null, passkeys: 0 },
		...{ is_required: false, recovery_codes_left: 0 },
	};
	expect(await home.ask("GET", PATH)).toMatchObject({ status: 200, body: none });
	const begun = await post(home, "begin");
	expect(cost(begun)).toMatchObject({ trips: 2, written: 4 });
	expect(begun.body).toEqual({
		secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
		otpauth_url: expect.any(String),
	});
	const url = new URL(begun.body.otpauth_url);
	expect(`${url.protocol}${url.host}`).toBe("otpauth:totp");
	expect(decodeURIComponent(url.pathname)).toBe(`/Tenantry:${home.owner.email}`);
	expect(Object.fromEntries(url.searchParams)).toMatchObject({
		issuer: "Tenantry",
		secret: begun.body.secret,
		period: "30",
		digits: "6",
	});
	expect((await home.ask("GET", PATH)).body).toEqual(none);
	const { body } = await post(home, "confirm", await codeOf(begun.body.secret));
	expect(body).toEqual({
		...none,
		...{ is_enabled: true, enabled_at: new Date().toISOString(), recovery_codes_left: 10 },
		recovery_codes: expect.any(Array),
	});
	expect(new Set(body.recovery_codes).size).toBe(10);
	for (const code of body.recovery_codes) expect(code).toMatch(/^[0-9a-z]{5}-[0-9a-z]{5}$/);
	const { recovery_codes: _, ...state } = body;
	expect((await home.ask("GET", PATH)).body).toEqual(state);
	const members = await home.here("GET", "/members");
	expect(members.body.results[0].is_2fa_enabled).toBe(true);
});

test("the secret is encrypted at rest, and recovery codes are stored as digests", async () => {
	const home = await enabled();
	const row = await rowOf(home);
	expect(row?.secret).toMatch(/^sealed:/);
	expect(row?.secret).not.toContain(home.secret);
	const stored = await db
		.select()
		.from(recoveryCodes)
		.where(eq(recoveryCodes.user_id, home.owner.id));
	expect(stored).toHaveLength(10);
	for (const { digest } of stored) expect(digest).toMatch(/^hmac:/);
});

test("beginning again replaces the secret, but not one that is enabled", async () => {
	const home = await proved();
	const first = (await post(home, "begin")).body.secret;
	const second = (await post(home, "begin")).body.secret;
	expect(await post(home, "confirm", await codeOf(first))).toMatchObject(
		rejected("code", "invalid_code"),
	);
	expect((await post(home, "confirm", await codeOf(second))).status).toBe(200);
	nextCode();
	for (const response of [
		await post(home, "begin"),
		await post(home, "confirm", await codeOf(second)),
	])
		expect(response).toMatchObject(rejected(null, "invalid_input"));
	expect((await post(home, "disable", await codeOf(second))).status).toBe(200);
});

test("a secret that is begun while another request enables the earlier one is rejected", async () => {
	const home = await proved();
	const { secret } = (await post(home, "begin")).body;
	const confirm = async () => {
		expect((await post(home, "confirm", await codeOf(secret))).status).toBe(200);
	};
	const late = await post(home, "begin", undefined, { env: racing(confirm) });
	expect(late).toMatchObject(rejected(null, "invalid_input"));
	nextCode();
	expect((await post(home, "disable", await codeOf(secret))).status).toBe(200);
});

test("one of several parallel confirmations enables the second factor, and its codes work", async () => {
	const home = await proved();
	const { secret } = (await post(home, "begin")).body;
	const code = await codeOf(secret);
	const answers = await Promise.all(Array.from({ length: 5 }, () => post(home, "confirm", code)));
	const [won, ...others] = answers.filter(({ status }) => status === 200);
	expect(others).toEqual([]);
	expect((await post(home, "disable", won?.body.recovery_codes[9])).status).toBe(200);
});

test("disabling takes a code, and removes the secret and the recovery codes", async () => {
	const home = await enabled();
	expect(await post(home, "disable", await wrongCode(home.secret))).toMatchObject(
		rejected("code", "invalid_code"),
	);
	expect(await post(home, "disable")).toMatchObject(rejected("code", "required"));
	const { status, body } = await post(home, "disable", await codeOf(home.secret));
	expect([status, body.is_enabled, body.recovery_codes_left]).toEqual([200, false, 0]);
	expect(await rowOf(home)).toBeUndefined();
	const [user] = await db.select().from(users).where(eq(users.id, home.owner.id));
	expect(user?.is_2fa_enabled).toBe(false);
	nextCode();
	for (const action of ["disable", "recovery_codes", "confirm"])
		expect(await post(home, action, await codeOf(home.secret))).toMatchObject(
			rejected(null, "invalid_input"),
		);
});

test("a code works once, and the next one after it", async () => {
	const home = await enabled();
	const code = await codeOf(home.secret);
	expect((await post(home, "recovery_codes", code)).status).toBe(200);
	expect(await post(home, "recovery_codes", code)).toMatchObject(rejected("code", "invalid_code"));
	expect(await post(home, "disable", code)).toMatchObject(rejected("code", "invalid_code"));
	nextCode();
	expect((await post(home, "disable", await codeOf(home.secret))).status).toBe(200);
});

test("of several parallel requests with one code, or one recovery code, one succeeds", async () => {
	for (const codeFor of [
		({ secret }: { secret: string }) => codeOf(secret),
		({ codes }: { codes: string[] }) => codes[0],
	]) {
		const home = await enabled();
		const code = await codeFor(home);
		const send = () => post(home, "recovery_codes", code);
		const answers = await Promise.all(Array.from({ length: 6 }, send));
		expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
	}
});

test("a clock may be one step off", async () => {
	const home = await enabled();
	vi.setSystemTime(Date.now() + 120_000);
	for (const [steps, status] of [
		[-2, 400],
		[2, 400],
		[-1, 200],
		[1, 200],
	] as const) {
		const code = await codeOf(home.secret, steps);
		expect([steps, (await post(home, "recovery_codes", code)).status]).toEqual([steps, status]);
	}
});

test("a recovery code works once, in place of a code, however it is typed, and only for its user", async () => {
	const home = await enabled();
	const [first = "", second = ""] = home.codes;
	const replaced = await post(home, "recovery_codes", first.toUpperCase().replace("-", " "));
	expect(replaced.status).toBe(200);
	expect(replaced.body.recovery_codes).not.toContain(second);
	const [others = ""] = (await enabled()).codes;
	for (const old of [first, second, others])
		expect(await post(home, "disable", old)).toMatchObject(rejected("code", "invalid_code"));
	expect((await post(home, "disable", replaced.body.recovery_codes[3])).status).toBe(200);
});

test("a user may send ten wrong codes an hour, also all at once, and right ones don't count", async () => {
	const home = await enabled();
	expect((await post(home, "recovery_codes", await codeOf(home.secret))).status).toBe(200);
	nextCode();
	const codes = await Promise.all(Array.from({ length: 30 }, (_, i) => wrongCode(home.secret, i)));
	const answers = await Promise.all(codes.map((code) => post(home, "disable", code)));
	const statuses = answers.map(({ status }) => status);
	expect(statuses.filter((status) => status === 400)).toHaveLength(10);
	expect(statuses.filter((status) => status === 429)).toHaveLength(20);
	const right = await post(home, "disable", await codeOf(home.secret));
	expect(right).toMatchObject({ status: 429, body: { code: "throttled" } });
	const wait = Number(right.headers.get("retry-after"));
	expect(wait).toBeGreaterThan(3_500);
	vi.setSystemTime(Date.now() + wait * 1000);
	expect((await post(home, "disable", await codeOf(home.secret))).status).toBe(200);
});

test("a key that was revoked, or lacks the scope, can't use up the codes of its owner", async () => {
	const home = await enabled();
	const narrow = await keyFor(home.owner.id, { scopes: ["user:read"] });
	await call("POST", `${PATH}/disable`, { key: narrow, body: { code: "000000" } });
	const revoked = await keyFor(home.owner.id);
	await call("GET", PATH, { key: revoked });
	// KV still has it.
	await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(revoked)));
	const late = await call("POST", `${PATH}/disable`, { key: revoked, body: { code: "000000" } });
	expect(late.status).toBe(401);
	expect((await rowOf(home))?.attempts).toBe(0);
});

test("it can't be disabled while an organization requires it, also if that begins meanwhile", async () => {
	const home = await enabled();
	const disable = async (options = {}) => post(home, "disable", await codeOf(home.secret), options);
	const raced = await disable({ env: racing(() => enforce(home)) });
	expect(raced).toMatchObject(rejected(null, "invalid_input"));
	nextCode();
	expect(await disable()).toMatchObject({
		status: 400,
		body: { detail: "An organization that you belong to requires a second factor." },
	});
	expect((await home.ask("GET", PATH)).body).toMatchObject({ is_enabled: true, is_required: true });
	await db.delete(members).where(eq(members.organization_id, organizationId(home.id)));
	nextCode();
	expect((await disable()).status).toBe(200);
});

test("none can be set up before the email address is proved, so nobody keeps its owner out", async () => {
	const home = await world();
	expect(await post(home, "begin")).toMatchObject(rejected(null, "verification_required"));
	await verify(home.owner);
	expect((await post(home, "begin")).status).toBe(200);
});

test("a person has no access to the second factor of others, and a service account has none", async () => {
	const home = await enabled();
	const other = await person();
	const account = await serviceAccount(home);
	const key = await keyFor(account.user_id, { scoped_organizations: [home.id] });
	const path = `/api/users/${home.owner.uuid}/two_factor`;
	const code = await codeOf(home.secret);
	for (const [method, below, body] of [
		["GET", ""],
		["POST", "/begin"],
		["POST", "/confirm", { code }],
		["POST", "/disable", { code }],
		["POST", "/recovery_codes", { code }],
		["POST", "/disable", {}],
	] as const) {
		expect((await call(method, path + below, { key: other.key, body })).status).toBe(404);
		if (body && !("code" in body)) continue;
		expect((await call(method, PATH + below, { key, body })).status).toBe(403);
	}
	expect((await home.ask("GET", path)).body.is_enabled).toBe(true);
});

test("each step is in the activity log, without secrets", async () => {
	const home = await enabled();
	await post(home, "recovery_codes", await codeOf(home.secret));
	nextCode();
	await post(home, "disable", await codeOf(home.secret));
	const { body } = await home.here("GET", "/activity_log?scope=TwoFactor");
	const entries: { activity: string; item_id: string }[] = body.results;
	expect(entries.map(({ activity }) => activity)).toEqual([
		"disabled",
		"recovery_codes_replaced",
		"enabled",
		"begun",
	]);
	for (const entry of entries) expect(entry.item_id).toBe(home.owner.uuid);
	const rows = await db.select().from(activityLog).orderBy(desc(activityLog.position)).limit(10);
	const text = JSON.stringify(rows);
	for (const secret of [home.secret, ...home.codes]) expect(text).not.toContain(secret);
});

test("with an Idempotency-Key, the secret and the recovery codes are repeated, and sealed at rest", async () => {
	const home = await proved();
	const once = () => ({ headers: { "idempotency-key": v7() } });
	const [one, two] = [once(), once()];
	const begun = await post(home, "begin", undefined, one);
	const code = await codeOf(begun.body.secret);
	const confirmed = await post(home, "confirm", code, two);
	expect((await post(home, "begin", undefined, one)).body).toEqual(begun.body);
	expect((await post(home, "confirm", code, two)).body).toEqual(confirmed.body);
	const rows = await db
		.select()
		.from(idempotencyKeys)
		.where(eq(idempotencyKeys.user_id, home.owner.id));
	expect(rows).toHaveLength(2);
	const kept = JSON.stringify(rows);
	for (const secret of [begun.body.secret, ...confirmed.body.recovery_codes])
		expect(kept).not.toContain(secret);
});

test("a request takes two round trips, and reading the state writes nothing", async () => {
	const home = await enabled();
	expect(cost(await home.ask("GET", PATH))).toMatchObject({ trips: 1, written: 0 });
	for (const action of ["recovery_codes", "disable"]) {
		expect(cost(await post(home, action, await codeOf(home.secret))).trips).toBe(2);
		nextCode();
	}
	expect(env.SECRETS_KEY).toBeDefined();
	expect(await post(home, "begin", undefined, { env: { SECRETS_KEY: "" } })).toMatchObject({
		status: 400,
		body: { detail: "Secrets can't be stored: SECRETS_KEY is not configured." },
	});
});
