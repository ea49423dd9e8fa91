import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, projectMembers, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../../src/keys/keys.ts";
import { wrong } from "../../support/errors.ts";
import { eventually, exhaust } from "../../support/time.ts";
import { call, cost, db, join, keyFor, person, racing, world } from "../../support/world.ts";
import {
	accept,
	address,
	age,
	createInvite,
	createMailedInvite,
	stateOf,
	tokenIn,
} from "./support.ts";

const invalidRecipient = { status: 400, body: { code: "invalid_recipient", attr: null } };
const UNCHANGED = { members: 1, invites: 1, accepted: 0 };

const verify = (id: number) =>
	db.update(users).set({ is_email_verified: true }).where(eq(users.id, id));
const deactivate = ({ id }: { id: number }) =>
	db.update(users).set({ is_active: false }).where(eq(users.id, id));
const statusOf = async (key: string) => (await call("GET", "/api/users/@me", { key })).status;

/** An organization with an invite of a user, whose link is handed over. */
async function handed() {
	const [home, someone] = [await world(), await person()];
	const { token } = await createInvite(home, { target_email: someone.email });
	return { home, someone, token };
}

/** The same, with a link that was mailed. */
async function mailed() {
	const [home, someone] = [await world(), await person()];
	const { token } = await createMailedInvite(home, { target_email: someone.email });
	return { home, someone, token };
}

describe("the holder of the link", () => {
	test("sees what the invite is for, and nothing else", async () => {
		const home = await world("Acme & Co");
		const { token, target_email } = await createInvite(home, { first_name: "Ada" });
		expect((await call("GET", `/api/invites/${token}/`)).body).toEqual({
			organization_name: "Acme & Co",
			inviter_first_name: "Test",
			target_email,
			first_name: "Ada",
			is_expired: false,
		});
	});

	test("becomes a user and a member, with a key that works", async () => {
		const home = await world();
		const { ask, project, id } = home;
		await ask("PATCH", `/api/projects/${project}`, { body: { access_control: true } });
		const gone = (await ask("POST", "/api/projects", { body: { name: "Gone" } })).body.id;
		const { token, target_email } = await createInvite(home, {
			first_name: "Ada",
			level: 1,
			private_project_access: [
				{ id: project, level: "admin" },
				{ id: gone, level: 1 },
				{ id: project, level: 1 },
			],
		});
		await ask("DELETE", `/api/projects/${gone}`);
		const answer = await accept(token, { body: { last_name: "Byron" } });
		expect(answer.status).toBe(200);
		const { organization, user, personal_api_key } = answer.body;
		const slug = expect.any(String);
		expect(organization).toEqual({ id, name: "Acme", slug, membership_level: 1 });
		expect(user).toMatchObject({
			...{ email: target_email, first_name: "Ada", last_name: "Byron" },
			is_email_verified: false,
		});
		expect(personal_api_key).toMatchObject({ scopes: ["*"], scoped_organizations: [] });
		const key = personal_api_key.value;
		expect(key).toMatch(/^tnt_/);
		const record = await env.KEYS.get(`key:${await digest(key)}`, "json");
		expect(record).toMatchObject({ id: personal_api_key.id, user_id: user.id });
		expect(record).not.toHaveProperty("hash");
		const me = await call("GET", "/api/users/@me", { key });
		expect(me.body).toMatchObject({
			uuid: user.uuid,
			organization: { id },
			project: { id: project },
		});
		expect(cost(me).trips).toBe(1);
		const isTheirs = eq(projectMembers.user_id, user.id);
		expect(await db.select().from(projectMembers).where(isTheirs)).toMatchObject([
			{ project_id: project, level: 8 },
		]);
		expect(await stateOf(home)).toEqual({ members: 2, invites: 0, accepted: 1 });
		const log = await home.here("GET", "/activity_log?activity=accepted");
		expect(log.body.results).toMatchObject([{ scope: "Invite", user: { uuid: user.uuid } }]);
		expect((await accept(token)).status).toBe(404);
		expect((await call("GET", `/api/invites/${token}`)).status).toBe(404);
	});

	test("gets a verified address if the link was mailed", async () => {
		const { token } = await createMailedInvite(await world());
		expect((await accept(token)).body.user.is_email_verified).toBe(true);
	});

	test("becomes a member without a new key if the user exists", async () => {
		const home = await world();
		const someone = await person();
		await verify(someone.id);
		const fields = { target_email: someone.email, level: 8 };
		for (const [create, options] of [
			[createMailedInvite, {}],
			[createInvite, { key: someone.key }],
		] as const) {
			const { token } = await create(home, fields);
			const { status, body } = await accept(token, { ...options, body: { first_name: "Other" } });
			expect([status, body.personal_api_key]).toEqual([200, null]);
			expect(body.user).toMatchObject({ first_name: "Test", uuid: someone.uuid });
			const path = `/api/organizations/${home.id}`;
			const organization = await call("GET", path, { key: someone.key });
			expect(organization.body.membership_level).toBe(8);
			await db.delete(members).where(eq(members.user_id, someone.id));
		}
	});

	test("needs the key of an existing user if the link wasn't mailed", async () => {
		const { home, someone, token } = await handed();
		expect(await accept(token)).toMatchObject(
			wrong(
				"invalid_recipient",
				"A user with this address already exists. Accept the invite with an API key of that user.",
				null,
			),
		);
		expect(await stateOf(home)).toEqual(UNCHANGED);
		expect((await accept(token, { key: someone.key })).status).toBe(200);
	});

	test("takes over a user with an unverified address if the link was mailed, also one who is created meanwhile", async () => {
		for (const isMeanwhile of [false, true]) {
			const [attacker, home] = [await world(), await world()];
			const target_email = address();
			const squatted = await createInvite(attacker, { target_email });
			let stolen = "";
			const steal = async () => {
				stolen = (await accept(squatted.token)).body.personal_api_key.value;
			};
			if (!isMeanwhile) await steal();
			const { token } = await createMailedInvite(home, { target_email, level: 8 });
			const { body } = await accept(token, isMeanwhile ? { env: racing(steal) } : {});
			expect(body.user.is_email_verified).toBe(true);
			expect(await statusOf(stolen)).toBe(401);
			const { value: key } = body.personal_api_key;
			const path = `/api/organizations/${home.id}/members`;
			expect((await call("GET", path, { key })).status).toBe(200);
		}
	});

	test("keeps the user's keys when it accepts with one of them", async () => {
		const { home, someone, token } = await mailed();
		const { status, body } = await accept(token, { key: someone.key });
		expect([status, body.personal_api_key]).toEqual([200, null]);
		const me = await call("GET", "/api/users/@me", { key: someone.key });
		expect(me.body).toMatchObject({ is_email_verified: true, organization: { id: home.id } });
	});

	test("keeps the user's keys if the address is verified during the accept", async () => {
		const { someone, token } = await mailed();
		const { status, body } = await accept(token, { env: racing(() => verify(someone.id)) });
		expect([status, body.personal_api_key]).toEqual([200, null]);
		expect(await statusOf(someone.key)).toBe(200);
	});

	test("changes nothing with a key that is revoked during the accept", async () => {
		const { home, someone, token } = await handed();
		const revoke = () => db.delete(personalApiKeys).where(eq(personalApiKeys.user_id, someone.id));
		const answer = await accept(token, { key: someone.key, env: racing(revoke) });
		expect(answer.status).toBe(401);
		expect(await stateOf(home)).toEqual(UNCHANGED);
	});

	test("gets the organization as its current one", async () => {
		const [previous, home] = [await world(), await world()];
		await verify(previous.owner.id);
		const { token } = await createMailedInvite(home, { target_email: previous.owner.email });
		const current = async () => {
			const { organization, project } = (await previous.ask("GET", "/api/users/@me")).body;
			return [organization.id, project.id];
		};
		expect(await current()).toEqual([previous.id, previous.project]);
		expect((await accept(token)).status).toBe(200);
		expect(await current()).toEqual([home.id, home.project]);
	});

	test("gets a 404 and changes nothing if the invite is replaced during the accept", async () => {
		for (const target_email of [address(), (await person()).email]) {
			const home = await world();
			const { token } = await createMailedInvite(home, { target_email });
			const replace = () => home.here("POST", "/invites", { body: { target_email } });
			expect((await accept(token, { env: racing(replace) })).status).toBe(404);
			expect(await stateOf(home)).toEqual(UNCHANGED);
		}
	});

	test("gets a 401 with a key that is invalid, expired, revoked or of a deactivated user", async () => {
		const { someone, token } = await handed();
		const revoked = await keyFor(someone.id);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(revoked)));
		const expired = await keyFor(someone.id, { expires_at: "2020-01-01" });
		for (const key of ["tnt_x", revoked, expired])
			expect((await accept(token, { key })).status).toBe(401);
		await deactivate(someone);
		const { key } = someone;
		expect((await call("GET", `/api/invites/${token}`, { key })).status).toBe(401);
		expect((await accept(token, { key })).status).toBe(401);
		expect(await accept(token)).toMatchObject(invalidRecipient);
	});

	test("can't accept after three days", async () => {
		const { token, id } = await createInvite(await world());
		await age(id, 3);
		expect((await call("GET", `/api/invites/${token}`)).body.is_expired).toBe(true);
		expect(await accept(token)).toMatchObject(
			wrong("expired", "This invite has expired. Please ask your admin for a new one.", null),
		);
	});

	test("is rejected with another user's key, or if already a member", async () => {
		const { home, someone, token } = await handed();
		expect(await accept(token, { key: (await person()).key })).toMatchObject(invalidRecipient);
		const organization_id = organizationId(home.id);
		await db.insert(members).values({ organization_id, user_id: someone.id, level: 1 });
		expect(await accept(token)).toMatchObject({
			status: 400,
			body: { code: "user_already_member", attr: null },
		});
	});

	test.each(["x", "x".repeat(43), "%00", "..%2f"])(
		"gets a 404 for the unknown token %j, before the body is validated",
		async (token) => {
			for (const body of [{}, { first_name: 5 }])
				expect(await accept(token, { body })).toMatchObject({
					status: 404,
					body: { code: "not_found", detail: "Not found." },
				});
			expect((await call("GET", `/api/invites/${token}`)).status).toBe(404);
		},
	);

	test("gets a 400 for an invalid name, after which the invite still works", async () => {
		const { token } = await createInvite(await world());
		expect(await accept(token, { body: { first_name: 7 } })).toMatchObject(
			wrong("invalid_input", "Not a valid string.", "first_name"),
		);
		expect((await accept(token)).status).toBe(200);
	});

	test("gets a 429 after guessing too many tokens", async () => {
		const headers = { "cf-connecting-ip": "192.0.2.77" };
		const guess = async () =>
			(await call("GET", `/api/invites/${"y".repeat(43)}`, { headers })).status;
		expect(await guess()).toBe(404);
		await eventually(async () => {
			await exhaust(env.AUTH_FAILURES, headers["cf-connecting-ip"]);
			expect(await guess()).toBe(429);
		});
	});

	test("becomes one user with one membership and one key if requests race", async () => {
		const home = await world();
		const { token, target_email } = await createInvite(home);
		const answers = await Promise.all(Array.from({ length: 10 }, () => accept(token)));
		const others = answers.filter(({ status }) => status !== 200);
		expect(others).toHaveLength(9);
		for (const { status } of others) expect([404, 400]).toContain(status);
		expect(await stateOf(home)).toEqual({ members: 2, invites: 0, accepted: 1 });
		const keys = await db
			.select()
			.from(personalApiKeys)
			.innerJoin(users, eq(users.id, personalApiKeys.user_id))
			.where(eq(users.email, target_email));
		expect(keys).toHaveLength(1);
	});

	test("needs the key of a user who is created during the accept if the link wasn't mailed", async () => {
		const [one, two] = [await world(), await world()];
		const target_email = address();
		const first = await createInvite(one, { target_email });
		const second = await createInvite(two, { target_email });
		const answer = await accept(second.token, { env: racing(() => accept(first.token)) });
		expect(answer).toMatchObject(invalidRecipient);
		expect(await stateOf(two)).toEqual(UNCHANGED);
	});

	test("is rejected if the user is deactivated during the accept", async () => {
		const { home, someone, token } = await mailed();
		const answer = await accept(token, { env: racing(() => deactivate(someone)) });
		expect(answer).toMatchObject(invalidRecipient);
		expect(await stateOf(home)).toEqual(UNCHANGED);
	});

	test("of two organizations' invites becomes one user and a member of both, even if they race", async () => {
		const target_email = address();
		const invites = [
			await createMailedInvite(await world(), { target_email }),
			await createMailedInvite(await world(), { target_email }),
		];
		const answers = await Promise.all(invites.map(({ token }) => accept(token)));
		expect(answers.map(({ status }) => status)).toEqual([200, 200]);
		const [key, ...others] = answers.flatMap(({ body }) => body.personal_api_key ?? []);
		expect(others).toEqual([]);
		const seen = await call("GET", "/api/organizations", { key: key.value });
		expect(seen.body.count).toBe(2);
	});
});

describe("an inviter who may no longer invite", () => {
	const lost = wrong(
		"inviter_lost_access",
		"The person who invited you can no longer do so. Please ask for a new invite.",
		null,
	);
	const isOf = ({ id }: { id: number }) => eq(members.user_id, id);
	const setLevel = (admin: { id: number }, level: number) =>
		db.update(members).set({ level }).where(isOf(admin));

	/** Ways in which an admin loses the right to an invite at the admin's level. */
	const WAYS: [string, (admin: { id: number }) => Promise<unknown>][] = [
		["has left", async (admin) => db.delete(members).where(isOf(admin))],
		["is deactivated", async (admin) => deactivate(admin)],
		["is below the invite's level", async (admin) => setLevel(admin, 1)],
	];

	async function invitedByAdmin() {
		const home = await world();
		const admin = await join(home.id, 8);
		const as = (method: string, path: string, options: object = {}) =>
			home.here(method, path, { key: admin.key, ...options });
		const { token } = await createInvite({ here: as }, { level: 8 });
		return { ...home, admin, token };
	}

	test.each(WAYS)("makes the invite expired: %s", async (_, lose) => {
		const { here, token, admin } = await invitedByAdmin();
		await lose(admin);
		expect(await accept(token)).toMatchObject(lost);
		expect((await call("GET", `/api/invites/${token}`)).body.is_expired).toBe(true);
		expect((await here("GET", "/invites")).body.results).toMatchObject([
			{ is_expired: true, created_by: { uuid: admin.uuid } },
		]);
		const page = await call("GET", `/invites/${token}`);
		expect(page.status).toBe(410);
		expect(page.body).toContain("can no longer do so");
		expect((await call("POST", `/invites/${token}`)).status).toBe(410);
	});

	test.each(WAYS)("is noticed even between the check and the write: %s", async (_, lose) => {
		const { here, token, admin } = await invitedByAdmin();
		expect(await accept(token, { env: racing(() => lose(admin)) })).toMatchObject(lost);
		const { members, ...state } = await stateOf({ here });
		expect(state).toEqual({ invites: 1, accepted: 0 });
		expect(members).toBeLessThanOrEqual(2);
	});

	test("doesn't include one whose level has risen", async () => {
		const { token, admin } = await invitedByAdmin();
		await setLevel(admin, 15);
		expect((await accept(token)).status).toBe(200);
	});

	test("to a private project: the invite leaves that project out", async () => {
		const { ask, here, id, project } = await world();
		const other = (await ask("POST", "/api/projects", { body: { name: "Other" } })).body.id;
		const inviter = await join(id, 1);
		for (const each of [project, other]) {
			const path = `/api/projects/${each}`;
			await ask("PATCH", path, { body: { access_control: true } });
			await ask("POST", `${path}/members`, { body: { user_uuid: inviter.uuid, level: 8 } });
		}
		const private_project_access = [
			{ id: project, level: "admin" },
			{ id: other, level: "member" },
		];
		const make = async () => {
			const body = { target_email: address(), send_email: false, private_project_access };
			return tokenIn((await here("POST", "/invites", { key: inviter.key, body })).body);
		};
		const joined = async (token: string) => {
			const { user } = (await accept(token)).body;
			const rows = await db
				.select()
				.from(projectMembers)
				.where(eq(projectMembers.user_id, user.id));
			return Object.fromEntries(rows.map(({ project_id, level }) => [project_id, level]));
		};
		const [both, one, none] = [await make(), await make(), await make()];
		expect(await joined(both)).toEqual({ [project]: 8, [other]: 1 });
		const isInviter = eq(projectMembers.user_id, inviter.id);
		await db.update(projectMembers).set({ level: 1 }).where(isInviter);
		expect(await joined(one)).toEqual({ [other]: 1 });
		await db.delete(projectMembers).where(isInviter);
		expect(await joined(none)).toEqual({});
	});
});
