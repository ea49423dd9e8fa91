import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { recoveryCodes, twoFactors } from "../../../src/db/schema/sign_in.ts";
import { eventually, stopClock } from "../../support/time.ts";
import { codeOf, wrongCode } from "../../support/totp.ts";
import { call, cost, db, join, racing, world } from "../../support/world.ts";
import {
	complete,
	cookieOf,
	enforce,
	expired,
	keysOf,
	linkFor,
	linksOf,
	rejected,
	setUp,
	verify,
	withFactor,
} from "./support.ts";

beforeEach(() => stopClock());

/** Lets the app show the next code. */
const nextCode = () => vi.setSystemTime(Date.now() + 30_000);

const codeRequired = rejected("two_factor_required", "code");
const setupRequired = rejected("two_factor_setup_required", "code");
const invalidCode = rejected("invalid_code", "code");

/** A member of an organization that requires a second factor. */
async function strict() {
	const home = await world();
	const member = await join(home.id, 1);
	await verify(member);
	await enforce(home);
	return { home, member };
}

const isSignedIn = ({ status }: { status: number }) => status === 200;

describe("somebody with a second factor", () => {
	test("needs a code; being asked for it doesn't use the link up", async () => {
		const user = await withFactor();
		const token = await linkFor(user);
		for (let i = 0; i < 7; i++) expect(await complete({ token })).toMatchObject(codeRequired);
		expect(await complete({ token, code: await wrongCode(user.secret) })).toMatchObject(
			invalidCode,
		);
		expect(await setUp({ token })).toMatchObject(codeRequired);
		const response = await complete({ token, code: await codeOf(user.secret) });
		expect(response).toMatchObject({ status: 200, body: { recovery_codes: null } });
		expect(cost(response).trips).toBe(2);
	});

	test("can't use a code twice, with whatever link", async () => {
		const user = await withFactor();
		const code = await codeOf(user.secret);
		expect((await complete({ token: await linkFor(user), code })).status).toBe(200);
		const token = await linkFor(user);
		expect(await complete({ token, code })).toMatchObject(invalidCode);
		nextCode();
		const old = await codeOf(user.secret, -1);
		expect(await complete({ token, code: old })).toMatchObject(invalidCode);
		expect((await complete({ token, code: await codeOf(user.secret) })).status).toBe(200);
	});

	test("can't use a code that another request uses at the same time", async () => {
		const user = await withFactor();
		const code = await codeOf(user.secret);
		const token = await linkFor(user);
		const disable = async () => {
			const path = "/api/users/@me/two_factor/recovery_codes";
			const used = await call("POST", path, { key: user.key, body: { code } });
			expect(used.status).toBe(200);
		};
		expect(await complete({ token, code }, { env: racing(disable) })).toMatchObject(invalidCode);
		expect(await keysOf(user)).toHaveLength(1);
	});

	test("can't guess the code with one link, also not in parallel", async () => {
		const user = await withFactor();
		const token = await linkFor(user);
		const codes = await Promise.all(
			Array.from({ length: 30 }, (_, i) => wrongCode(user.secret, i)),
		);
		const responses = await Promise.all(codes.map((code) => complete({ token, code })));
		const wrongOnes = responses.filter(({ body }) => body.code === "invalid_code");
		expect(wrongOnes).toHaveLength(5);
		for (const response of responses)
			if (!wrongOnes.includes(response)) expect(response).toMatchObject(expired);
		expect(await complete({ token, code: await codeOf(user.secret) })).toMatchObject(expired);
		expect(await complete({ token })).toMatchObject(expired);
	});

	test("can't guess the code with several links, also not in parallel", async () => {
		const user = await withFactor();
		const tokens = [await linkFor(user), await linkFor(user), await linkFor(user)];
		const guesses = await Promise.all(
			tokens.flatMap((token, i) =>
				Array.from({ length: 5 }, async (_, k) => ({
					token,
					code: await wrongCode(user.secret, 5 * i + k),
				})),
			),
		);
		const responses = await Promise.all(guesses.map((guess) => complete(guess)));
		const codes = responses.map(({ body }) => body.code);
		expect(codes.filter((code) => code === "invalid_code")).toHaveLength(10);
		expect(codes.filter((code) => code === "throttled")).toHaveLength(5);
		const right = { token: await linkFor(user), code: await codeOf(user.secret) };
		expect((await complete(right)).status).toBe(429);
		vi.setSystemTime(Date.now() + 3_600_000);
		const later = { token: await linkFor(user), code: await codeOf(user.secret) };
		expect((await complete(later)).status).toBe(200);
	});

	test("can use each recovery code once, also if two requests race", async () => {
		const user = await withFactor();
		const [code = "", other = ""] = user.codes;
		const tokens = [await linkFor(user), await linkFor(user), await linkFor(user)];
		const [first = "", second = "", third = ""] = tokens;
		const winner = async () => {
			expect((await complete({ token: second, code })).status).toBe(200);
		};
		const raced = await complete({ token: first, code }, { env: racing(winner) });
		// Its link has ended with the other one.
		expect(raced).toMatchObject(expired);
		expect(await complete({ token: third, code: other })).toMatchObject(expired);
		const next = await linkFor(user);
		expect(await complete({ token: next, code })).toMatchObject(invalidCode);
		expect((await complete({ token: next, code: other })).status).toBe(200);
		const left = await db.select().from(recoveryCodes).where(eq(recoveryCodes.user_id, user.id));
		expect(left).toHaveLength(8);
	});

	test("signs in without a code once it is disabled, which counts from then on", async () => {
		const user = await withFactor();
		const token = await linkFor(user);
		const path = "/api/users/@me/two_factor/disable";
		const body = { code: await codeOf(user.secret) };
		expect((await call("POST", path, { key: user.key, body })).status).toBe(200);
		expect((await complete({ token })).status).toBe(200);
	});

	test("that was enabled while signing in is asked for a code", async () => {
		const { home, member } = await strict();
		await enforce(home, false);
		const token = await linkFor(member);
		const path = "/api/users/@me/two_factor";
		const enable = async () => {
			const { body } = await call("POST", `${path}/begin`, { key: member.key });
			const code = await codeOf(body.secret);
			const response = await call("POST", `${path}/confirm`, { key: member.key, body: { code } });
			expect(response.status).toBe(200);
		};
		expect(await complete({ token }, { env: racing(enable) })).toMatchObject(codeRequired);
		expect(await keysOf(member)).toHaveLength(1);
	});
});

describe("a member of an organization with enforce_2fa", () => {
	test("sets up a second factor before the key is made", async () => {
		const { home, member } = await strict();
		const token = await linkFor(member);
		expect(await complete({ token })).toMatchObject(setupRequired);
		expect(await complete({ token, code: "123456" })).toMatchObject(setupRequired);
		const begun = await setUp({ token });
		expect(begun).toMatchObject({ status: 200, body: { secret: expect.any(String) } });
		expect(cost(begun).trips).toBe(2);
		expect(await complete({ token })).toMatchObject(setupRequired);
		const { secret } = begun.body;
		expect(await complete({ token, code: await wrongCode(secret) })).toMatchObject(invalidCode);
		expect(await keysOf(member)).toHaveLength(1);
		const done = await complete({ token, code: await codeOf(secret) });
		expect(done.status).toBe(200);
		expect(done.body.recovery_codes).toHaveLength(10);
		const key = cookieOf(done).value;
		expect((await call("GET", "/api/users/@me/two_factor", { key })).body).toMatchObject({
			is_enabled: true,
			is_required: true,
			recovery_codes_left: 10,
		});
		const [row] = await db.select().from(users).where(eq(users.id, member.id));
		expect(row?.is_2fa_enabled).toBe(true);
		const { body } = await home.here("GET", "/activity_log?scope=TwoFactor");
		expect(body.results.map(({ activity }: { activity: string }) => activity)).toEqual([
			"enabled",
			"begun",
		]);
		const next = await linkFor(member);
		expect(await complete({ token: next })).toMatchObject(codeRequired);
		const [code] = done.body.recovery_codes;
		const wrong = await complete({ token: next, code: await wrongCode(secret) });
		expect(wrong).toMatchObject(invalidCode);
		await eventually(async () =>
			expect((await home.here("GET", "/activity_log?scope=SignIn")).body.results).toMatchObject([
				{
					...{ activity: "failed", item_id: member.uuid, actor: { type: "person", key: null } },
					detail: { name: member.email, trigger: { code: "invalid_code", method: "mail" } },
				},
			]),
		);
		expect((await complete({ token: next, code })).status).toBe(200);
		const sessions = await home.here("GET", "/activity_log?scope=Session&activity=created");
		expect(sessions.body.results).toMatchObject([
			{ detail: { trigger: { second_factor: "recovery_code" }, changes: [{ after: "mail" }] } },
			{ detail: { trigger: { second_factor: "code" } } },
		]);
		const entries = await home.here("GET", "/activity_log?activity=recovery_code_used");
		expect(entries.body.count).toBe(1);
		const logged = JSON.stringify(await db.select().from(activityLog));
		for (const text of [secret, ...done.body.recovery_codes]) expect(logged).not.toContain(text);
	});

	test("needs it also if that was switched on between the mail and signing in, or meanwhile", async () => {
		const { home, member } = await strict();
		await enforce(home, false);
		const [before, during] = [await linkFor(member), await linkFor(member)];
		const raced = await complete({ token: during }, { env: racing(() => enforce(home)) });
		expect(raced).toMatchObject(setupRequired);
		expect(await complete({ token: before })).toMatchObject(setupRequired);
		expect(await keysOf(member)).toHaveLength(1);
	});

	test("doesn't need it after leaving the organization", async () => {
		const { member } = await strict();
		const token = await linkFor(member);
		await db.delete(members).where(eq(members.user_id, member.id));
		expect((await complete({ token })).status).toBe(200);
	});

	test("gets another secret each time, and only the newest counts", async () => {
		const { member } = await strict();
		const token = await linkFor(member);
		const first = (await setUp({ token })).body.secret;
		const second = (await setUp({ token })).body.secret;
		expect(await complete({ token, code: await codeOf(first) })).toMatchObject(invalidCode);
		expect((await complete({ token, code: await codeOf(second) })).status).toBe(200);
	});

	test("can't replace a second factor that is enabled meanwhile", async () => {
		const { member } = await strict();
		const [one, other] = [await linkFor(member), await linkFor(member)];
		const { secret } = (await setUp({ token: one })).body;
		const finish = async () => {
			const response = await complete({ token: one, code: await codeOf(secret) });
			expect(isSignedIn(response)).toBe(true);
		};
		expect(await setUp({ token: other }, { env: racing(finish) })).toMatchObject(expired);
		nextCode();
		const token = await linkFor(member);
		expect((await complete({ token, code: await codeOf(secret) })).status).toBe(200);
	});

	test("can't replace one that is enabled meanwhile without the link", async () => {
		const { member } = await strict();
		const token = await linkFor(member);
		let secret = "";
		const enable = async () => {
			const path = "/api/users/@me/two_factor";
			secret = (await call("POST", `${path}/begin`, { key: member.key })).body.secret;
			const body = { code: await codeOf(secret) };
			const response = await call("POST", `${path}/confirm`, { key: member.key, body });
			expect(response.status).toBe(200);
		};
		expect(await setUp({ token }, { env: racing(enable) })).toMatchObject(codeRequired);
		nextCode();
		expect((await complete({ token, code: await codeOf(secret) })).status).toBe(200);
	});

	test("has a link that ends after five codes while setting up, too", async () => {
		const { member } = await strict();
		const token = await linkFor(member);
		const { secret } = (await setUp({ token })).body;
		for (let i = 0; i < 5; i++)
			expect(await complete({ token, code: await wrongCode(secret, i) })).toMatchObject(
				invalidCode,
			);
		expect(await complete({ token, code: await codeOf(secret) })).toMatchObject(expired);
		expect(await setUp({ token })).toMatchObject(expired);
	});

	test("gets one set of recovery codes if parallel requests confirm", async () => {
		const { member } = await strict();
		const token = await linkFor(member);
		const { secret } = (await setUp({ token })).body;
		const code = await codeOf(secret);
		const responses = await Promise.all(Array.from({ length: 5 }, () => complete({ token, code })));
		const signedIn = responses.filter(isSignedIn);
		expect(signedIn).toHaveLength(1);
		const [recovery] = signedIn[0]?.body.recovery_codes ?? [];
		const next = { token: await linkFor(member), code: recovery };
		expect((await complete(next)).status).toBe(200);
	});
});

test("an unknown token sets up nothing", async () => {
	expect(await setUp({ token: "x".repeat(43) })).toMatchObject(expired);
});

test("a user whose second factor was recorded elsewhere has to set one up here", async () => {
	const { home, member } = await strict();
	await enforce(home, false);
	await db.update(users).set({ is_2fa_enabled: true }).where(eq(users.id, member.id));
	expect(await complete({ token: await linkFor(member) })).toMatchObject(setupRequired);
});

test("wrong codes count as guesses with the link and the user, right ones don't", async () => {
	const user = await withFactor();
	const token = await linkFor(user);
	const guesses = async () => {
		const [row] = await db.select().from(twoFactors).where(eq(twoFactors.user_id, user.id));
		return row?.attempts;
	};
	await complete({ token, code: await wrongCode(user.secret) });
	expect(await linksOf(user)).toMatchObject([{ attempts: 1, key_id: null }]);
	expect(await guesses()).toBe(1);
	expect((await complete({ token, code: await codeOf(user.secret) })).status).toBe(200);
	expect(await guesses()).toBe(1);
});
