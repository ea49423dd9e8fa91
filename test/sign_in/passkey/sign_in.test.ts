import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { members, users } from "../../../src/db/schema/people.ts";
import { signIns } from "../../../src/db/schema/sign_in.ts";
import { type Authenticator, newAuthenticator } from "../../support/authenticator.ts";
import { exhaust, stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import { call, cost, db, join, racing, world } from "../../support/world.ts";
import {
	complete,
	enforce,
	expired,
	inDomain,
	keysOf,
	linkFor,
	rejected,
	setUp,
	verify,
	withFactor,
} from "../link/support.ts";
import {
	begin,
	invalidPasskey,
	post,
	proof,
	register,
	rowsOf,
	withBoth,
	withPasskey,
} from "./support.ts";

beforeEach(() => stopClock());

const codeRequired = rejected("two_factor_required", "code");
const wrong = invalidPasskey("passkey");

type Options = { headers?: Record<string, string>; env?: Partial<Env> };

const send = (path: string, body: object, { headers, ...options }: Options = {}) =>
	call("POST", `/api/sign_in/passkey${path}`, {
		body,
		headers: { "cf-connecting-ip": v7(), ...headers },
		...options,
	});

/** What the browser needs: for a link, or for the whole sign-in. */
async function options(token?: string) {
	const response = await send("/options", { ...(token !== undefined && { token }) });
	expect(response.status).toBe(200);
	return response.body;
}

/** A use of the passkey for the whole sign-in. */
const use = async (authenticator: Authenticator, how?: Parameters<Authenticator["use"]>[1]) => ({
	passkey: await authenticator.use(await options(), how),
});

const isSignedIn = ({ status }: { status: number }) => status === 200;

describe("a passkey as the second factor of a link", () => {
	test("is asked for, and signs in in place of a code", async () => {
		const user = await withPasskey();
		const token = await linkFor(user);
		expect(await complete({ token })).toMatchObject(codeRequired);
		const asked = await options(token);
		expect(asked).toEqual({
			challenge: expect.any(String),
			rpId: "app.tenantry.test",
			timeout: 600_000,
			allowCredentials: [
				{ type: "public-key", id: user.authenticator.id, transports: ["internal"] },
			],
			userVerification: "preferred",
		});
		const passkey = await user.authenticator.use(asked, { isVerified: false });
		const response = await complete({ token, passkey });
		expect(response).toMatchObject({ status: 200, body: { recovery_codes: null } });
		expect(cost(response).trips).toBe(2);
		expect(await rowsOf(user)).toMatchObject([{ last_used_at: new Date().toISOString() }]);
	});

	test("can be replaced by a recovery code, or a code of the app", async () => {
		const user = await withBoth();
		const [code = ""] = user.codes;
		expect((await complete({ token: await linkFor(user), code })).status).toBe(200);
		vi.setSystemTime(Date.now() + 60_000);
		const app = await codeOf(user.secret);
		expect((await complete({ token: await linkFor(user), code: app })).status).toBe(200);
		const only = await withPasskey();
		const [recovery = ""] = only.codes;
		const token = await linkFor(only);
		expect(await complete({ token, code: "123456" })).toMatchObject(
			rejected("invalid_code", "code"),
		);
		expect((await complete({ token, code: recovery })).status).toBe(200);
	});

	test("is rejected with the passkey or the challenge of another user, or of something else", async () => {
		const [user, other] = [await withPasskey(), await withPasskey()];
		const [token, theirs] = [await linkFor(user), await linkFor(other)];
		const mine = await options(token);
		for (const passkey of [
			await other.authenticator.use(mine),
			await user.authenticator.use(await options(theirs)),
			await user.authenticator.use(await options()),
			await user.authenticator.use(await begin(user)),
		])
			expect(await complete({ token, passkey })).toMatchObject(wrong);
		expect(await keysOf(user)).toHaveLength(1);
		const passkey = await user.authenticator.use(mine);
		expect((await complete({ token, passkey })).status).toBe(200);
		expect(await complete({ token: await linkFor(user), passkey })).toMatchObject(wrong);
	});

	test("counts as an attempt of the link and the user", async () => {
		const user = await withPasskey();
		const token = await linkFor(user);
		const how = { origin: "https://evil.test" };
		const passkey = await user.authenticator.use(await options(token), how);
		for (let i = 0; i < 5; i++) expect(await complete({ token, passkey })).toMatchObject(wrong);
		expect(await complete({ token })).toMatchObject(expired);
		const next = await linkFor(user);
		for (let i = 0; i < 5; i++)
			expect(await complete({ token: next, passkey })).toMatchObject(wrong);
		const last = await linkFor(user);
		const right = await user.authenticator.use(await options(last));
		expect((await complete({ token: last, passkey: right })).status).toBe(429);
	});

	test("satisfies an organization that requires a second factor, and prevents setting up an app without it", async () => {
		const home = await world();
		const member = await join(home.id, 1);
		await verify(member);
		const authenticator = await newAuthenticator();
		expect((await register(member, authenticator)).status).toBe(201);
		await enforce(home);
		const token = await linkFor(member);
		expect(await complete({ token })).toMatchObject(codeRequired);
		expect(await setUp({ token })).toMatchObject(codeRequired);
		const passkey = await authenticator.use(await options(token));
		expect((await complete({ token, passkey })).status).toBe(200);
	});

	test("isn't offered to a user without one, nor with an unknown token", async () => {
		const user = await withFactor();
		expect(await options(await linkFor(user))).toMatchObject({ allowCredentials: [] });
		expect(await send("/options", { token: "x".repeat(43) })).toMatchObject(expired);
	});

	test("that is removed meanwhile doesn't sign in", async () => {
		const user = await withBoth();
		const token = await linkFor(user);
		const passkey = await user.authenticator.use(await options(token));
		const [code = ""] = user.codes;
		const remove = async () => {
			expect((await post(user, `/${user.passkey}/remove`, { code })).status).toBe(204);
		};
		expect(await complete({ token, passkey }, { env: racing(remove) })).toMatchObject(wrong);
	});
});

describe("a passkey as the whole sign-in", () => {
	test("signs in without a mail and a code, as the session says", async () => {
		const user = await withPasskey({ count: 1 });
		const asked = await options();
		expect(asked).toMatchObject({ allowCredentials: [], userVerification: "required" });
		const passkey = await user.authenticator.use(asked);
		const entered = await send("", { passkey });
		expect(entered).toMatchObject({ status: 200, body: { token: expect.any(String) } });
		expect(cost(entered).trips).toBe(2);
		const { token } = entered.body;
		const [row] = await db.select().from(signIns).where(eq(signIns.user_id, user.id));
		expect(row).toMatchObject({ method: "passkey", has_factor: true });
		const done = await complete({ token });
		expect(done).toMatchObject({ status: 200, body: { user: { email: user.email } } });
		expect(await complete({ token })).toMatchObject(expired);
		expect(await rowsOf(user)).toMatchObject([{ sign_count: 2 }]);
	});

	test("is enough where organizations require a second factor, and with an app", async () => {
		const home = await world();
		const user = await withBoth();
		await db
			.insert(members)
			.values({ organization_id: home.organization_id, user_id: user.id, level: 1 });
		await enforce(home);
		const { body } = await send("", await use(user.authenticator));
		expect((await complete({ token: body.token })).status).toBe(200);
	});

	test.each([
		["whose device didn't verify the user", { isVerified: false }],
		["for another site", { origin: "https://evil.test" }],
		["for another RP ID", { rp_id: "evil.test" }],
		["as a registration", { type: "webauthn.create" }],
		["without its user", { userHandle: null }],
		["for another user", { userHandle: "AAAAAAAAAAAAAAAAAAAAAA" }],
	])("is rejected %s", async (_, how) => {
		const user = await withPasskey();
		expect(await send("", await use(user.authenticator, how))).toMatchObject(wrong);
	});

	test("gives the same error for an unknown passkey as for a wrong signature", async () => {
		const user = await withPasskey();
		const stranger = await newAuthenticator();
		const { passkey } = await use(user.authenticator);
		const forged = {
			...passkey,
			response: { ...passkey.response, signature: passkey.response.signature.slice(0, -4) },
		};
		const unknown = await use(stranger);
		const responses = [await send("", { passkey: forged }), await send("", unknown)];
		for (const response of responses) expect(response).toMatchObject(wrong);
		const [one, other] = responses.map(({ body }) => body);
		expect(one).toEqual(other);
	});

	test("is rejected for deactivated users and service accounts, with the same error", async () => {
		for (const state of [{ is_active: false }, { is_service_account: true }]) {
			const user = await withPasskey();
			const given = await use(user.authenticator);
			await db.update(users).set(state).where(eq(users.id, user.id));
			expect(await send("", given)).toMatchObject(wrong);
		}
		const user = await withPasskey();
		const deactivate = () =>
			db.update(users).set({ is_active: false }).where(eq(users.id, user.id));
		const late = await send("", await use(user.authenticator), { env: racing(deactivate) });
		expect(late).toMatchObject(wrong);
	});

	test("doesn't bypass the single sign-on that a domain enforces", async () => {
		const home = await world();
		const user = await inDomain(home);
		const authenticator = await newAuthenticator();
		expect((await register(user, authenticator)).status).toBe(201);
		const before = await send("", await use(authenticator));
		await user.enforceSso();
		const after = await send("", await use(authenticator));
		for (const { body } of [before, after])
			expect(await complete({ token: body.token })).toMatchObject(rejected("sso_required"));
	});

	test("works once, also in parallel", async () => {
		const user = await withPasskey();
		const given = await use(user.authenticator);
		const responses = await Promise.all(Array.from({ length: 10 }, () => send("", given)));
		expect(responses.filter(isSignedIn)).toHaveLength(1);
		for (const response of responses)
			if (!isSignedIn(response)) expect(response).toMatchObject(wrong);
		expect(await send("", given)).toMatchObject(wrong);
	});

	test("of a counter that doesn't go up is rejected, also in parallel", async () => {
		const user = await withPasskey({ count: 5 });
		expect((await send("", await use(user.authenticator, { count: 9 }))).status).toBe(200);
		for (const count of [9, 8, 0])
			expect(await send("", await use(user.authenticator, { count }))).toMatchObject(wrong);
		const copies = await Promise.all(
			Array.from({ length: 5 }, () => use(user.authenticator, { count: 10 })),
		);
		const responses = await Promise.all(copies.map((given) => send("", given)));
		expect(responses.filter(isSignedIn)).toHaveLength(1);
		expect(await rowsOf(user)).toMatchObject([{ sign_count: 10 }]);
	});

	test("with a challenge that is made up, for something else or too old is rejected", async () => {
		const user = await withPasskey();
		const old = await use(user.authenticator);
		vi.setSystemTime(Date.now() + 600_000);
		const made = { passkey: await user.authenticator.use({ challenge: "x".repeat(43) }) };
		const link = await options(await linkFor(user));
		const ofLink = { passkey: await user.authenticator.use(link) };
		for (const given of [old, made, ofLink, await proof(user, user.authenticator)])
			expect(await send("", given)).toMatchObject(wrong);
	});

	test("has a token that works for a minute, and ends with the passkey", async () => {
		const user = await withPasskey();
		const first = await send("", await use(user.authenticator));
		vi.setSystemTime(Date.now() + 60_000);
		expect(await complete({ token: first.body.token })).toMatchObject(expired);
		const second = await send("", await use(user.authenticator));
		const given = await proof(user, user.authenticator);
		expect((await post(user, `/${user.passkey}/remove`, given)).status).toBe(204);
		expect(await complete({ token: second.body.token })).toMatchObject(expired);
		expect(await send("", await use(user.authenticator))).toMatchObject(wrong);
	});

	test("stops after a minute's wrong passkeys and challenges of an address", async () => {
		const address = "192.0.2.99";
		const headers = { "cf-connecting-ip": address };
		const given = await use(await newAuthenticator());
		await exhaust(env.AUTH_FAILURES, address);
		expect((await send("", given, { headers })).status).toBe(429);
		await exhaust(env.SIGN_INS, `links from ${address}`);
		expect((await send("/options", {}, { headers })).status).toBe(429);
	});

	test("doesn't count as a mail", async () => {
		const user = await withPasskey();
		for (let i = 0; i < 6; i++)
			expect((await send("", await use(user.authenticator))).status).toBe(200);
		await linkFor(user);
		await linkFor(user);
	});
});
