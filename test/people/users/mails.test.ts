import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { dateAndTime } from "../../../src/lib/dates.ts";
import { run } from "../../../src/operator/run.ts";
import {
	complete,
	cookieOf,
	enforce,
	linkFor,
	SESSION,
	setUp,
	verified,
	verify,
	withFactor,
} from "../../sign_in/link/support.ts";
import { outbox } from "../../support/mail.ts";
import { eventually, exhaust, stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import {
	call,
	db,
	join,
	keyFor,
	person,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";

const PATH = "/api/users/@me/two_factor";
const HOUR = 3_600_000;

beforeEach(() => stopClock());

const nextCode = () => vi.setSystemTime(Date.now() + 30_000);

/** Sends a request; the response and the mails. */
async function mailed(
	{ key }: { key: string },
	method: string,
	path: string,
	options: Parameters<typeof call>[2] = {},
) {
	const mails = outbox();
	const response = await call(method, path, {
		key,
		headers: { "cf-connecting-ip": "192.0.2.7" },
		...options,
		env: { ...mails.env, ...options.env },
	});
	return { ...response, mails: mails.take() };
}

const post = (user: { key: string }, action: string, code: string, options: object = {}) =>
	mailed(user, "POST", `${PATH}/${action}`, { body: { code }, ...options });

async function begin({ key }: { key: string }): Promise<string> {
	return (await call("POST", `${PATH}/begin`, { key })).body.secret;
}

/** A key of a session of the user. */
const session = ({ id }: { id: number }) =>
	keyFor(id, { ...SESSION, expires_at: new Date(Date.now() + HOUR).toISOString() });

const statusOf = async (key: string) => (await call("GET", "/api/users/@me", { key })).status;

const subjects = ({ mails }: { mails: { subject: string }[] }) =>
	mails.map(({ subject }) => subject);

const FACTOR = {
	setUp: "A second factor was set up for your Tenantry account",
	removed: "The second factor of your Tenantry account was removed",
	reset: "The second factor of your Tenantry account was reset",
	codes: "The recovery codes of your Tenantry account were replaced",
};

const keyWas = (action: string) => `An API key of your Tenantry account was ${action}`;

describe("a change of the second factor", () => {
	test("is mailed once each, with the time and the address but no secret; nothing else is", async () => {
		const user = await verified();
		const begun = await mailed(user, "POST", `${PATH}/begin`);
		expect(begun.mails).toEqual([]);
		const { secret } = begun.body;
		const confirmed = await post(user, "confirm", await codeOf(secret));
		expect(subjects(confirmed)).toEqual([FACTOR.setUp]);
		const [mail] = confirmed.mails;
		expect(mail?.to).toBe(user.email);
		expect(mail?.text).toContain(` on ${dateAndTime(new Date())}, from `);
		expect(mail?.text).toContain("192.0.2.7");
		expect(mail?.text).toContain("https://app.tenantry.test/console/account");
		nextCode();
		const replaced = await post(user, "recovery_codes", await codeOf(secret));
		expect(subjects(replaced)).toEqual([FACTOR.codes]);
		expect(subjects(await post(user, "disable", "000000"))).toEqual([]);
		expect((await mailed(user, "GET", PATH)).mails).toEqual([]);
		const codes: string[] = replaced.body.recovery_codes;
		const disabled = await post(user, "disable", codes[0] ?? "");
		expect(subjects(disabled)).toEqual([FACTOR.removed]);
		const text = JSON.stringify([confirmed.mails, replaced.mails, disabled.mails]);
		for (const each of [secret, user.key, ...codes, ...confirmed.body.recovery_codes])
			expect(text).not.toContain(each);
	});

	test("ends the other sessions of the user, but not the one that made it, other keys, or other users' sessions", async () => {
		const user = await verified();
		const [mine, other, stranger] = [
			await session(user),
			await session(user),
			await session(await person()),
		];
		const secret = await begin({ key: mine });
		expect([await statusOf(other), await statusOf(mine)]).toEqual([200, 200]);
		expect((await post({ key: mine }, "confirm", await codeOf(secret))).status).toBe(200);
		expect(await statusOf(other)).toBe(401);
		for (const key of [mine, user.key, stranger]) expect(await statusOf(key)).toBe(200);
		const another = await session(user);
		nextCode();
		expect((await post({ key: mine }, "recovery_codes", await codeOf(secret))).status).toBe(200);
		expect(await statusOf(another)).toBe(200);
		nextCode();
		// Made with a key that isn't a session's: all sessions end.
		expect((await post(user, "disable", await codeOf(secret))).status).toBe(200);
		for (const key of [mine, another]) expect(await statusOf(key)).toBe(401);
		for (const key of [user.key, stranger]) expect(await statusOf(key)).toBe(200);
	});

	test("logs each session that it ends, also one that begins while it is made", async () => {
		const home = await world();
		await verify(home.owner);
		await session(home.owner);
		const secret = await begin(home);
		let late = "";
		const signIn = async () => {
			late = await session(home.owner);
		};
		const logged = async () => (await home.here("GET", "/activity_log?activity=deleted")).body;
		const raced = await post(home, "confirm", await codeOf(secret), { env: racing(signIn) });
		expect(raced.status).toBe(200);
		expect(await statusOf(late)).toBe(401);
		expect(subjects(raced)).toEqual([FACTOR.setUp]);
		const entry = { scope: "Session", detail: { name: "Console", trigger: { job: "two_factor" } } };
		expect((await logged()).results).toMatchObject([entry, entry]);
		nextCode();
		const again = await post(home, "disable", await codeOf(secret), { env: racing(signIn) });
		expect(again.status).toBe(200);
		expect(await statusOf(late)).toBe(401);
		expect((await logged()).count).toBe(3);
	});

	test("when signing in is mailed, and ends the sessions from before", async () => {
		const home = await world();
		const member = await join(home.id, 1);
		await verify(member);
		const [before, own] = [await session(member), member.key];
		await enforce(home);
		const token = await linkFor(member);
		const { secret } = (await setUp({ token })).body;
		const mails = outbox();
		let late = "";
		const signIn = async () => {
			late = await session(member);
		};
		const completed = await complete(
			{ token, code: await codeOf(secret) },
			{ env: { ...racing(signIn), ...mails.env } },
		);
		expect(completed.status).toBe(200);
		const { value } = cookieOf(completed);
		expect(subjects({ mails: mails.take() })).toEqual([FACTOR.setUp]);
		for (const key of [before, late]) expect(await statusOf(key)).toBe(401);
		for (const key of [own, value]) expect(await statusOf(key)).toBe(200);
		// Signing in again ends no session, and isn't mailed.
		nextCode();
		const next = await complete(
			{ token: await linkFor(member), code: await codeOf(secret) },
			{ env: mails.env },
		);
		expect([next.status, mails.take()]).toEqual([200, []]);
		expect(await statusOf(value)).toBe(200);
	});

	test("by the operator is mailed, and ends all sessions", async () => {
		const user = await withFactor();
		const mine = await session(user);
		const mails = outbox();
		const operate = () =>
			run({ ...env, ...mails.env }, "user reset-two-factor", { email: user.email });
		expect(await operate()).toEqual({ result: { reset: user.email } });
		const [mail, ...others] = mails.take();
		expect([mail?.to, mail?.subject, others]).toEqual([user.email, FACTOR.reset, []]);
		expect(mail?.text).not.toContain("IP address");
		expect(await statusOf(mine)).toBe(401);
		expect(await statusOf(user.key)).toBe(200);
		await operate();
		expect(mails.take()).toEqual([]);
	});
});

describe("a change of the API keys", () => {
	const KEYS = "/api/personal_api_keys";

	test("is mailed if the key can change something: created, rolled, other access", async () => {
		const user = await verified();
		const body = { label: "Deploy", scopes: ["project:write"] };
		const created = await mailed(user, "POST", KEYS, { body });
		expect(subjects(created)).toEqual([keyWas("created")]);
		expect(created.mails[0]?.text).toContain('The key "Deploy" has the scopes project:write.');
		const path = `${KEYS}/${created.body.id}`;
		const patch = (body: object) => mailed(user, "PATCH", path, { body });
		expect((await patch({ label: "Other" })).mails).toEqual([]);
		expect((await patch({ scopes: ["project:write"] })).mails).toEqual([]);
		const widened = await patch({ scopes: ["*"] });
		expect(subjects(widened)).toEqual([keyWas("changed")]);
		expect(widened.mails[0]?.text).toContain("can do everything that you can do");
		const rolled = await mailed(user, "POST", `${path}/roll`);
		expect(subjects(rolled)).toEqual([keyWas("rolled")]);
		const text = JSON.stringify([created.mails, rolled.mails]);
		for (const { value } of [created.body, rolled.body]) expect(text).not.toContain(value);
		expect((await mailed(user, "DELETE", path)).mails).toEqual([]);
	});

	test("isn't mailed if the key only reads, is rejected, or is a service account's", async () => {
		const home = await world();
		await verify(home.owner);
		const body = { label: "Report", scopes: ["project:read", "activity_log:read"] };
		const { body: key, mails } = await mailed(home, "POST", KEYS, { body });
		expect(mails).toEqual([]);
		expect((await mailed(home, "POST", `${KEYS}/${key.id}/roll`)).mails).toEqual([]);
		const narrow = { key: await keyFor(home.owner.id, { scopes: ["personal_api_key:write"] }) };
		const wide = { label: "x", scopes: ["*"] };
		const rejected = await mailed(narrow, "POST", KEYS, { body: wide });
		expect([rejected.status, rejected.mails]).toEqual([403, []]);
		const account = await serviceAccount(home);
		const path = `/api/organizations/${home.id}/service_accounts/${account.id}/keys`;
		const created = await mailed(home, "POST", path, { body: wide });
		expect([created.status, created.mails]).toEqual([201, []]);
		const own = await mailed({ key: created.body.value }, "POST", `${KEYS}/@current/roll`);
		expect(own.mails).toEqual([]);
	});

	test("by the operator is mailed", async () => {
		const user = await verified();
		const mails = outbox();
		for (const scopes of [["*"], ["project:read"]])
			await run({ ...env, ...mails.env }, "key create", {
				email: user.email,
				label: "New",
				scopes,
			});
		expect(subjects({ mails: mails.take() })).toEqual([keyWas("created")]);
	});
});

test("without MAIL_FROM or APP_URL, or to an address that nobody has proved, no mail is sent", async () => {
	const [user, unproved] = [await verified(), await person()];
	const body = { label: "New", scopes: ["*"] };
	for (const [who, env] of [
		[user, { MAIL_FROM: "" }],
		[user, { APP_URL: "" }],
		[unproved, {}],
	] as const) {
		const made = await mailed(who, "POST", "/api/personal_api_keys", { body, env });
		expect([made.status, made.mails]).toEqual([201, []]);
	}
});

test("many changes in a minute are mailed ten times, without hiding changes of the other kind", async () => {
	const user = await verified();
	const secret = await begin(user);
	await eventually(async () => {
		await exhaust(env.SIGN_INS, `key of ${user.id}`);
		const made = await mailed(user, "POST", "/api/personal_api_keys/@current/roll");
		user.key = made.body.value;
		expect(made.mails).toEqual([]);
	});
	expect(subjects(await post(user, "confirm", await codeOf(secret)))).toEqual([FACTOR.setUp]);
});

test("the mail names the user, also if the name has control characters", async () => {
	const user = await verified();
	await db.update(users).set({ first_name: "Ada\r\nBcc" }).where(eq(users.id, user.id));
	const body = { label: "New", scopes: ["*"] };
	const { mails } = await mailed(user, "POST", "/api/personal_api_keys", { body });
	expect(mails[0]?.text).toMatch(/^Hello Ada Bcc,\n\n/);
});
