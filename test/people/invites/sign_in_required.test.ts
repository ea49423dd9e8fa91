import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { enforce, inDomain, keysOf, verify, withFactor } from "../../sign_in/link/support.ts";
import { stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import { call, db, join, person, racing, world } from "../../support/world.ts";
import { accept, createInvite, createMailedInvite, stateOf } from "./support.ts";

beforeEach(() => stopClock());

const required = {
	status: 403,
	body: { type: "authentication_error", code: "sign_in_required", attr: null },
};

/** A stranger's invite for this address, as if its link had been mailed. */
async function invited(target_email: string, { isMailed = true } = {}) {
	const home = await world("Elsewhere");
	const create = isMailed ? createMailedInvite : createInvite;
	const { token } = await create(home, { target_email });
	return { home, token };
}

const unproved = ({ id }: { id: number }) =>
	db.update(users).set({ is_email_verified: false }).where(eq(users.id, id));

/** Enables a second factor with the user's key. */
async function addFactor({ key }: { key: string }) {
	const path = "/api/users/@me/two_factor";
	const { body } = await call("POST", `${path}/begin`, { key });
	const code = await codeOf(body.secret);
	expect((await call("POST", `${path}/confirm`, { key, body: { code } })).status).toBe(200);
}

/** Users for whom a link in a mail isn't enough to sign in. */
const STRICT = {
	"who has a second factor": withFactor,
	"of a domain that enforces single sign-on": async () => {
		const user = await inDomain(await world());
		await user.enforceSso();
		return user;
	},
	"whose organization requires a second factor": async () => {
		const home = await world();
		await enforce(home);
		return join(home.id, 1);
	},
};

test.each(Object.entries(STRICT))(
	"a user %s accepts a mailed invite only with a key, also if nobody proved the address",
	async (_, make) => {
		const user = await make();
		const { home, token } = await invited(user.email);
		for (const prove of [verify, unproved]) {
			await prove(user);
			expect(await accept(token)).toMatchObject(required);
			expect(await keysOf(user)).toHaveLength(1);
		}
		expect((await call("GET", "/api/users/@me", { key: user.key })).status).toBe(200);
		expect((await home.here("GET", "/members")).body.count).toBe(1);
		const { status, body } = await accept(token, { key: user.key });
		expect([status, body.personal_api_key]).toEqual([200, null]);
		expect((await home.here("GET", "/members")).body.count).toBe(2);
		expect((await call("GET", "/api/users/@me", { key: user.key })).status).toBe(200);
	},
);

test("another user's key doesn't accept it either", async () => {
	const user = await withFactor();
	const { token } = await invited(user.email);
	expect(await accept(token, { key: (await withFactor()).key })).toMatchObject({
		status: 400,
		body: { code: "invalid_recipient" },
	});
});

test("a second factor, or single sign-on, that begins while the invite is accepted counts", async () => {
	const [user, member] = [await person(), await inDomain(await world())];
	const cases = [
		[user, verify, () => addFactor(user)],
		[member, unproved, member.enforceSso],
	] as const;
	for (const [{ id, email }, prepare, begin] of cases) {
		await prepare({ id });
		const { home, token } = await invited(email);
		expect(await accept(token, { env: racing(begin) })).toMatchObject(required);
		expect(await keysOf({ id })).toHaveLength(1);
		expect(await stateOf(home)).toEqual({ members: 1, invites: 1, accepted: 0 });
	}
});

test("a second factor that is removed while the invite is accepted no longer counts from the next try", async () => {
	const user = await withFactor();
	const { token } = await invited(user.email);
	const path = "/api/users/@me/two_factor/disable";
	const body = { code: await codeOf(user.secret) };
	expect(await accept(token)).toMatchObject(required);
	expect((await call("POST", path, { key: user.key, body })).status).toBe(200);
	expect((await accept(token)).status).toBe(200);
});

test("an address of a domain that enforces single sign-on gets no user and no key by mail", async () => {
	const { domain, enforceSso } = await inDomain(await world());
	const email = `new@${domain}`;
	const { token } = await invited(email);
	const handed = await invited(`other@${domain}`, { isMailed: false });
	await enforceSso();
	for (const each of [token, handed.token]) expect(await accept(each)).toMatchObject(required);
	expect(await db.select().from(users).where(eq(users.email, email))).toEqual([]);
	await db.update(domains).set({ sso_enforcement: "" }).where(eq(domains.domain, domain));
	expect((await accept(token)).body.personal_api_key.value).toMatch(/^tnt_/);
});

test("a claim of a domain that isn't verified, and domains beside it, change nothing", async () => {
	const claimed = await inDomain(await world());
	const { token } = await invited(claimed.email);
	expect((await accept(token)).status).toBe(200);
	await claimed.enforceSso();
	for (const domain of [`mail.${claimed.domain}`, `x${claimed.domain}`]) {
		const beside = await invited(`ada@${domain}`);
		expect((await accept(beside.token)).status).toBe(200);
	}
});

test("through a link that wasn't mailed, nobody learns whether the user has a second factor", async () => {
	const [strict, plain] = [await withFactor(), await person()];
	const responses = [];
	for (const { email } of [strict, plain]) {
		const { token } = await invited(email, { isMailed: false });
		const headers = { "x-request-id": "the-same" };
		const page = await call("GET", `/invites/${token}`);
		responses.push([
			(await accept(token, { headers })).body,
			(await call("GET", `/api/invites/${token}`)).body.is_expired,
			page.status,
			page.body.includes("<form") && !page.body.includes("sign in first"),
		]);
	}
	expect(responses[0]).toEqual([
		expect.objectContaining({ code: "invalid_recipient" }),
		false,
		200,
		true,
	]);
	expect(responses[1]).toEqual(responses[0]);
});

test("the page leads to the console, which signs the user in and accepts the invite", async () => {
	const user = await withFactor();
	await unproved(user);
	const { token } = await invited(user.email);
	const path = `/invites/${token}`;
	const page = await call("GET", path);
	expect(page.status).toBe(200);
	expect(page.body).toContain(`href="/console/accept#invite=${token}"`);
	expect(page.body).not.toContain("<form");
	expect(page.body).not.toContain("API keys stop working");
	// Its form may have been loaded before the user had a second factor.
	const posted = await call("POST", path);
	expect(posted.status).toBe(403);
	expect(posted.body).toContain(`href="/console/accept#invite=${token}"`);
	expect(await keysOf(user)).toHaveLength(1);
});
