import {
	createExecutionContext,
	createScheduledController,
	waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { and, eq, ne } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { signIns } from "../../../src/db/schema/sign_in.ts";
import { digest } from "../../../src/keys/keys.ts";
import worker from "../../../src/worker.ts";
import { outbox } from "../../support/mail.ts";
import { eventually, exhaust, stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import {
	call,
	cost,
	db,
	keyFor,
	person,
	racing,
	serviceAccount,
	times,
	world,
} from "../../support/world.ts";
import {
	ask,
	complete,
	cookieOf,
	expired,
	inDomain,
	keysOf,
	linkFor,
	linksOf,
	ofPage,
	SESSION,
	signIn,
	verified,
	verify,
	withFactor,
} from "./support.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

beforeEach(() => stopClock());

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

const deactivate = ({ id }: { id: number }) =>
	db.update(users).set({ is_active: false }).where(eq(users.id, id));

describe("asking for a link", () => {
	test("mails a link that starts a session, once; only the cookie has its value", async () => {
		const { owner, id } = await world();
		await verify(owner);
		const { mails } = await ask(`  ${owner.email.toUpperCase()} `);
		expect(mails).toHaveLength(1);
		expect(mails[0]).toMatchObject({ to: owner.email, subject: "Sign in to Tenantry" });
		expect(mails[0]?.text).toContain("https://app.tenantry.test/console/sign_in#token=");
		const token = /#token=([\w-]+)/.exec(mails[0]?.text ?? "")?.[1] ?? "";
		const headers = { "cf-connecting-ip": "192.0.2.7", "user-agent": "Browser/1" };
		const done = await complete({ token }, { headers });
		expect(done.status).toBe(200);
		expect(done.body).toEqual({
			user: expect.objectContaining({ id: owner.id, email: owner.email }),
			recovery_codes: null,
		});
		const { name, value, attributes } = cookieOf(done);
		expect([name, attributes.toSorted()]).toEqual([
			"__Host-tenantry",
			["HttpOnly", `Max-Age=${7 * 24 * 60 * 60}`, "Path=/", "SameSite=Lax", "Secure"],
		]);
		const record = await env.KEYS.get(`key:${await digest(value)}`, "json");
		expect(record).toMatchObject({ user_id: owner.id });
		expect(record).not.toHaveProperty("hash");
		const [row] = (await keysOf(owner)).filter(({ session }) => session);
		expect(row).toMatchObject({
			...{ label: "Console", scopes: ["*"], scoped_organizations: [] },
			expires_at: new Date(Date.now() + 12 * HOUR).toISOString(),
			session: {
				...{ method: "mail", connection: null },
				...{ address: "192.0.2.7", user_agent: "Browser/1" },
			},
		});
		const read = () => call("GET", `/api/organizations/${id}`, { headers: ofPage(value) });
		expect((await read()).status).toBe(200);
		expect(await complete({ token })).toMatchObject(expired);
		const ended = await call("POST", "/api/sign_in/end", { headers: ofPage(value) });
		expect([ended.status, cookieOf(ended)]).toMatchObject([
			204,
			{ name, value: "", attributes: expect.arrayContaining(["Max-Age=0", "Path=/", "Secure"]) },
		]);
		expect((await read()).status).toBe(401);
	});

	test("answers everybody alike, and mails only to people who can sign in", async () => {
		const home = await world();
		const account = await serviceAccount(home);
		const [off, many] = [await person(), await person()];
		await deactivate(off);
		for (let i = 0; i < 5; i++) await linkFor(many);
		const sso = await inDomain(home);
		await sso.enforceSso();
		const answers = [];
		for (const [email, mails] of [
			[home.owner.email, 1],
			["nobody@tenantry.test", 0],
			[off.email, 0],
			[many.email, 0],
			[sso.email, 1],
		] as const) {
			const headers = { "x-request-id": "the-same" };
			const response = await ask(email, { headers });
			expect([email, response.mails.length]).toEqual([email, mails]);
			answers.push([response.status, [...response.headers], response.body]);
		}
		expect(answers[0]?.[0]).toBe(202);
		for (const answer of answers) expect(answer).toEqual(answers[0]);
		// No request can name the address of a service account.
		expect(await ask(`${account.id}@service-account.invalid`)).toMatchObject({ status: 400 });
		expect(await linksOf({ id: account.user_id })).toEqual([]);
	});

	test("answers before anything that depends on the address happens", async () => {
		const { email } = await verified();
		const started = vi.fn();
		const gate = Promise.withResolvers<void>();
		const batch = async (statements: D1PreparedStatement[]) => {
			started();
			await gate.promise;
			return env.DB.batch(statements);
		};
		const prepare = (query: string) => env.DB.prepare(query);
		const DB: D1Database = Object.assign(Object.create(env.DB), { prepare, batch });
		const mails = outbox();
		const request = new Request("https://tenantry.test/api/sign_in", {
			method: "POST",
			headers: { "content-type": "application/json", "cf-connecting-ip": v7() },
			body: JSON.stringify({ email }),
		});
		const context = createExecutionContext();
		const response = await app.fetch(request, { ...env, ...mails.env, DB }, context);
		expect(response.status).toBe(202);
		expect(response.headers.get("server-timing")).toContain('d1_trips;desc="0"');
		await eventually(() => expect(started).toHaveBeenCalledOnce());
		expect(mails.sent).toEqual([]);
		gate.resolve();
		await waitOnExecutionContext(context);
		expect(mails.sent).toHaveLength(1);
	});

	/** Sends ten requests for the user's address at once; the mails. */
	const flood = async ({ email }: { email: string }) => {
		const sent = await Promise.all(Array.from({ length: 10 }, () => ask(email)));
		expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
		return sent.flatMap(({ mails }) => mails);
	};

	test("sends a user five mails, also if requests race, and then one whenever no link is open", async () => {
		const user = await verified();
		expect(await flood(user)).toHaveLength(5);
		pass(15 * MINUTE - 1);
		expect(await flood(user)).toEqual([]);
		pass(1);
		expect(await flood(user)).toHaveLength(1);
		pass(15 * MINUTE);
		expect(await flood(user)).toHaveLength(1);
		// The first five are an hour old.
		pass(30 * MINUTE);
		expect(await flood(user)).toHaveLength(3);
		// The limit of one user isn't that of another.
		expect((await ask((await verified()).email)).mails).toHaveLength(1);
	});

	test("sends another mail at once when the link was used, or five codes were tried with it", async () => {
		const user = await withFactor();
		await flood(user);
		const [first, ...others] = await linksOf(user);
		expect(others).toHaveLength(4);
		await db
			.update(signIns)
			.set({ attempts: 5 })
			.where(and(eq(signIns.user_id, user.id), ne(signIns.id, first?.id ?? "")));
		expect((await ask(user.email)).mails).toEqual([]);
		await db.update(signIns).set({ attempts: 5 }).where(eq(signIns.user_id, user.id));
		const token = await linkFor(user);
		expect((await ask(user.email)).mails).toEqual([]);
		expect((await complete({ token, code: await codeOf(user.secret) })).status).toBe(200);
		await linkFor(user);
	});

	test("sends five mails an hour that say to use single sign-on, because they have no link", async () => {
		const user = await inDomain(await world());
		await user.enforceSso();
		expect(await flood(user)).toHaveLength(5);
		pass(HOUR - 1);
		expect(await flood(user)).toEqual([]);
		pass(1);
		expect(await flood(user)).toHaveLength(5);
	});

	test("is limited by address, before the body is read", async () => {
		const address = v7();
		const headers = { "cf-connecting-ip": address };
		await eventually(async () => {
			await exhaust(env.SIGN_INS, `links from ${address}`);
			for (const email of ["nobody@tenantry.test", 7]) {
				const response = await ask(email, { headers });
				expect(response).toMatchObject({ status: 429, body: { code: "throttled" } });
				expect(response.headers.get("retry-after")).toBe("60");
			}
		});
		expect((await ask("nobody@tenantry.test")).status).toBe(202);
	});

	test("counts the addresses of an IPv6 network as one, but not those of others", async () => {
		const random = () => Math.floor(Math.random() * 2 ** 16).toString(16);
		const network = `2001:db8:${random()}:${random()}`;
		const from = (address: string) =>
			ask("nobody@tenantry.test", { headers: { "cf-connecting-ip": address } });
		await eventually(async () => {
			await exhaust(env.SIGN_INS, `links from ${network}::/64`);
			for (const address of [`${network}::1`, `${network}:1:2:3:4`.toUpperCase()])
				expect((await from(address)).status).toBe(429);
		});
		expect((await from(`2001:db8:${random()}:${random()}::1`)).status).toBe(202);
		expect((await from(`::ffff:192.0.2.${Math.floor(Math.random() * 256)}`)).status).toBe(202);
	});

	test.each([{ MAIL_FROM: "" }, { APP_URL: "" }])("fails without %o", async (missing) => {
		const { email } = await verified();
		for (const address of [email, "nobody@tenantry.test"])
			expect(await ask(address, { env: missing })).toMatchObject({
				status: 400,
				body: {
					code: "invalid_input",
					detail: "Signing in by mail is not configured: MAIL_FROM and APP_URL are not both set.",
				},
				mails: [],
			});
	});

	test("rejects what isn't an address", async () => {
		for (const email of ["x", "", null, 7, "a@b@c.test"])
			expect(await ask(email)).toMatchObject({ status: 400, body: { attr: "email" } });
	});

	test("logs neither the address nor the token if the database fails", async () => {
		const error = vi.spyOn(console, "error").mockImplementation(() => {});
		const { email } = await verified();
		const batch = () => Promise.reject(new Error(`Failed query with ${email}`));
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query),
			batch,
		});
		expect(await ask(email, { env: { DB } })).toMatchObject({ status: 202, mails: [] });
		expect(String(error.mock.calls)).toContain("A sign-in link was not created");
		expect(String(error.mock.calls)).not.toContain(email);
		error.mockRestore();
	});
});

describe("a link", () => {
	test("works for 15 minutes", async () => {
		const user = await verified();
		const [late, early] = [await linkFor(user), await linkFor(user)];
		pass(15 * MINUTE - 1);
		expect((await complete({ token: early })).status).toBe(200);
		expect(await complete({ token: late })).toMatchObject(expired);
		const other = await linkFor(await verified());
		pass(15 * MINUTE);
		expect(await complete({ token: other })).toMatchObject(expired);
	});

	test("stays valid when another one is asked for, until one is used", async () => {
		const user = await verified();
		const [first, second, third] = [await linkFor(user), await linkFor(user), await linkFor(user)];
		expect((await complete({ token: first })).status).toBe(200);
		for (const token of [second, third]) expect(await complete({ token })).toMatchObject(expired);
		expect((await complete({ token: await linkFor(user) })).status).toBe(200);
	});

	test("makes one key, however many requests race", async () => {
		const user = await verified();
		const token = await linkFor(user);
		const answers = await Promise.all(Array.from({ length: 10 }, () => complete({ token })));
		expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
		for (const answer of answers) if (answer.status !== 200) expect(answer).toMatchObject(expired);
		expect((await keysOf(user)).filter(({ label }) => label === "Console")).toHaveLength(1);
	});

	test("makes one key if two links of a user race", async () => {
		const user = await verified();
		const [one, other] = [await linkFor(user), await linkFor(user)];
		const winner = async () => {
			expect((await complete({ token: other })).status).toBe(200);
		};
		expect(await complete({ token: one }, { env: racing(winner) })).toMatchObject(expired);
		expect((await keysOf(user)).filter(({ label }) => label === "Console")).toHaveLength(1);
	});

	test("of a user who is deactivated or deleted meanwhile is rejected", async () => {
		const [off, gone, raced] = [await verified(), await verified(), await verified()];
		const tokens = [await linkFor(off), await linkFor(gone)];
		await deactivate(off);
		await db.delete(users).where(eq(users.id, gone.id));
		for (const token of tokens) expect(await complete({ token })).toMatchObject(expired);
		const token = await linkFor(raced);
		const answer = await complete({ token }, { env: racing(() => deactivate(raced)) });
		expect(answer).toMatchObject(expired);
		expect(await keysOf(raced)).toHaveLength(1);
	});

	test("that is unknown counts as a failed authentication of the address", async () => {
		const address = v7();
		await eventually(async () => {
			await exhaust(env.AUTH_FAILURES, address);
			const headers = { "cf-connecting-ip": address };
			const token = "x".repeat(43);
			expect((await complete({ token }, { headers })).status).toBe(429);
		});
		expect(await complete({ token: "x" })).toMatchObject(expired);
	});

	test("may be tried as often as a key", async () => {
		const user = await verified();
		const token = await linkFor(user);
		const [row] = await linksOf(user);
		await eventually(async () => {
			await exhaust(env.REQUESTS, row?.id ?? "");
			expect((await complete({ token })).status).toBe(429);
		});
	});

	test("is deleted by the schedule when it no longer counts against the limit of mails", async () => {
		const [old, young] = [await verified(), await verified()];
		await linkFor(old);
		pass(HOUR + 1);
		await linkFor(young);
		await worker.scheduled(createScheduledController({ cron: "* * * * *" }), env);
		expect(await linksOf(old)).toEqual([]);
		expect(await linksOf(young)).toHaveLength(1);
	});
});

describe("single sign-on", () => {
	test("is what the mail says if the address's domain enforces it, without a link", async () => {
		const user = await inDomain(await world());
		// A claim that isn't verified changes nothing.
		expect((await ask(user.email)).mails[0]?.text).toContain("#token=");
		await user.enforceSso();
		const { mails } = await ask(user.email);
		expect(mails).toHaveLength(1);
		expect(mails[0]?.text).toContain("requires single sign-on (SAML)");
		expect(mails[0]?.text).not.toContain("token");
		expect(mails[0]?.html).not.toContain("token");
		await db.update(domains).set({ sso_enforcement: "" }).where(eq(domains.domain, user.domain));
		expect((await ask(user.email)).mails[0]?.text).toContain("#token=");
	});

	test("rejects a link from before, and says why; also if it begins while signing in", async () => {
		const home = await world();
		const [before, during] = [await inDomain(home), await inDomain(home)];
		const reason = {
			status: 400,
			body: {
				code: "sso_required",
				attr: null,
				detail: "Your organization requires that you sign in through single sign-on (SAML).",
			},
		};
		const token = await linkFor(before);
		await before.enforceSso();
		expect(await complete({ token })).toMatchObject(reason);
		const begin = racing(() => during.enforceSso());
		expect(await complete({ token: await linkFor(during) }, { env: begin })).toMatchObject(reason);
		expect(await keysOf(during)).toHaveLength(1);
	});

	test("of a domain doesn't concern addresses below or beside it", async () => {
		const user = await inDomain(await world());
		await user.enforceSso();
		for (const domain of [`mail.${user.domain}`, `x${user.domain}`]) {
			const other = await verified();
			const email = `ada@${domain}`;
			await db.update(users).set({ email }).where(eq(users.id, other.id));
			expect((await ask(email)).mails[0]?.text).toContain("#token=");
		}
	});
});

describe("a session", () => {
	/** Adds sessions, which expire at `expires_at`. */
	const addSessions = (user_id: number, n: number, expires_at: string) =>
		times(n, () =>
			db.insert(personalApiKeys).values({
				...{ id: v7(), user_id, hash: v7(), mask_value: "tnt_…test", scopes: ["*"] },
				...{ ...SESSION, expires_at },
			}),
		);

	const later = () => new Date(Date.now() + HOUR).toISOString();

	test("replaces those that have expired", async () => {
		const user = await verified();
		const mine = { label: "Console", expires_at: new Date(Date.now() - 1).toISOString() };
		await keyFor(user.id, mine);
		await addSessions(user.id, 2, new Date(Date.now()).toISOString());
		await addSessions(user.id, 1, later());
		await signIn(user);
		// A key that the user has called Console stays.
		expect((await keysOf(user)).map(({ session }) => session !== null)).toEqual([
			false,
			false,
			true,
			true,
		]);
	});

	test("takes the place of the oldest of 25", async () => {
		const user = await verified();
		await addSessions(user.id, 25, later());
		const [key, , ...kept] = await keysOf(user);
		const { id } = await signIn(user);
		const ids = [key, ...kept].map((row) => row?.id);
		expect((await keysOf(user)).map((row) => row.id)).toEqual([...ids, id]);
	});

	test("is never the 26th, also if another is started meanwhile", async () => {
		const user = await verified();
		await addSessions(user.id, 24, later());
		const token = await linkFor(user);
		const start = () => addSessions(user.id, 1, later());
		expect((await complete({ token }, { env: racing(start) })).status).toBe(200);
		expect((await keysOf(user)).filter(({ session }) => session)).toHaveLength(25);
	});

	test("ends the one that the browser had before, and no key, also of somebody else", async () => {
		const home = await world();
		await verify(home.owner);
		const user = await verified();
		const before = await signIn(home.owner);
		const again = await signIn(home.owner, { headers: ofPage(before.value) });
		const theirs = async (one: { id: number }) =>
			(await keysOf(one)).filter(({ session }) => session).map(({ id }) => id);
		expect(await theirs(home.owner)).toEqual([again.id]);
		const next = await signIn(user, { headers: ofPage(again.value) });
		expect([await theirs(home.owner), await theirs(user)]).toEqual([[], [next.id]]);
		const { body } = await home.here("GET", "/activity_log?scope=Session&activity=deleted");
		expect(body.results).toMatchObject(
			[again, before].map(({ id }) => ({ item_id: id, user: { uuid: home.owner.uuid } })),
		);
		// A page of another origin ends nothing, and neither does a key in the cookie.
		await signIn(user, { headers: ofPage(home.key) });
		const cookie = { cookie: `__Host-tenantry=${next.value}` };
		await signIn(user, { headers: cookie });
		expect(await theirs(user)).toContain(next.id);
		expect((await home.ask("GET", "/api/users/@me")).status).toBe(200);
	});

	test("of whom it would be, a link says without being used", async () => {
		const { owner } = await world("North Ltd");
		await verify(owner);
		const token = await linkFor(owner);
		const preview = () => call("POST", "/api/sign_in/preview", { body: { token } });
		for (let i = 0; i < 2; i++) {
			const response = await preview();
			expect(response.body).toEqual({
				...{ email: owner.email, organization_name: "North Ltd" },
				loses_keys: false,
			});
			expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
		}
		expect((await complete({ token })).status).toBe(200);
		expect(await preview()).toMatchObject(expired);
	});

	test("isn't one of the user's API keys, and doesn't count as one of 25", async () => {
		const user = await verified();
		await times(23, () =>
			db.insert(personalApiKeys).values({
				...{ user_id: user.id, label: "Own", hash: v7(), mask_value: "tnt_…test", scopes: ["*"] },
			}),
		);
		const { id, value } = await signIn(user);
		const path = "/api/personal_api_keys";
		const headers = ofPage(value);
		const body = { label: "The 25th", scopes: ["*"] };
		expect((await call("POST", path, { headers, body })).status).toBe(201);
		expect((await call("POST", path, { headers, body })).status).toBe(400);
		const list = await call("GET", path, { headers });
		expect([list.body.count, list.body.results.length]).toEqual([25, 25]);
		expect(JSON.stringify(list.body)).not.toContain(id);
		for (const each of [`${path}/${id}`, `${path}/@current`]) {
			expect((await call("GET", each, { headers })).status).toBe(404);
			expect((await call("PATCH", each, { headers, body: { label: "X" } })).status).toBe(404);
			expect((await call("POST", `${each}/roll`, { headers })).status).toBe(404);
			expect((await call("DELETE", each, { headers })).status).toBe(404);
		}
		// With all 25 keys, signing in still works.
		await signIn(user);
	});

	test("is in the activity log with those that it replaced, without the token", async () => {
		const { owner, here } = await world();
		await verify(owner);
		await addSessions(owner.id, 1, new Date(Date.now()).toISOString());
		const token = await linkFor(owner);
		const links = JSON.stringify(await linksOf(owner));
		expect(links).toMatch(/"token_hash":"[0-9a-f]{64}"/);
		expect(links).not.toContain(token);
		const { value } = cookieOf(await complete({ token }));
		const [row] = (await keysOf(owner)).filter(({ session }) => session);
		const { body } = await here("GET", "/activity_log?scope=Session");
		expect(body.results).toMatchObject([
			{
				activity: "created",
				item_id: row?.id,
				user: { uuid: owner.uuid },
				detail: { name: "Console", trigger: { job: "sign_in" } },
			},
			{ activity: "deleted", detail: { name: "Console", trigger: { job: "expired" } } },
		]);
		const everything = JSON.stringify(await db.select().from(activityLog));
		for (const secret of [token, value]) expect(everything).not.toContain(secret);
	});

	test("can make keys that last longer than itself, unlike another key that expires", async () => {
		const user = await verified();
		const session = await signIn(user);
		const body = { label: "Lasting", scopes: ["*"] };
		const make = (options: { key?: string; headers?: Record<string, string> }) =>
			call("POST", "/api/personal_api_keys", { ...options, body });
		expect((await make({ headers: ofPage(session.value) })).status).toBe(201);
		const key = await keyFor(user.id, { expires_at: session.expires_at });
		expect((await make({ key })).status).toBe(403);
	});
});

describe("an address that nobody has proved", () => {
	test("is proved by signing in, which revokes the keys from before; the mail says so", async () => {
		const user = await person();
		const { mails } = await ask(user.email);
		expect(mails[0]?.text).toContain("revokes the API keys that were created before");
		const { body } = await complete({ token: await linkFor(user) });
		expect(body.user.is_email_verified).toBe(true);
		expect((await call("GET", "/api/users/@me", { key: user.key })).status).toBe(401);
		expect(await keysOf(user)).toMatchObject([{ session: { method: "mail" } }]);
		expect((await ask(user.email)).mails[0]?.text).not.toContain("revokes");
	});

	test("leaves no key that is made meanwhile", async () => {
		const user = await person();
		const token = await linkFor(user);
		const make = async () => {
			await keyFor(user.id);
		};
		expect((await complete({ token }, { env: racing(make) })).status).toBe(200);
		expect(await keysOf(user)).toMatchObject([{ session: { method: "mail" } }]);
	});
});

test("signing in takes two round trips, a rejection one", async () => {
	const token = await linkFor(await verified());
	expect(cost(await complete({ token })).trips).toBe(2);
	expect(cost(await complete({ token })).trips).toBe(1);
	expect(await db.select().from(signIns).where(eq(signIns.token_hash, token))).toEqual([]);
});
