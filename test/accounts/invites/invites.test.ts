import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { digest } from "../../../src/auth/keys.ts";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { inviteMails, invites } from "../../../src/db/schema/invites.ts";
import { members } from "../../../src/db/schema/members.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { projectMembers } from "../../../src/db/schema/project_members.ts";
import { users } from "../../../src/db/schema/users.ts";
import { orNotFound } from "../../../src/http/errors.ts";
import worker from "../../../src/worker.ts";
import { wrong } from "../../support/errors.ts";
import { eventually, exhaust } from "../../support/time.ts";
import {
	call,
	cost,
	db,
	join,
	keyFor,
	person,
	racing,
	serviceAccount,
	times,
	world,
} from "../../support/world.ts";

const address = () => `${v7()}@invited.test`;
const DAY = 86_400_000;
const HOUR = 3_600_000;

type Home = Awaited<ReturnType<typeof world>>;

/** A new invite that isn't mailed, with the token of its link. */
async function createInvite({ here }: Pick<Home, "here">, fields: object = {}) {
	const { status, body } = await here("POST", "/invites", {
		body: { target_email: address(), send_email: false, ...fields },
	});
	expect(status).toBe(201);
	return { ...body, token: String(body.accept_url).split("/").at(-1) ?? "" };
}

/** Makes the invite `days` old. */
const age = (id: string, days: number) =>
	db
		.update(invites)
		.set({ created_at: new Date(Date.now() - days * DAY).toISOString() })
		.where(eq(invites.id, id));

const accept = (token: string, options: Parameters<typeof call>[2] = {}) =>
	call("POST", `/api/invites/${token}/accept`, {
		headers: { "cf-connecting-ip": v7() },
		...options,
	});

describe("inviting", () => {
	test("returns the invite with all fields", async () => {
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

	test("saves all writable fields", async () => {
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
	])("%j is rejected", async (body, code, detail, attr) => {
		const { here } = await world();
		expect(await here("POST", "/invites", { body })).toMatchObject(wrong(code, detail, attr));
	});

	test("is allowed to any member, up to its own level", async () => {
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

	test("an existing member is rejected, ignoring the case of the address", async () => {
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

	test("the same address again replaces the older invite", async () => {
		const { here } = await world();
		const older = await createInvite({ here });
		const newer = await createInvite({ here }, { target_email: older.target_email.toUpperCase() });
		expect((await here("GET", "/invites")).body).toMatchObject({
			count: 1,
			results: [{ id: newer.id }],
		});
		expect((await call("GET", `/api/invites/${older.token}`)).status).toBe(404);
		expect((await call("GET", `/api/invites/${newer.token}`)).status).toBe(200);
	});

	test("the same address in 20 parallel requests leaves one invite", async () => {
		const { here } = await world();
		const target_email = address();
		const responses = await Promise.all(
			Array.from({ length: 20 }, () =>
				here("POST", "/invites", { body: { target_email, send_email: false } }),
			),
		);
		expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));
		expect((await here("GET", "/invites")).body.count).toBe(1);
	});

	test("to private projects requires that the inviter sees them, at the same level or above", async () => {
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
		const NOT_VISIBLE =
			"Project does not exist on this organization, or it is private and you do not have access to it.";
		const elsewhere = (await world()).project;
		for (const id of [project, elsewhere, 2 ** 30])
			expect(await invite({ id, level: 1 })).toMatchObject(
				wrong("invalid_input", NOT_VISIBLE, "private_project_access"),
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

	test("without mail returns the link, which no list shows", async () => {
		const { here } = await world();
		const { accept_url, token } = await createInvite({ here });
		expect(accept_url).toBe(`https://app.tenantry.test/invites/${token}`);
		expect(token).toMatch(/^[\w-]{43}$/);
		for (const [variables, origin] of [
			[{ MAIL_FROM: "" }, "https://app.tenantry.test"],
			[{ MAIL_FROM: "", APP_URL: "https://a.example/" }, "https://a.example"],
			// Without APP_URL, a mail could only use the Host header for its link.
			[{ APP_URL: "" }, "https://tenantry.test"],
		] as const) {
			const { body } = await here("POST", "/invites", {
				body: { target_email: address() },
				env: variables,
			});
			expect(body.emailing_attempt_made).toBe(false);
			const [base, value] = body.accept_url.split("/invites/");
			expect(base).toBe(origin);
			expect(value).toMatch(/^[\w-]{43}$/);
		}
		const mailed = await here("POST", "/invites", {
			body: { target_email: address() },
		});
		expect(mailed.body).not.toHaveProperty("accept_url");
		expect(JSON.stringify((await here("GET", "/invites")).body)).not.toContain(token);
		expect(JSON.stringify(await db.select().from(invites))).not.toContain(token);
	});

	test("returns the link only to a key that may do as much as the key that a new user gets through it", async () => {
		const { id, owner, project } = await world();
		const invite = async (restrictions: Parameters<typeof keyFor>[1]) => {
			const key = await keyFor(owner.id, restrictions);
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
		for (const restrictions of [
			{ scopes: ["organization_member:write"] },
			{ scoped_organizations: [id] },
			{ expires_at: "9999-01-01T00:00:00.000Z" },
		])
			expect(await invite(restrictions)).toEqual([null, null, null]);
		// A key that is restricted to projects can't call an organization's paths.
		expect(await invite({ scoped_projects: [project] })).toEqual(Array(3).fill(undefined));
	});

	test("lists invites newest first, and they expire after three days", async () => {
		const { here } = await world();
		const [old, young] = [await createInvite({ here }), await createInvite({ here })];
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

	test("can be undone by admins and by the inviter", async () => {
		const { here, id } = await world();
		const [inviter, other] = [await join(id, 1), await join(id, 1)];
		const path = `/api/organizations/${id}/invites`;
		const first = (
			await call("POST", path, {
				key: inviter.key,
				body: { target_email: address() },
			})
		).body.id;
		expect(await call("DELETE", `${path}/${first}`, { key: other.key })).toMatchObject({
			status: 403,
			body: { detail: "Your organization access level is insufficient." },
		});
		expect((await call("DELETE", `${path}/${first}/`, { key: inviter.key })).status).toBe(204);
		expect((await here("DELETE", `/invites/${first}`)).status).toBe(404);
		const second = (
			await call("POST", path, {
				key: inviter.key,
				body: { target_email: address() },
			})
		).body.id;
		expect((await (await world()).here("DELETE", `/invites/${second}`)).status).toBe(404);
		expect((await here("DELETE", `/invites/${second}`)).status).toBe(204);
	});
});

describe("an organization's mails", () => {
	const mailLimit = (n: number) => ({ INVITE_MAILS_PER_HOUR: String(n) });
	const throttled = {
		status: 429,
		body: { type: "throttled_error", code: "throttled", attr: null },
	};
	const several = (n: number, more: object = {}) =>
		Array.from({ length: n }, () => ({ target_email: address(), ...more }));

	test("have an hourly limit, to which each invite of a bulk request counts unless it isn't mailed", async () => {
		const { here, id } = await world();
		const invite = (n: number, more: object = {}) =>
			here("POST", "/invites/bulk", {
				body: several(n, more),
				env: mailLimit(5),
			});
		expect((await invite(3)).status).toBe(200);
		const rejected = await invite(3);
		expect(rejected).toMatchObject(throttled);
		expect(cost(rejected).trips).toBe(1);
		const wait = Number(rejected.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(3500);
		expect(wait).toBeLessThanOrEqual(3600);
		expect(rejected.body.detail).toBe(
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
		const elsewhere = { body: several(5), env: mailLimit(5) };
		expect((await other.here("POST", "/invites/bulk", elsewhere)).status).toBe(200);
		const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
		await db
			.update(inviteMails)
			.set({ sent_at: hourAgo })
			.where(eq(inviteMails.organization_id, organizationId(id)));
		expect((await invite(5)).status).toBe(200);
	});

	test("are rejected with the time until enough mails are an hour old", async () => {
		const { here, id } = await world();
		const env = mailLimit(4);
		await here("POST", "/invites/bulk", { body: several(4), env });
		const mails = await db
			.select()
			.from(inviteMails)
			.where(eq(inviteMails.organization_id, organizationId(id)));
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

	test("still count when their invites are replaced or deleted", async () => {
		const { here } = await world();
		const target_email = address();
		const invite = () => here("POST", "/invites", { body: { target_email }, env: mailLimit(2) });
		const { body } = await invite();
		await here("DELETE", `/invites/${body.id}`);
		expect((await invite()).status).toBe(201);
		expect(await invite()).toMatchObject(throttled);
		expect((await here("GET", "/invites")).body.count).toBe(1);
	});

	test("don't exceed the limit when 30 requests race", async () => {
		const { here } = await world();
		const responses = await Promise.all(
			Array.from({ length: 30 }, () =>
				here("POST", "/invites", {
					body: { target_email: address() },
					env: mailLimit(7),
				}),
			),
		);
		expect(responses.filter(({ status }) => status === 201)).toHaveLength(7);
		expect(responses.filter(({ status }) => status === 429)).toHaveLength(23);
		expect((await here("GET", "/invites")).body.count).toBe(7);
	});

	test("don't replace the older invite if the limit is reached between the check and the write", async () => {
		const { here } = await world();
		const old = await createInvite({ here });
		const { target_email } = old;
		const env = mailLimit(1);
		const other = () => here("POST", "/invites", { body: { target_email: address() }, env });
		const rejected = await here("POST", "/invites", {
			body: { target_email },
			env: { ...env, ...racing(other) },
		});
		expect(rejected).toMatchObject(throttled);
		expect((await here("GET", "/activity_log?activity=created")).body.count).toBe(2);
		expect((await call("GET", `/api/invites/${old.token}`)).status).toBe(200);
	});
});

describe("mails over all organizations", () => {
	const throttled = { status: 429, body: { code: "throttled" } };

	/** Invites an address to the organization. */
	const invite = ({ here }: Pick<Home, "here">, target_email: string, options: object = {}) =>
		here("POST", "/invites", { body: { target_email }, ...options });

	/** Another organization of the same owner. */
	async function second({ ask }: Home) {
		const { body } = await ask("POST", "/api/organizations", { body: { name: "Second" } });
		return {
			id: String(body.id),
			here: (method: string, path: string, options: object = {}) =>
				ask(method, `/api/organizations/${body.id}${path}`, options),
		};
	}

	/** Makes the mails to an address `ms` older. */
	const age = (address: string, ms: number) =>
		db
			.update(inviteMails)
			.set({ sent_at: new Date(Date.now() - ms).toISOString() })
			.where(eq(inviteMails.stranger, address));

	test("have an hourly limit for each sender, also if requests race, and after an organization was deleted", async () => {
		const home = await world();
		const [other, third] = [await second(home), await second(home)];
		const env = { INVITE_MAILS_PER_HOUR: "5" };
		const answers = await Promise.all(
			Array.from({ length: 12 }, (_, i) =>
				invite([home, other][i % 2] ?? home, address(), { env }),
			),
		);
		expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
		for (const answer of answers)
			if (answer.status !== 201) expect(answer).toMatchObject(throttled);
		await other.here("DELETE", "");
		const rejected = await invite(third, address(), { env });
		expect(rejected).toMatchObject(throttled);
		expect(Number(rejected.headers.get("retry-after"))).toBeGreaterThan(3500);
		// Another sender of one of the organizations isn't concerned, up to that organization's limit.
		const admin = await join(third.id, 8);
		const path = `/api/organizations/${third.id}/invites`;
		const body = { target_email: address() };
		expect((await call("POST", path, { key: admin.key, body, env })).status).toBe(201);
	});

	test("of service accounts count as those of the member who created the account", async () => {
		const home = await world();
		const other = await second(home);
		const env = { INVITE_MAILS_PER_HOUR: "2" };
		const account = await serviceAccount({ ...other, owner: home.owner });
		const key = await keyFor(account.user_id, { scoped_organizations: [other.id] });
		const byAccount = () => invite(other, address(), { env, key });
		expect((await byAccount()).status).toBe(201);
		expect((await invite(home, address(), { env })).status).toBe(201);
		expect(await invite(home, address(), { env })).toMatchObject(throttled);
		expect(await byAccount()).toMatchObject(throttled);
		// Once the creator has left, they don't share a limit.
		await join(other.id, 15);
		await db.delete(members).where(eq(members.user_id, home.owner.id));
		expect((await byAccount()).status).toBe(201);
	});

	test("to an address are at most ten a day from strangers, also if requests race; the others can hand links over", async () => {
		const homes = await Promise.all(Array.from({ length: 4 }, () => world()));
		const target_email = address();
		const answers = await Promise.all(
			Array.from({ length: 16 }, (_, i) => invite(orNotFound(homes[i % 4]), target_email)),
		);
		expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
		for (const answer of answers)
			if (answer.status !== 201) expect(answer).toMatchObject(throttled);
		const home = await world();
		const rejected = await invite(home, target_email.toUpperCase());
		expect(rejected).toMatchObject(throttled);
		expect(cost(rejected).trips).toBe(1);
		const wait = Number(rejected.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(86_300);
		expect(wait).toBeLessThanOrEqual(86_400);
		// All or nothing, and other addresses aren't concerned.
		const bulk = (emails: string[], more: object = {}) =>
			home.here("POST", "/invites/bulk", {
				body: emails.map((target_email) => ({ target_email, ...more })),
			});
		expect(await bulk([address(), target_email])).toMatchObject(throttled);
		expect((await home.here("GET", "/invites")).body.count).toBe(0);
		expect((await bulk([address(), address()])).status).toBe(200);
		expect((await bulk([target_email], { send_email: false })).body.accept_url).toBeDefined();
		await age(target_email, DAY - 60_000);
		expect((await invite(home, target_email)).headers.get("retry-after")).toMatch(/^(59|60)$/);
		await age(target_email, DAY);
		expect((await invite(home, target_email)).status).toBe(201);
	});

	test("from people who share an organization with the address don't count, and aren't limited by those of strangers", async () => {
		const [home, stranger] = [await world(), await world()];
		const other = await second(home);
		const known = await join(home.id, 1);
		for (let i = 0; i < 12; i++) expect((await invite(other, known.email)).status).toBe(201);
		for (let i = 0; i < 10; i++) expect((await invite(stranger, known.email)).status).toBe(201);
		expect(await invite(stranger, known.email)).toMatchObject(throttled);
		expect((await invite(other, known.email)).status).toBe(201);
		await db.delete(members).where(eq(members.user_id, known.id));
		expect(await invite(other, known.email)).toMatchObject(throttled);
	});

	test("are forgotten after a day, by the schedule", async () => {
		const [home, target_email, young] = [await world(), address(), address()];
		await invite(home, target_email);
		await invite(home, young);
		await age(target_email, DAY + HOUR);
		const scheduledTime = new Date(Math.floor(Date.now() / HOUR) * HOUR);
		await worker.scheduled(createScheduledController({ cron: "* * * * *", scheduledTime }), env);
		const left = await db
			.select({ stranger: inviteMails.stranger })
			.from(inviteMails)
			.where(eq(inviteMails.organization_id, organizationId(home.id)));
		expect(left).toEqual([{ stranger: young }]);
	});
});

describe("an organization's open invites", () => {
	const full = wrong(
		"invalid_input",
		"An organization can have at most 1,000 open invites. Delete some, or wait until they are accepted or expire.",
		null,
	);

	/** Inserts `n` open invites. */
	const fill = ({ id, owner }: Home, n: number) =>
		times(n, () =>
			db.insert(invites).values({
				organization_id: organizationId(id),
				target_email: address(),
				created_by: owner.id,
				emailing_attempt_made: false,
				token_hash: v7(),
			}),
		);

	test("are at most 1,000, even if requests race; replaced and expired ones don't count", async () => {
		const home = await world();
		const { here, id } = home;
		const kept = await createInvite(home);
		await fill(home, 994);
		const responses = await Promise.all(
			Array.from({ length: 12 }, () =>
				here("POST", "/invites", {
					body: { target_email: address(), send_email: false },
				}),
			),
		);
		expect(responses.filter(({ status }) => status === 201)).toHaveLength(5);
		for (const answer of responses) if (answer.status !== 201) expect(answer).toMatchObject(full);
		const { target_email } = kept;
		const replacement = { body: { target_email } };
		expect((await here("POST", "/invites", replacement)).status).toBe(201);
		const two = [{ target_email }, { target_email: address() }];
		expect(await here("POST", "/invites/bulk", { body: two })).toMatchObject(full);
		expect((await here("GET", "/invites?limit=1")).body.count).toBe(1000);
		const old = new Date(Date.now() - 3 * DAY).toISOString();
		await db
			.update(invites)
			.set({ created_at: old })
			.where(eq(invites.organization_id, organizationId(id)));
		expect((await here("POST", "/invites/bulk", { body: two })).status).toBe(200);
	});
});

describe("an inviter who may no longer invite", () => {
	const lost = wrong(
		"inviter_lost_access",
		"The person who invited you can no longer do so. Please ask for a new invite.",
		null,
	);

	/** An admin's invite at the admin's level, and ways in which the admin loses the right to it. */
	async function adminInvite() {
		const home = await world();
		const admin = await join(home.id, 8);
		const base = `/api/organizations/${home.id}/invites`;
		const { body } = await call("POST", base, {
			key: admin.key,
			body: { target_email: address(), level: 8, send_email: false },
		});
		const token = String(body.accept_url).split("/").at(-1) ?? "";
		const membership = eq(members.user_id, admin.id);
		const loses: Record<string, () => Promise<unknown>> = {
			"has left": async () => db.delete(members).where(membership),
			"is deactivated": async () =>
				db.update(users).set({ is_active: false }).where(eq(users.id, admin.id)),
			"is below the invite's level": async () =>
				db.update(members).set({ level: 1 }).where(membership),
		};
		return { ...home, admin, token, loses };
	}

	const ways = ["has left", "is deactivated", "is below the invite's level"];

	test.each(ways)("makes the invite expired: %s", async (way) => {
		const { here, token, loses, admin } = await adminInvite();
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

	test.each(ways)("is noticed even between the check and the write: %s", async (way) => {
		const { here, token, loses } = await adminInvite();
		const before = (await here("GET", "/members")).body.count;
		expect(await accept(token, { env: racing(async () => loses[way]?.()) })).toMatchObject(lost);
		expect((await here("GET", "/invites")).body.count).toBe(1);
		expect((await here("GET", "/members")).body.count).toBeLessThanOrEqual(before);
		expect((await here("GET", "/activity_log?activity=accepted")).body.count).toBe(0);
	});

	test("doesn't include one whose level has risen", async () => {
		const { token, admin } = await adminInvite();
		await db.update(members).set({ level: 15 }).where(eq(members.user_id, admin.id));
		expect((await accept(token)).status).toBe(200);
	});

	test("to a private project: the invite leaves that project out", async () => {
		const home = await world();
		const { ask, id, project } = home;
		const other = (await ask("POST", "/api/projects", { body: { name: "Other" } })).body.id;
		const inviter = await join(id, 1);
		for (const projectId of [project, other]) {
			await ask("PATCH", `/api/projects/${projectId}`, {
				body: { access_control: true },
			});
			await ask("POST", `/api/projects/${projectId}/members`, {
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

describe("bulk invites", () => {
	test("return the first, and all in the order of the request", async () => {
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
			"The request has this email address more than once.",
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
	])("%j is rejected as a whole", async (body, code, detail, attr) => {
		const { here } = await world();
		expect(await here("POST", "/invites/bulk", { body })).toMatchObject(wrong(code, detail, attr));
		expect((await here("GET", "/invites")).body.count).toBe(0);
	});

	test("are all or nothing, also if one is for a member or above the inviter's level", async () => {
		const { here, owner, id } = await world();
		const body = [{ target_email: address() }, { target_email: owner.email.toUpperCase() }];
		expect(await here("POST", "/invites/bulk", { body })).toMatchObject(
			wrong(
				"invalid_input",
				"A user with this email address already belongs to the organization.",
				"1__target_email",
			),
		);
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

describe("the holder of the link", () => {
	test("sees what the invite is for, and nothing else", async () => {
		const { here } = await world("Acme & Co");
		const { token, target_email } = await createInvite({ here }, { first_name: "Ada" });
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

	test("gets a 404 for an unknown token before the body is validated", async () => {
		const body = { first_name: 5 };
		expect((await accept("nope", { body })).status).toBe(404);
	});

	test("gets a verified address if the link was mailed", async () => {
		const { here } = await world();
		const { token, id: invite } = await createInvite({ here });
		await db.update(invites).set({ emailing_attempt_made: true }).where(eq(invites.id, invite));
		expect((await accept(token)).body.user.is_email_verified).toBe(true);
	});

	/** A new invite that was mailed. */
	async function createMailedInvite(home: Pick<Home, "here">, fields: object) {
		const invite = await createInvite(home, fields);
		await db.update(invites).set({ emailing_attempt_made: true }).where(eq(invites.id, invite.id));
		return invite;
	}

	const verify = (id: number) =>
		db.update(users).set({ is_email_verified: true }).where(eq(users.id, id));

	test("becomes a member without a new key if the user exists", async () => {
		const { here, id } = await world();
		const someone = await person();
		await verify(someone.id);
		const cases = [
			[await createMailedInvite({ here }, { target_email: someone.email, level: 8 }), {}],
			[undefined, { key: someone.key }],
		] as const;
		for (const [invite, options] of cases) {
			const { token } =
				invite ?? (await createInvite({ here }, { target_email: someone.email, level: 8 }));
			const { status, body } = await accept(token, {
				...options,
				body: { first_name: "Other" },
			});
			expect(status).toBe(200);
			expect(body.personal_api_key).toBeNull();
			expect(body.user).toMatchObject({
				first_name: "Test",
				uuid: someone.uuid,
			});
			const path = `/api/organizations/${id}`;
			const organization = await call("GET", path, { key: someone.key });
			expect(organization.body.membership_level).toBe(8);
			await db.delete(members).where(eq(members.user_id, someone.id));
		}
	});

	test("needs the key of an existing user if the link wasn't mailed", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await createInvite({ here }, { target_email: someone.email });
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

	test("takes over a user with an unverified address if the link was mailed", async () => {
		const attacker = await world();
		const target_email = address();
		const squatted = await createInvite(attacker, { target_email });
		const stolen = (await accept(squatted.token)).body.personal_api_key.value;
		const home = await world();
		const { token } = await createMailedInvite(home, { target_email, level: 8 });
		const { body } = await accept(token);
		expect(body.user.is_email_verified).toBe(true);
		expect(body.personal_api_key.value).toMatch(/^tnt_/);
		expect((await call("GET", "/api/users/@me", { key: stolen })).status).toBe(401);
		const key = body.personal_api_key.value;
		const path = `/api/organizations/${home.id}/members`;
		expect((await call("GET", path, { key })).status).toBe(200);
	});

	test("keeps the user's keys when it accepts with one of them", async () => {
		const home = await world();
		const someone = await person();
		const { token } = await createMailedInvite(home, { target_email: someone.email });
		const { status, body } = await accept(token, { key: someone.key });
		expect(status).toBe(200);
		expect(body.personal_api_key).toBeNull();
		const me = await call("GET", "/api/users/@me", { key: someone.key });
		expect(me).toMatchObject({
			status: 200,
			body: { is_email_verified: true, organization: { id: home.id } },
		});
	});

	test("keeps the user's keys if the address is verified during the accept", async () => {
		const someone = await person();
		const { token } = await createMailedInvite(await world(), {
			target_email: someone.email,
		});
		const verifyNow = async () => verify(someone.id);
		const { status, body } = await accept(token, { env: racing(verifyNow) });
		expect(status).toBe(200);
		expect(body.personal_api_key).toBeNull();
		expect((await call("GET", "/api/users/@me", { key: someone.key })).status).toBe(200);
	});

	test("changes nothing with a key that is revoked during the accept", async () => {
		const home = await world();
		const someone = await person();
		const { token } = await createInvite(home, { target_email: someone.email });
		const revoke = () => db.delete(personalApiKeys).where(eq(personalApiKeys.user_id, someone.id));
		const answer = await accept(token, {
			key: someone.key,
			env: racing(async () => revoke()),
		});
		expect(answer.status).toBe(401);
		expect((await home.here("GET", "/members")).body.count).toBe(1);
		expect((await home.here("GET", "/invites")).body.count).toBe(1);
	});

	test("gets the organization as its current one", async () => {
		const [previous, home] = [await world(), await world()];
		const { id, email, key } = previous.owner;
		await verify(id);
		const { token } = await createMailedInvite(home, { target_email: email });
		expect((await previous.ask("GET", "/api/users/@me")).body).toMatchObject({
			organization: { id: previous.id },
			project: { id: previous.project },
		});
		expect((await accept(token)).status).toBe(200);
		expect((await call("GET", "/api/users/@me", { key })).body).toMatchObject({
			organization: { id: home.id },
			project: { id: home.project },
		});
	});

	test("gets a 404 and changes nothing if the invite is replaced during the accept", async () => {
		for (const someone of [undefined, await person()]) {
			const home = await world();
			const target_email = someone?.email ?? address();
			const { token } = await createMailedInvite(home, { target_email });
			const replace = () => home.here("POST", "/invites", { body: { target_email } });
			const answer = await accept(token, { env: racing(replace) });
			expect(answer.status).toBe(404);
			expect((await home.here("GET", "/members")).body.count).toBe(1);
			expect((await home.here("GET", "/invites")).body.count).toBe(1);
			const log = await home.here("GET", "/activity_log?activity=accepted");
			expect(log.body.count).toBe(0);
		}
	});

	test("gets a 401 with an expired key, or with the key of a deactivated user", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await createInvite({ here }, { target_email: someone.email });
		const expired = await keyFor(someone.id, { expires_at: "2020-01-01" });
		expect((await accept(token, { key: expired })).status).toBe(401);
		await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		const path = `/api/invites/${token}`;
		expect((await call("GET", path, { key: someone.key })).status).toBe(401);
		expect((await accept(token, { key: someone.key })).status).toBe(401);
	});

	test("can't accept after three days", async () => {
		const { here } = await world();
		const { token, id } = await createInvite({ here });
		await age(id, 3);
		expect((await call("GET", `/api/invites/${token}`)).body.is_expired).toBe(true);
		expect(await accept(token)).toMatchObject(
			wrong("expired", "This invite has expired. Please ask your admin for a new one.", null),
		);
	});

	test("is rejected with another user’s key, with an invalid key, or if already a member", async () => {
		const { here, id } = await world();
		const someone = await person();
		const { token } = await createInvite({ here });
		expect(await accept(token, { key: someone.key })).toMatchObject({
			status: 400,
			body: { code: "invalid_recipient", attr: null },
		});
		expect((await accept(token, { key: "tnt_x" })).status).toBe(401);
		const revoked = await keyFor(someone.id);
		await db.delete(personalApiKeys).where(eq(personalApiKeys.hash, await digest(revoked)));
		expect((await accept(token, { key: revoked })).status).toBe(401);
		const { token: late, target_email } = await createInvite(
			{ here },
			{ target_email: someone.email },
		);
		await db
			.insert(members)
			.values({ organization_id: organizationId(id), user_id: someone.id, level: 1 });
		expect(await accept(late)).toMatchObject({
			status: 400,
			body: { code: "user_already_member", attr: null },
		});
		expect(target_email).toBe(someone.email);
	});

	test("is rejected if the user is deactivated", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await createInvite({ here }, { target_email: someone.email });
		await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		expect((await accept(token)).body.code).toBe("invalid_recipient");
		expect((await here("GET", "/members")).body.count).toBe(1);
	});

	test.each(["x", "x".repeat(43), "%00", "..%2f"])(
		"gets a 404 for the unknown token %j",
		async (token) => {
			expect(await accept(token)).toMatchObject({
				status: 404,
				body: { code: "not_found", detail: "Not found." },
			});
			expect((await call("GET", `/api/invites/${token}`)).status).toBe(404);
		},
	);

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

	test("becomes one user with one membership and one key if 20 requests race", async () => {
		const { here } = await world();
		const { token, target_email } = await createInvite({ here });
		const answers = await Promise.all(Array.from({ length: 20 }, () => accept(token)));
		const successful = answers.filter(({ status }) => status === 200);
		expect(successful).toHaveLength(1);
		for (const { status, body } of answers)
			if (status !== 200) expect([404, 400]).toContain(status || body);
		expect((await here("GET", "/members")).body.count).toBe(2);
		const rows = await db.select().from(users).where(eq(users.email, target_email));
		expect(rows).toHaveLength(1);
		expect(
			await db
				.select()
				.from(personalApiKeys)
				.where(eq(personalApiKeys.user_id, rows[0]?.id ?? 0)),
		).toHaveLength(1);
		expect((await here("GET", "/activity_log?activity=accepted")).body.count).toBe(1);
	});

	test("needs the key of a user who is created during the accept if the link wasn't mailed", async () => {
		const [one, two] = [await world(), await world()];
		const target_email = address();
		const first = await createInvite(one, { target_email });
		const second = await createInvite(two, { target_email });
		const answer = await accept(second.token, {
			env: racing(() => accept(first.token)),
		});
		expect(answer).toMatchObject({
			status: 400,
			body: { code: "invalid_recipient" },
		});
		expect((await two.here("GET", "/members")).body.count).toBe(1);
	});

	test("takes over a user who is created during the accept if the link was mailed", async () => {
		const [attacker, home] = [await world(), await world()];
		const target_email = address();
		const squatted = await createInvite(attacker, { target_email });
		const { token } = await createMailedInvite(home, { target_email });
		let stolen = "";
		const steal = async () => {
			stolen = (await accept(squatted.token)).body.personal_api_key.value;
		};
		const { status, body } = await accept(token, { env: racing(steal) });
		expect(status).toBe(200);
		expect((await call("GET", "/api/users/@me", { key: stolen })).status).toBe(401);
		const key = body.personal_api_key.value;
		expect((await call("GET", "/api/users/@me", { key })).status).toBe(200);
	});

	test("is rejected if the user is deactivated during the accept", async () => {
		const { here } = await world();
		const someone = await person();
		const { token } = await createMailedInvite({ here }, { target_email: someone.email });
		const deactivate = async () =>
			db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
		const answer = await accept(token, { env: racing(deactivate) });
		expect(answer.body.code).toBe("invalid_recipient");
		expect((await here("GET", "/members")).body.count).toBe(1);
	});

	test("of two organizations' invites becomes one user and a member of both, even if they race", async () => {
		const [one, two] = [await world(), await world()];
		const target_email = address();
		const tokens = [
			(await createMailedInvite(one, { target_email })).token,
			(await createMailedInvite(two, { target_email })).token,
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

test("an accept with an invalid name is a 400, and the invite still works", async () => {
	const { here } = await world();
	const { token } = await createInvite({ here });
	expect(await accept(token, { body: { first_name: 7 } })).toMatchObject(
		wrong("invalid_input", "Not a valid string.", "first_name"),
	);
	expect((await accept(token)).status).toBe(200);
});
