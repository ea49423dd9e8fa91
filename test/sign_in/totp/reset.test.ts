import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { identities, signIns, twoFactors } from "../../../src/db/schema/sign_in.ts";
import { digest, newToken } from "../../../src/keys/keys.ts";
import { forbidden } from "../../support/errors.ts";
import { outbox } from "../../support/mail.ts";
import { stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import { call, cost, db, join, keyFor, type person, racing, world } from "../../support/world.ts";
import { complete, linkFor, signIn, verify } from "../link/support.ts";

beforeEach(() => stopClock());

type User = Awaited<ReturnType<typeof person>>;

/** Sets up a second factor. Returns the codes of its app, each of which works once. */
async function withFactor({ key, ...user }: User) {
	await verify(user);
	const at = "/api/users/@me/two_factor";
	const { secret } = (await call("POST", `${at}/begin`, { key })).body;
	const body = { code: await codeOf(secret) };
	const { status } = await call("POST", `${at}/confirm`, { key, body });
	expect(status).toBe(200);
	return async () => {
		vi.setSystemTime(Date.now() + 30_000);
		return codeOf(secret);
	};
}

const hasFactor = async ({ id }: User) =>
	(await db.select().from(twoFactors).where(eq(twoFactors.user_id, id))).length > 0;

/** An organization with a member, both with a second factor, and the request that resets one. */
async function home(level = 1) {
	const { id, owner, here } = await world();
	await verify(owner);
	const member = await join(id, level);
	const code = await withFactor(owner);
	const codeOfMember = await withFactor(member);
	const mails = outbox();
	const resetBy = (
		caller: User,
		given: object,
		{ uuid = member.uuid, organization = id, env = {} as Partial<Env> } = {},
	) =>
		call("POST", `/api/organizations/${organization}/members/${uuid}/two_factor/reset`, {
			key: caller.key,
			body: given,
			env: { ...mails.env, ...env },
			headers: { "cf-connecting-ip": "192.0.2.7" },
		});
	return { id, owner, here, member, code, codeOfMember, mails, resetBy };
}

test("an owner resets a member's factor with their own: sessions end, the person and the owners are told", async () => {
	const { id, owner, here, member, code, codeOfMember, mails, resetBy } = await home();
	const other = await join(id, 15);
	await verify(other);
	const given = { token: await linkFor(member), code: await codeOfMember() };
	expect((await complete(given)).status).toBe(200);
	const open = await linkFor(member);
	const response = await resetBy(owner, { code: await code() });
	expect(response).toMatchObject({
		status: 200,
		body: { user: { uuid: member.uuid }, is_2fa_enabled: false },
	});
	expect(cost(response).trips).toBe(2);
	expect(await hasFactor(member)).toBe(false);
	expect(await hasFactor(owner)).toBe(true);
	const sent = mails.take();
	expect(sent.map(({ to }) => to).toSorted()).toEqual(
		[member.email, owner.email, other.email].toSorted(),
	);
	const [toMember, toOwner] = [member, owner].map(({ email }) =>
		sent.find(({ to }) => to === email),
	);
	expect(toMember?.text).toContain('An admin of the organization "Acme" has removed it');
	expect(toOwner?.text).toContain(`${owner.email} has reset the second factor of ${member.email}`);
	expect(toOwner?.text).toContain("192.0.2.7");
	expect((await complete({ token: open })).body.code).toBe("expired");
	expect(
		(await here("GET", "/activity_log?scope=TwoFactor&activity=reset")).body.results,
	).toMatchObject([
		{
			user: { uuid: owner.uuid },
			item_id: member.uuid,
			detail: { name: member.email, trigger: { second_factor: "code" } },
		},
	]);
	expect((await call("GET", "/api/users/@me", { key: member.key })).status).toBe(200);
});

describe("after a reset", () => {
	/** A token that a provider's sign-in gives. */
	async function throughProvider({ id, email }: User) {
		const token = newToken();
		await db
			.insert(identities)
			.values({ connection: "github", subject: `${id}`, user_id: id, email })
			.onConflictDoNothing();
		await db.insert(signIns).values({
			user_id: id,
			token_hash: await digest(token),
			expires_at: new Date(Date.now() + 60_000).toISOString(),
			method: "github",
			connection: "github",
		});
		return token;
	}

	test("a link by mail has to prove the address before a provider signs in, or a key sets up a factor", async () => {
		const { owner, member, code, resetBy } = await home();
		await resetBy(owner, { code: await code() });
		const unproved = { status: 400, body: { code: "verification_required" } };
		expect(await complete({ token: await throughProvider(member) })).toMatchObject(unproved);
		const begin = () => call("POST", "/api/users/@me/two_factor/begin", { key: member.key });
		expect(await begin()).toMatchObject(unproved);
		const challenge = { name: "x", credential: {} };
		const passkeys = "/api/users/@me/passkeys";
		expect((await call("POST", passkeys, { key: member.key, body: challenge })).status).toBe(400);
		await signIn(member);
		expect((await complete({ token: await throughProvider(member) })).status).toBe(200);
		expect((await begin()).status).toBe(200);
	});

	test("a sign-in that has checked the factor before it doesn't complete", async () => {
		const { owner, member, code, codeOfMember, resetBy } = await home();
		const given = { token: await linkFor(member), code: await codeOfMember() };
		const reset = async () =>
			expect((await resetBy(owner, { code: await code() })).status).toBe(200);
		expect((await complete(given, { env: racing(reset) })).status).toBe(400);
		expect(await hasFactor(member)).toBe(false);
	});
});

describe("a factor is not reset", () => {
	test("without the caller's own, with a wrong or used code, or by a caller who has none", async () => {
		const { id, owner, member, code, resetBy } = await home();
		expect(await resetBy(owner, {})).toMatchObject({ status: 400, body: { attr: "code" } });
		const used = await code();
		await call("POST", "/api/users/@me/two_factor/recovery_codes", {
			key: owner.key,
			body: { code: used },
		});
		for (const wrong of [used, "000000", "aaaa-bbbb-cccc"])
			expect(await resetBy(owner, { code: wrong })).toMatchObject({
				body: { code: "invalid_code" },
			});
		const admin = await join(id, 8);
		expect(await resetBy(admin, { code: "000000" })).toMatchObject({
			status: 400,
			body: { code: "two_factor_setup_required" },
		});
		expect(await hasFactor(member)).toBe(true);
	});

	test.each([
		[8, 15],
		[8, 8],
		[1, 1],
	])("by a member of level %i, of one of level %i", async (level, target) => {
		const { id, member, resetBy } = await home(target);
		const caller = await join(id, level);
		const code = await withFactor(caller);
		expect((await resetBy(caller, { code: await code() })).status).toBe(403);
		expect(await hasFactor(member)).toBe(true);
	});

	test("by the person themselves, or by a stranger", async () => {
		const { owner, member, code, resetBy } = await home();
		const own = forbidden("You can't reset your own second factor.");
		expect(await resetBy(owner, { code: await code() }, { uuid: "@me" })).toMatchObject(own);
		const stranger = await world();
		const codeOfStranger = await withFactor(stranger.owner);
		const given = { code: await codeOfStranger() };
		expect((await resetBy(stranger.owner, given)).status).toBe(403);
		expect((await resetBy(stranger.owner, given, { organization: stranger.id })).status).toBe(404);
		expect(await hasFactor(member)).toBe(true);
	});

	test("for another organization of the member, in which the caller may not do it", async () => {
		const { id, owner, member, code, resetBy } = await home();
		const other = await world();
		const joinOther = (user: User, level: number) =>
			db
				.insert(members)
				.values({ organization_id: organizationId(other.id), user_id: user.id, level });
		await joinOther(member, 1);
		const rejected = forbidden(
			"The member also belongs to an organization in which you can't do this. Ask the operator of the service.",
		);
		expect(await resetBy(owner, { code: await code() })).toMatchObject(rejected);
		await joinOther(owner, 8);
		const key = await keyFor(owner.id, { scoped_organizations: [id] });
		expect(await resetBy({ ...owner, key }, { code: await code() })).toMatchObject(rejected);
		expect((await resetBy(owner, { code: await code() })).status).toBe(200);
		const entries = await db.select().from(activityLog).where(eq(activityLog.activity, "reset"));
		expect(entries.filter(({ item_id }) => item_id === member.uuid)).toHaveLength(2);
	});

	test("if the member joins another organization at the same time", async () => {
		const { owner, member, code, resetBy } = await home();
		const other = await world();
		const given = { code: await code() };
		const joins = () =>
			db
				.insert(members)
				.values({ organization_id: organizationId(other.id), user_id: member.id, level: 1 });
		const { status } = await resetBy(owner, given, { env: racing(joins) });
		expect(status).toBe(403);
		expect(await hasFactor(member)).toBe(true);
	});

	test("if there is none", async () => {
		const { id, owner, code, resetBy } = await home();
		const someone = await join(id, 1);
		expect(await resetBy(owner, { code: await code() }, { uuid: someone.uuid })).toMatchObject({
			status: 400,
			body: { code: "invalid_input", detail: "The member has no second factor." },
		});
		expect(
			(await db.select().from(users).where(eq(users.id, someone.id)))[0]?.factor_reset_at,
		).toBeNull();
	});
});
