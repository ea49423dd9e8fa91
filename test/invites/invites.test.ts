import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { digest } from "../../src/auth/keys.ts";
import {
	inviteMails,
	invites,
	members,
	personalApiKeys,
	projectMembers,
	users,
} from "../../src/db/schema.ts";
import { wrong } from "../support/refusals.ts";
import { eventually, exhaust } from "../support/time.ts";
import { call, cost, db, join, keyFor, person, racing, times, world } from "../support/world.ts";

const address = () => `${v7()}@invited.test`;
const DAY = 86_400_000;

type Home = Awaited<ReturnType<typeof world>>;

/** An invite that no mail carries, and the token in its link. */
async function invited({ here }: Pick<Home, "here">, fields: object = {}) {
	const { status, body } = await here("POST", "/invites", {
		body: { target_email: address(), send_email: false, ...fields },
	});
	expect(status).toBe(201);
	return { ...body, token: String(body.accept_url).split("/").at(-1) ?? "" };
}

const age = (id: string, days: number) =>
	db
		.update(invites)
		.set({ created_at: new Date(Date.now() - days * DAY).toISOString() })
		.where(eq(invites.id, id));

const accept = (token: string, asked: Parameters<typeof call>[2] = {}) =>
	call("POST", `/api/invites/${token}/accept`, {
		headers: { "cf-connecting-ip": v7() },
		...asked,
	});

describe("inviting", () => {
	test("answers the invite, with all fields", async () => {
		const { here, owner } = await world();
		const target_email = address();
		const { status, body } = await here("POST", "/invites/", {
			body: { target_email: target_email.toUpperCase() },
		});
		expect(status).toBe(201);
		expect(body).toEqual({
			id: expect.any(String),
			target_email,
			first_name: "",
			emailing_attempt_made: true,
			level: 1,
			is_expired: false,
			created_by: expect.objectContaining({
				id: owner.id,
				uuid: owner.uuid,
				email: owner.email,
			}),
			created_at: expect.any(String),
			updated_at: expect.any(String),
			message: null,
			private_project_access: [],
		});
		expect((await here("GET", "/invites/")).body).toEqual({
			count: 1,
			next: null,
			previous: null,
			results: [body],
		});
	});

	test("takes all writable fields", async () => {
		const { here, project } = await world();
		const fields = {
			first_name: "Ada",
			level: 8,
			message: "Hello",
			private_project_access: [{ id: project, level: "admin" }],
		};
		expect(
			(
				await here("POST", "/invites", {
					body: { target_email: address(), ...fields },
				})
			).body,
		).toMatchObject(fields);
	});

	test.each([
		[{}, "required", "This field is required.", "target_email"],
		[{ target_email: "" }, "blank", "This field may not be blank.", "target_email"],
		[{ target_email: "x" }, "invalid_input", "Enter a valid email address.", "target_email"],
		[
			{ target_email: "x@y.zz\r\nBcc: z@y.zz" },
			"invalid_input",
			"Enter a valid email address.",
			"target_email",
		],
		[
			{ target_email: `${"x".repeat(250)}@y.zz` },
			"max_length",
			"Ensure this field has no more than 254 characters.",
			"target_email",
		],
		[
			{ target_email: "x@y.zz", first_name: "x".repeat(31) },
			"max_length",
			"Ensure this field has no more than 30 characters.",
			"first_name",
		],
		[{ target_email: "x@y.zz", level: 2 }, "invalid_choice", '"2" is not a valid choice.', "level"],
		[
			{ target_email: "x@y.zz", level: "admin" },
			"invalid_input",
			"A valid integer is required.",
			"level",
		],
		[
			{ target_email: "x@y.zz", send_email: "maybe" },
			"invalid_input",
			"Must be a valid boolean.",
			"send_email",
		],
		[
			{ target_email: "x@y.zz", private_project_access: {} },
			"invalid_input",
			"The field must be a list of dictionaries.",
			"private_project_access",
		],
		[
			{ target_email: "x@y.zz", private_project_access: null },
			"invalid_input",
			"The field must be a list of dictionaries.",
			"private_project_access",
		],
		[
			{ target_email: "x@y.zz", private_project_access: [1] },
			"invalid_input",
			"Each item in the list must be a dictionary.",
			"private_project_access",
		],
		[
			{ target_email: "x@y.zz", private_project_access: [{ id: 1 }] },
			"invalid_input",
			'Each dictionary must contain "id" and "level" keys.',
			"private_project_access",
		],
		[
			{
				target_email: "x@y.zz",
				private_project_access: [{ id: "one", level: 1 }],
			},
			"invalid_input",
			'The "id" field must be an integer.',
			"private_project_access",
		],
		[
			{
				target_email: "x@y.zz",
				private_project_access: [{ id: 1, level: 15 }],
			},
			"invalid_input",
			'The "level" field must be either "member" or "admin".',
			"private_project_access",
		],
	])("%j is refused", async (body, code, detail, attr) => {
		const { here } = await world();
		expect(await here("POST", "/invites", { body })).toMatchObject(wrong(code, detail, attr));
	});

	test("any member may, not above its own level", async () => {
		const { id } = await world();
		const member = await join(id, 1);
		const path = `/api/organizations/${id}/invites`;
		expect(
			(
				await call("POST", path, {
					key: member.key,
					body: { target_email: address() },
				})
			).status,
		).toBe(201);
		expect(
			await call("POST", path, {
				key: member.key,
				body: { target_email: address(), level: 8 },
			}),
		).toMatchObject({
			status: 403,
			body: {
				detail: "You cannot invite a user with a higher permission level than your own.",
			},
		});
	});

	test("of a member is refused, in any case of letters", async () => {
		const { here, owner } = await world();
		expect(
			await here("POST", "/invites", {
				body: { target_email: owner.email.toUpperCase() },
			}),
		).toMatchObject(
			wrong(
				"invalid_input",
				"A user with this email address already belongs to the organization.",
				null,
			),
		);
	});

	test("again replaces the older invite", async () => {
		const { here } = await world();
		const one = await invited({ here });
		const two = await invited({ here }, { target_email: one.target_email.toUpperCase() });
		expect((await here("GET", "/invites")).body).toMatchObject({
			count: 1,
			results: [{ id: two.id }],
		});
		expect((await call("GET", `/api/invites/${one.token}`)).status).toBe(404);
		expect((await call("GET", `/api/invites/${two.token}`)).status).toBe(200);
	});

	test("of the same address 20 times at once leaves one invite", async () => {
		const { here } = await world();
		const target_email = address();
		const made = await Promise.all(
			Array.from({ length: 20 }, () => here("POST", "/invites", { body: { target_email } })),
		);
		expect(made.map(({ status }) => status)).toEqual(Array(20).fill(201));
		expect((await here("GET", "/invites")).body.count).toBe(1);
	});

	test("to private projects that the inviter can see, not above its level there", async () => {
		const { ask, id, project } = await world();
		await ask("PATCH", `/api/projects/${project}`, {
			body: { access_control: true },
		});
		const { key, uuid } = await join(id, 1);
		const invite = (access: object) =>
			call("POST", `/api/organizations/${id}/invites`, {
				key,
				body: { target_email: address(), private_project_access: [access] },
			});
		const NONE =
			"Project does not exist on this organization, or it is private and you do not have access to it.";
		const elsewhere = (await world()).project;
		for (const one of [project, elsewhere, 2 ** 30])
			expect(await invite({ id: one, level: 1 })).toMatchObject(
				wrong("invalid_input", NONE, "private_project_access"),
			);
		await ask("POST", `/api/projects/${project}/members`, {
			body: { user_uuid: uuid, level: 1 },
		});
		expect((await invite({ id: project, level: "member" })).status).toBe(201);
		expect(await invite({ id: project, level: "admin" })).toMatchObject(
			wrong(
				"invalid_input",
				"You cannot invite to a private project with a higher level than your own.",
				"private_project_access",
			),
		);
	});

	test("without mail answers the link, and lists it never", async () => {
		const { here } = await world();
		const { accept_url, token } = await invited({ here });
		expect(accept_url).toBe(`https://app.tenantry.test/invites/${token}`);
		expect(token).toMatch(/^[\w-]{43}$/);
		for (const [variables, origin] of [
			[{ MAIL_FROM: "" }, "https://app.tenantry.test"],
			[{ MAIL_FROM: "", APP_URL: "https://a.example/" }, "https://a.example"],
			// Mail without APP_URL could only link to the request's Host header.
			[{ APP_URL: "" }, "https://tenantry.test"],
		] as const) {
			const { body } = await here("POST", "/invites", {
				body: { target_email: address() },
				env: variables,
			});
			expect(body.emailing_attempt_made).toBe(false);
			const [base, secret] = body.accept_url.split("/invites/");
			expect(base).toBe(origin);
			expect(secret).toMatch(/^[\w-]{43}$/);
		}
		const on = await here("POST", "/invites", {
			body: { target_email: address() },
		});
		expect(on.body).not.toHaveProperty("accept_url");
		expect(JSON.stringify((await here("GET", "/invites")).body)).not.toContain(token);
		expect(JSON.stringify(await db.select().from(invites))).not.toContain(token);
	});

	test("answers the link only to a key that may do as much as the key which the link gives", async () => {
		const { id, owner, project } = await world();
		const invite = async (power: Parameters<typeof keyFor>[1]) => {
			const key = await keyFor(owner.id, power);
			const base = `/api/organizations/${id}/invites`;
			const body = { target_email: address(), send_email: false };
			const one = await call("POST", base, { key, body });
			const several = await call("POST", `${base}/bulk`, {
				key,
				body: [{ ...body, target_email: address() }],
			});
			return [one.body.accept_url, several.body.accept_url, several.body.results?.[0].accept_url];
		};
		const link = expect.stringContaining("/invites/");
		expect(await invite({})).toEqual([link, link, link]);
		for (const power of [
			{ scopes: ["organization_member:write"] },
			{ scoped_organizations: [id] },
			{ expires_at: "9999-01-01T00:00:00.000Z" },
		])
			expect(await invite(power)).toEqual([null, null, null]);
		// Such a key reaches no organization path at all.
		expect(await invite({ scoped_projects: [project] })).toEqual(Array(3).fill(undefined));
	});

	test("is listed newest first, and expires after three days", async () => {
		const { here } = await world();
		const [old, young] = [await invited({ here }), await invited({ here })];
		await age(old.id, 3);
		const { body } = await here("GET", "/invites");
		expect(
			body.results.map(({ id, is_expired }: { id: string; is_expired: boolean }) => [
				id,
				is_expired,
			]),
		).toEqual([
			[young.id, false],
			[old.id, true],
		]);
	});

	test("is taken back by admins and by whoever made it", async () => {
		const { here, id } = await world();
		const [one, two] = [await join(id, 1), await join(id, 1)];
		const path = `/api/organizations/${id}/invites`;
		const mine = (
			await call("POST", path, {
				key: one.key,
				body: { target_email: address() },
			})
		).body.id;
		expect(await call("DELETE", `${path}/${mine}`, { key: two.key })).toMatchObject({
			status: 403,
			body: { detail: "Your organization access level is insufficient." },
		});
		expect((await call("DELETE", `${path}/${mine}/`, { key: one.key })).status).toBe(204);
		expect((await here("DELETE", `/invites/${mine}`)).status).toBe(404);
		const other = (
			await call("POST", path, {
				key: one.key,
				body: { target_email: address() },
			})
		).body.id;
		expect((await (await world()).here("DELETE", `/invites/${other}`)).status).toBe(404);
		expect((await here("DELETE", `/invites/${other}`)).status).toBe(204);
	});
});

describe("an organization's mails", () => {
	const mailing = (n: number) => ({ INVITE_MAILS_PER_HOUR: String(n) });
	const throttled = {
		status: 429,
		body: { type: "throttled_error", code: "throttled", attr: null },
	};
	const several = (n: number, more: object = {}) =>
		Array.from({ length: n }, () => ({ target_email: address(), ...more }));

	test("are limited an hour, each of a bulk counts, and invites without mail don't", async () => {
		const { here, id } = await world();
		const invite = (n: number, more: object = {}) =>
			here("POST", "/invites/bulk", {
				body: several(n, more),
				env: mailing(5),
			});
		expect((await invite(3)).status).toBe(200);
		const refused = await invite(3);
		expect(refused).toMatchObject(throttled);
		expect(cost(refused).trips).toBe(1);
		const wait = Number(refused.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(3500);
		expect(wait).toBeLessThanOrEqual(3600);
		expect(refused.body.detail).toBe(
			`Request was throttled. Expected available in ${wait} seconds.`,
		);
		const last = await invite(2);
		expect(last.status).toBe(200);
		expect(cost(last).trips).toBe(2);
		expect(await invite(1)).toMatchObject(throttled);
		expect((await invite(20, { send_email: false })).status).toBe(200);
		expect((await here("GET", "/invites")).body.count).toBe(25);
		// Another organization has its own limit.
		const other = await world();
		const elsewhere = { body: several(5), env: mailing(5) };
		expect((await other.here("POST", "/invites/bulk", elsewhere)).status).toBe(200);
		const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
		await db
			.update(inviteMails)
			.set({ sent_at: hourAgo })
			.where(eq(inviteMails.organization_id, id));
		expect((await invite(5)).status).toBe(200);
		expect(await db.$count(inviteMails, eq(inviteMails.organization_id, id))).toBe(5);
	});

	test("wait for as many mails to be an hour old as the request sends", async () => {
		const { here, id } = await world();
		const env = mailing(4);
		await here("POST", "/invites/bulk", { body: several(4), env });
		const mails = await db.select().from(inviteMails).where(eq(inviteMails.organization_id, id));
		for (const [i, { invite_id }] of mails.entries())
			await db
				.update(inviteMails)
				.set({ sent_at: new Date(Date.now() - i * 600_000).toISOString() })
				.where(eq(inviteMails.invite_id, invite_id));
		const minutes = async (n: number) => {
			const body = several(n);
			const { headers } = await here("POST", "/invites/bulk", { body, env });
			return Math.round(Number(headers.get("retry-after")) / 60);
		};
		expect([await minutes(1), await minutes(2), await minutes(4), await minutes(5)]).toEqual([
			30, 40, 60, 60,
		]);
	});

	test("stay counted when their invites are replaced or deleted", async () => {
		const { here } = await world();
		const target_email = address();
		const invite = () => here("POST", "/invites", { body: { target_email }, env: mailing(2) });
		const { body } = await invite();
		await here("DELETE", `/invites/${body.id}`);
		expect((await invite()).status).toBe(201);
		expect(await invite()).toMatchObject(throttled);
		expect((await here("GET", "/invites")).body.count).toBe(1);
	});

	test("don't exceed the limit when 30 requests race", async () => {
		const { here } = await world();
		const made = await Promise.all(
			Array.from({ length: 30 }, () =>
				here("POST", "/invites", {
					body: { target_email: address() },
					env: mailing(7),
				}),
			),
		);
		expect(made.filter(({ status }) => status === 201)).toHaveLength(7);
		expect(made.filter(({ status }) => status === 429)).toHaveLength(23);
		expect((await here("GET", "/invites")).body.count).toBe(7);
	});

	test("leave the older invite alone when the limit is reached between the check and the write", async () => {
		const { here } = await world();
		const old = await invited({ here });
		const { target_email } = old;
		const env = mailing(1);
		const other = () => here("POST", "/invites", { body: { target_email: address() }, env });
		const refused = await here("POST", "/invites", {
			body: { target_email },
			env: { ...env, ...racing(other) },
		});
		expect(refused).toMatchObject(throttled);
		expect((await here("GET", "/activity_log?activity=created")).body.count).toBe(2);
		expect((await call("GET", `/api/invites/${old.token}`)).status).toBe(200);
	});
});

describe("an organization's open invites", () => {
	const full = wrong(
		"invalid_input",
		"An organization can have at most 1,000 open invites. Delete some, or wait until they are accepted or expire.",
		null,
	);

	/** Adds open invites. */
	const fill = ({ id, owner }: Home, n: number) =>
		times(n, () =>
			db.insert(invites).values({
				organization_id: id,
				target_email: address(),
				created_by: owner.id,
				emailing_attempt_made: false,
				token_hash: v7(),
			}),
		);

	test("are 1,000 at most, also when requests race; replaced and expired ones don't count", async () => {
		const home = await world();
		const { here, id } = home;
		const kept = await invited(home);
		await fill(home, 994);
		const made = await Promise.all(
			Array.from({ length: 12 }, () =>
				here("POST", "/invites", {
					body: { target_email: address(), send_email: false },
				}),
			),
		);
		expect(made.filter(({ status }) => status === 201)).toHaveLength(5);
		for (const answer of made) if (answer.status !== 201) expect(answer).toMatchObject(full);
		const { target_email } = kept;
		const again = { body: { target_email } };
		expect((await here("POST", "/invites", again)).status).toBe(201);
		const two = [{ target_email }, { target_email: address() }];
		expect(await here("POST", "/invites/bulk", { body: two })).toMatchObject(full);
		expect((await here("GET", "/invites?limit=1")).body.count).toBe(1000);
		const old = new Date(Date.now() - 3 * DAY).toISOString();
		await db.update(invites).set({ created_at: old }).where(eq(invites.organization_id, id));
		expect((await here("POST", "/invites/bulk", { body: two })).status).toBe(200);
	});
});

describe("an inviter who could not invite any more", () => {
	const lost = wrong(
		"inviter_lost_access",
		"The person who invited you can no longer do so. Please ask for a new invite.",
		null,
	);

	/** An admin's invite at the admin's level, and what takes from the admin the right to make it. */
	async function admins() {
		const home = await world();
		const admin = await join(home.id, 8);
		const base = `/api/organizations/${home.id}/invites`;
		const { body } = await call("POST", base, {
			key: admin.key,
			body: { target_email: address(), level: 8, send_email: false },
		});
		const token = String(body.accept_url).split("/").at(-1) ?? "";
		const mine = eq(members.user_id, admin.id);
		const loses: Record<string, () => Promise<unknown>> = {
			"has left": async () => db.delete(members).where(mine),
			"is deactivated": async () =>
				db.update(users).set({ is_active: false }).where(eq(users.id, admin.id)),
			"stands below its level": async () => db.update(members).set({ level: 1 }).where(mine),
		};
		return { ...home, admin, token, loses };
	}

	const ways = ["has left", "is deactivated", "stands below its level"];

	test.each(ways)("makes an invite worth nothing: %s", async (way) => {
		const { here, token, loses, admin } = await admins();
		await loses[way]?.();
		expect(await accept(token)).toMatchObject(lost);
		expect((await call("GET", `/api/invites/${token}`)).body).toMatchObject({
			is_expired: true,
		});
		expect((await here("GET", "/invites")).body.results).toMatchObject([
			{ is_expired: true, created_by: { uuid: admin.uuid } },
		]);
		const page = await call("GET", `/invites/${token}`);
		expect(page.status).toBe(410);
		expect(page.body).toContain("can no longer do so");
		expect((await call("POST", `/invites/${token}`)).status).toBe(410);
	});

	test.each(ways)("is noticed in the write itself: %s", async (way) => {
		const { here, token, loses } = await admins();
		const before = (await here("GET", "/members")).body.count;
		expect(await accept(token, { env: racing(async () => loses[way]?.()) })).toMatchObject(lost);
		expect((await here("GET", "/invites")).body.count).toBe(1);
		expect((await here("GET", "/members")).body.count).toBeLessThanOrEqual(before);
		expect((await here("GET", "/activity_log?activity=accepted")).body.count).toBe(0);
	});

	test("doesn't matter while it stands at the invite's level", async () => {
		const { token, admin } = await admins();
		await db.update(members).set({ level: 15 }).where(eq(members.user_id, admin.id));
		expect((await accept(token)).status).toBe(200);
	});

	test("of a private project leaves that project out", async () => {
		const home = await world();
		const { ask, id, project } = home;
		const other = (await ask("POST", "/api/projects", { body: { name: "Other" } })).body.id;
		const inviter = await join(id, 1);
		for (const one of [project, other]) {
			await ask("PATCH", `/api/projects/${one}`, {
				body: { access_control: true },
			});
			await ask("POST", `/api/projects/${one}/members`, {
				body: { user_uuid: inviter.uuid, level: 8 },
			});
		}
		const make = async () => {
			const { body } = await call("POST", `/api/organizations/${id}/invites`, {
				key: inviter.key,
				body: {
					target_email: address(),
					send_email: false,
					private_project_access: [
						{ id: project, level: "admin" },
						{ id: other, level: "member" },
					],
				},
			});
			return String(body.accept_url).split("/").at(-1) ?? "";
		};
		const joined = async (token: string) => {
			const { user } = (await accept(token)).body;
			const rows = await db
				.select()
				.from(projectMembers)
				.where(eq(projectMembers.user_id, user.id));
			return rows.map(({ project_id, level }) => [project_id, level]);
		};
		const [both, one, none] = [await make(), await make(), await make()];
		expect((await joined(both)).toSorted()).toEqual(
			[
				[project, 8],
				[other, 1],
			].toSorted(),
		);
		await db.update(projectMembers).set({ level: 1 }).where(eq(projectMembers.user_id, inviter.id));
		expect(await joined(one)).toEqual([[other, 1]]);
		await db.delete(projectMembers).where(eq(projectMembers.user_id, inviter.id));
		expect(await joined(none)).toEqual([]);
	});
});

describe("inviting several", () => {
	test("answers the first, and all in the order of the request", async () => {
		const { here } = await world();
		const emails = Array.from({ length: 20 }, address);
		const { status, body } = await here("POST", "/invites/bulk/", {
			body: emails.map((target_email, i) => ({
				target_email,
				first_name: `${i}`,
				send_email: i > 0,
			})),
		});
		expect(status).toBe(200);
		expect(body).toMatchObject({
			target_email: emails[0],
			first_name: "0",
			count: 20,
		});
		expect(body.results.map(({ target_email }: { target_email: string }) => target_email)).toEqual(
			emails,
		);
		expect(body.results[0].accept_url).toContain("/invites/");
		expect(body.results[1].accept_url).toBeUndefined();
		expect((await here("GET", "/activity_log?scope=Invite")).body.count).toBe(20);
	});

	test.each([
		[
			{ target_email: "x@y.zz" },
			"invalid_input",
			"This endpoint needs an array of data for bulk invite creation.",
			null,
		],
		[null, "invalid_input", "This endpoint needs an array of data for bulk invite creation.", null],
		[[], "empty", "This list may not be empty.", null],
		[
			Array.from({ length: 21 }, (_, i) => ({ target_email: `${i}@y.zz` })),
			"max_length",
			"A maximum of 20 invites can be sent in a single request.",
			null,
		],
		[
			[{ target_email: "a@y.zz" }, { target_email: "x" }],
			"invalid_input",
			"Enter a valid email address.",
			"1__target_email",
		],
		[[{ target_email: "a@y.zz" }, "x"], "invalid_input", "Expected a dictionary of items.", "1"],
		[[{ target_email: "a@y.zz" }, {}], "required", "This field is required.", "1__target_email"],
		[
			[{ target_email: "a@y.zz" }, { target_email: " A@Y.zz" }],
			"invalid_input",
			"This address is in the request more than once.",
			"1__target_email",
		],
		[
			[
				{ target_email: "a@y.zz" },
				{
					target_email: "b@y.zz",
					private_project_access: [{ id: 0, level: 1 }],
				},
			],
			"invalid_input",
			"Project does not exist on this organization, or it is private and you do not have access to it.",
			"1__private_project_access",
		],
	])("%j is refused, whole", async (body, code, detail, attr) => {
		const { here } = await world();
		expect(await here("POST", "/invites/bulk", { body })).toMatchObject(wrong(code, detail, attr));
		expect((await here("GET", "/invites")).body.count).toBe(0);
	});

	test("is all or nothing also where one is a member, or above the inviter", async () => {
		const { here, owner, id } = await world();
		expect(
			(
				await here("POST", "/invites/bulk", {
					body: [{ target_email: address() }, { target_email: owner.email }],
				})
			).status,
		).toBe(400);
		const { key } = await join(id, 1);
		expect(
			(
				await call("POST", `/api/organizations/${id}/invites/bulk`, {
					key,
					body: [{ target_email: address() }, { target_email: address(), level: 15 }],
				})
			).status,
		).toBe(403);
		expect((await here("GET", "/invites")).body.count).toBe(0);
	});
});

describe("whoever holds the link", () => {
	test("sees what the invite is for, and nothing else", async () => {
		const { here } = await world("Acme & Co");
		const { token, target_email } = await invited({ here }, { first_name: "Ada" });
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
		const { ask, here, project, id } = home;
		await ask("PATCH", `/api/projects/${project}`, {
			body: { access_control: true },
		});
		const gone = (await ask("POST", "/api/projects", { body: { name: "Gone" } })).body.id;
		const { token, target_email } = await invited(home, {
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
		expect(organization).toEqual({
			id,
			name: "Acme",
			slug: expect.any(String),
			membership_level: 1,
		});
		expect(user).toMatchObject({
			email: target_email,
			first_name: "Ada",
			last_name: "Byron",
			is_email_verified: false,
		});
		expect(personal_api_key).toMatchObject({
			scopes: ["*"],
			value: expect.stringMatching(/^tnt_/),
			scoped_organizations: [],
		});
		const key = personal_api_key.value;
		const me = await call("GET", "/api/users/@me", { key });
		expect(me.body).toMatchObject({
			uuid: user.uuid,
			organization: { id },
			project: { id: project },
		});
		expect(cost(me).trips).toBe(1);
		const [access] = await db
			.select()
			.from(projectMembers)
			.where(eq(projectMembers.user_id, user.id));
		expect(access).toMatchObject({ project_id: project, level: 8 });
		expect((await here("GET", "/members")).body.count).toBe(2);
		expect((await here("GET", "/invites")).body.count).toBe(0);
		expect((await here("GET", "/activity_log?activity=accepted")).body.results).toMatchObject([
			{ scope: "Invite", user: { uuid: user.uuid } },
		]);
		expect((await accept(token)).status).toBe(404);
		expect((await call("GET", `/api/invites/${token}`)).status).toBe(404);
	});

	test("that is none finds nothing before its body is judged", async () => {
		const body = { first_name: 5 };
		expect((await accept("nope", { body })).status).toBe(404);
	});

	test("whose address the mail reached has a verified address", async () => {
		const { here } = await world();
		const { token, id: invite } = await invited({ here });
		await db.update(invites).set({ emailing_attempt_made: true }).where(eq(invites.id, invite));
		expect((await accept(token)).body.user.is_email_verified).toBe(true);
	});

	/** An invite whose link a mail carried. */
	async function mailed(home: Pick<Home, "here">, fields: object) {
		const invite = await invited(home, fields);
		await db.update(invites).set({ emailing_attempt_made: true }).where(eq(invites.id, invite.id));
		return invite;
	}

	const verify = (id: number) =>
		db.update(users).set({ is_email_verified: true }).where(eq(users.id, id));

	test("who is a user already becomes a member, and gets no key", async () => {
		const { here, id } = await world();
		const someone = await person();
		await verify(someone.id);
		const join = [
			[await mailed({ here }, { target_email: someone.email, level: 8 }), {}],
			[undefined, { key: someone.key }],
		] as const;
		for (const [ready, asked] of join) {
			const { token } =
				ready ?? (await invited({ here }, { target_email: someone.email, level: 8 }));
			const { status, body } = await accept(token, {
				...asked,
				body: { first_name: "Other" },
			});
			expect(status).toBe(200);
			expect(body.personal_api_key).toBeNull();
			expect(body.user).toMatchObject({
				first_name: "Test",
				uuid: someone.uuid,
			});
			const path = `/api/organizations/${id}`;
			const mine = await call("GET", path, { key: someone.key });
			expect(mine.body.membership_level).toBe(8);
			await db.delete(members).where(eq(members.user_id, someone.id));
		}
	});

	test("which no mail carried, joins no existing user without its key", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await invited({ here }, { target_email: someone.email });
		expect(await accept(token)).toMatchObject(
			wrong(
				"invalid_recipient",
				"A user with this address already exists. Accept the invite with an API key of that user.",
				null,
			),
		);
		expect((await here("GET", "/members")).body.count).toBe(1);
		expect((await accept(token, { key: someone.key })).status).toBe(200);
	});

	test("which a mail carried, takes over a user whose address nobody had proved", async () => {
		const attacker = await world();
		const target_email = address();
		const own = await invited(attacker, { target_email });
		const stolen = (await accept(own.token)).body.personal_api_key.value;
		const home = await world();
		const { token } = await mailed(home, { target_email, level: 8 });
		const { body } = await accept(token);
		expect(body.user.is_email_verified).toBe(true);
		expect(body.personal_api_key.value).toMatch(/^tnt_/);
		expect((await call("GET", "/api/users/@me", { key: stolen })).status).toBe(401);
		const key = body.personal_api_key.value;
		const path = `/api/organizations/${home.id}/members`;
		expect((await call("GET", path, { key })).status).toBe(200);
	});

	test("which a mail carried, revokes no keys of a user who accepts with one of them", async () => {
		const home = await world();
		const someone = await person();
		const { token } = await mailed(home, { target_email: someone.email });
		const { status, body } = await accept(token, { key: someone.key });
		expect(status).toBe(200);
		expect(body.personal_api_key).toBeNull();
		const me = await call("GET", "/api/users/@me", { key: someone.key });
		expect(me).toMatchObject({
			status: 200,
			body: { is_email_verified: true, organization: { id: home.id } },
		});
	});

	test("revokes no keys when the address is proved while it is accepted", async () => {
		const someone = await person();
		const { token } = await mailed(await world(), {
			target_email: someone.email,
		});
		const prove = async () => verify(someone.id);
		const { status, body } = await accept(token, { env: racing(prove) });
		expect(status).toBe(200);
		expect(body.personal_api_key).toBeNull();
		expect((await call("GET", "/api/users/@me", { key: someone.key })).status).toBe(200);
	});

	test("with a key that is revoked while it is accepted, changes nothing", async () => {
		const home = await world();
		const someone = await person();
		const { token } = await invited(home, { target_email: someone.email });
		const revoke = () => db.delete(personalApiKeys).where(eq(personalApiKeys.user_id, someone.id));
		const answer = await accept(token, {
			key: someone.key,
			env: racing(async () => revoke()),
		});
		expect(answer.status).toBe(401);
		expect((await home.here("GET", "/members")).body.count).toBe(1);
		expect((await home.here("GET", "/invites")).body.count).toBe(1);
	});

	test("works in the organization from then on", async () => {
		const [own, home] = [await world(), await world()];
		const { id, email, key } = own.owner;
		await verify(id);
		const { token } = await mailed(home, { target_email: email });
		expect((await own.ask("GET", "/api/users/@me")).body).toMatchObject({
			organization: { id: own.id },
			project: { id: own.project },
		});
		expect((await accept(token)).status).toBe(200);
		expect((await call("GET", "/api/users/@me", { key })).body).toMatchObject({
			organization: { id: home.id },
			project: { id: home.project },
		});
	});

	test("that is replaced while it is accepted is unknown, and nothing happened", async () => {
		for (const someone of [undefined, await person()]) {
			const home = await world();
			const target_email = someone?.email ?? address();
			const { token } = await mailed(home, { target_email });
			const again = () => home.here("POST", "/invites", { body: { target_email } });
			const answer = await accept(token, { env: racing(again) });
			expect(answer.status).toBe(404);
			expect((await home.here("GET", "/members")).body.count).toBe(1);
			expect((await home.here("GET", "/invites")).body.count).toBe(1);
			const log = await home.here("GET", "/activity_log?activity=accepted");
			expect(log.body.count).toBe(0);
		}
	});

	test("with a key that is expired, or whose owner is deactivated, is refused as anywhere", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await invited({ here }, { target_email: someone.email });
		const old = await keyFor(someone.id, { expires_at: "2020-01-01" });
		expect((await accept(token, { key: old })).status).toBe(401);
		await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		const look = `/api/invites/${token}`;
		expect((await call("GET", look, { key: someone.key })).status).toBe(401);
		expect((await accept(token, { key: someone.key })).status).toBe(401);
	});

	test("comes too late after three days", async () => {
		const { here } = await world();
		const { token, id } = await invited({ here });
		await age(id, 3);
		expect((await call("GET", `/api/invites/${token}`)).body.is_expired).toBe(true);
		expect(await accept(token)).toMatchObject(
			wrong("expired", "This invite has expired. Please ask your admin for a new one.", null),
		);
	});

	test("with another’s key, a bad key, or as a member already, is refused", async () => {
		const { here, id } = await world();
		const someone = await person();
		const { token } = await invited({ here });
		expect(await accept(token, { key: someone.key })).toMatchObject({
			status: 400,
			body: { code: "invalid_recipient", attr: null },
		});
		expect((await accept(token, { key: "tnt_x" })).status).toBe(401);
		const revoked = await keyFor(someone.id);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(revoked)));
		expect((await accept(token, { key: revoked })).status).toBe(401);
		const { token: late, target_email } = await invited({ here }, { target_email: someone.email });
		await db.insert(members).values({ organization_id: id, user_id: someone.id, level: 1 });
		expect(await accept(late)).toMatchObject({
			status: 400,
			body: { code: "user_already_member", attr: null },
		});
		expect(target_email).toBe(someone.email);
	});

	test("of a user that was deactivated stays out", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await invited({ here }, { target_email: someone.email });
		await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		expect((await accept(token)).body.code).toBe("invalid_recipient");
		expect((await here("GET", "/members")).body.count).toBe(1);
	});

	test.each(["x", "x".repeat(43), "%00", "..%2f"])(
		"with a token that is none, %j, finds nothing",
		async (token) => {
			expect(await accept(token)).toMatchObject({
				status: 404,
				body: { code: "not_found", detail: "Not found." },
			});
			expect((await call("GET", `/api/invites/${token}`)).status).toBe(404);
		},
	);

	test("who guesses is told to wait", async () => {
		const headers = { "cf-connecting-ip": "192.0.2.77" };
		const guess = async () =>
			(await call("GET", `/api/invites/${"y".repeat(43)}`, { headers })).status;
		expect(await guess()).toBe(404);
		await eventually(async () => {
			await exhaust(env.AUTH_FAILURES, headers["cf-connecting-ip"]);
			expect(await guess()).toBe(429);
		});
	});

	test("20 times at once becomes one user with one membership and one key", async () => {
		const { here } = await world();
		const { token, target_email } = await invited({ here });
		const answers = await Promise.all(Array.from({ length: 20 }, () => accept(token)));
		const good = answers.filter(({ status }) => status === 200);
		expect(good).toHaveLength(1);
		for (const { status, body } of answers)
			if (status !== 200) expect([404, 400]).toContain(status || body);
		expect((await here("GET", "/members")).body.count).toBe(2);
		const made = await db.select().from(users).where(eq(users.email, target_email));
		expect(made).toHaveLength(1);
		expect(
			await db
				.select()
				.from(personalApiKeys)
				.where(eq(personalApiKeys.user_id, made[0]?.id ?? 0)),
		).toHaveLength(1);
		expect((await here("GET", "/activity_log?activity=accepted")).body.count).toBe(1);
	});

	test("which no mail carried, joins no user who appears while it is accepted", async () => {
		const [one, two] = [await world(), await world()];
		const target_email = address();
		const first = await invited(one, { target_email });
		const second = await invited(two, { target_email });
		const answer = await accept(second.token, {
			env: racing(() => accept(first.token)),
		});
		expect(answer).toMatchObject({
			status: 400,
			body: { code: "invalid_recipient" },
		});
		expect((await two.here("GET", "/members")).body.count).toBe(1);
	});

	test("which a mail carried, takes over a user who appears while it is accepted", async () => {
		const [attacker, home] = [await world(), await world()];
		const target_email = address();
		const own = await invited(attacker, { target_email });
		const { token } = await mailed(home, { target_email });
		let stolen = "";
		const steal = async () => {
			stolen = (await accept(own.token)).body.personal_api_key.value;
		};
		const { status, body } = await accept(token, { env: racing(steal) });
		expect(status).toBe(200);
		expect((await call("GET", "/api/users/@me", { key: stolen })).status).toBe(401);
		const key = body.personal_api_key.value;
		expect((await call("GET", "/api/users/@me", { key })).status).toBe(200);
	});

	test("of a user who is deactivated while it is accepted stays out", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await mailed({ here }, { target_email: someone.email });
		const deactivate = async () =>
			db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		const answer = await accept(token, { env: racing(deactivate) });
		expect(answer.body.code).toBe("invalid_recipient");
		expect((await here("GET", "/members")).body.count).toBe(1);
	});

	test("invited by two organizations at once becomes one user, member of both", async () => {
		const [one, two] = [await world(), await world()];
		const target_email = address();
		const tokens = [
			(await mailed(one, { target_email })).token,
			(await mailed(two, { target_email })).token,
		];
		const answers = await Promise.all(tokens.map((token) => accept(token)));
		expect(answers.map(({ status }) => status)).toEqual([200, 200]);
		const keys = answers.flatMap(({ body }) =>
			body.personal_api_key ? [body.personal_api_key.value] : [],
		);
		expect(keys).toHaveLength(1);
		expect((await call("GET", "/api/organizations", { key: keys[0] })).body.count).toBe(2);
	});
});

test("what is wrong with the names of an acceptance is said, and the invite stays", async () => {
	const { here } = await world();
	const { token } = await invited({ here });
	expect(await accept(token, { body: { first_name: 7 } })).toMatchObject(
		wrong("invalid_input", "Not a valid string.", "first_name"),
	);
	expect((await accept(token)).status).toBe(200);
});
