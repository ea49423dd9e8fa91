import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { invites } from "../../../src/db/schema/people.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { call, db, join, keyFor, times, world } from "../../support/world.ts";
import { address, age, createInvite, DAY, type Home } from "./support.ts";

const MEMBER = "A user with this email address already belongs to the organization.";
const NOT_VISIBLE =
	"Project does not exist on this organization, or it is private and you do not have access to it.";

describe("inviting", () => {
	test("returns the invite with all fields", async () => {
		const { here, owner, project } = await world();
		const target_email = address();
		const { status, body } = await here("POST", "/invites/", {
			body: { target_email: target_email.toUpperCase() },
		});
		expect(status).toBe(201);
		const { id, uuid, email } = owner;
		const defaults = { first_name: "", level: 1, message: null, private_project_access: [] };
		expect(body).toEqual({
			...{ id: expect.any(String), target_email, emailing_attempt_made: true, is_expired: false },
			...defaults,
			created_by: expect.objectContaining({ id, uuid, email }),
			...{ created_at: expect.any(String), updated_at: expect.any(String) },
		});
		expect((await here("GET", "/invites/")).body).toMatchObject({ count: 1, results: [body] });
		const private_project_access = [{ id: project, level: "admin" }];
		const fields = { first_name: "Ada", level: 8, message: "Hello", private_project_access };
		expect(await createInvite({ here }, fields)).toMatchObject(fields);
	});

	test("is rejected with an invalid body, in words", async () => {
		const { here } = await world();
		const body = { target_email: "x@y.zz", level: 2 };
		expect(await here("POST", "/invites", { body })).toMatchObject(
			wrong("invalid_choice", '"2" is not a valid choice.', "level"),
		);
	});

	test("is allowed to any member, up to its own level", async () => {
		const { here, id } = await world();
		const { key } = await join(id, 1);
		const invite = (level: number) =>
			here("POST", "/invites", { key, body: { target_email: address(), level } });
		expect((await invite(1)).status).toBe(201);
		expect(await invite(8)).toMatchObject(
			forbidden("You cannot invite a user with a higher permission level than your own."),
		);
	});

	test("an existing member is rejected, ignoring the case of the address", async () => {
		const { here, owner } = await world();
		const body = { target_email: owner.email.toUpperCase() };
		expect(await here("POST", "/invites", { body })).toMatchObject(
			wrong("invalid_input", MEMBER, null),
		);
	});

	test("the same address again replaces the older invite, also if requests race", async () => {
		const { here } = await world();
		const older = await createInvite({ here });
		const newer = await createInvite({ here }, { target_email: older.target_email.toUpperCase() });
		expect((await here("GET", "/invites")).body).toMatchObject({
			count: 1,
			results: [{ id: newer.id }],
		});
		expect((await call("GET", `/api/invites/${older.token}`)).status).toBe(404);
		expect((await call("GET", `/api/invites/${newer.token}`)).status).toBe(200);
		const { target_email } = older;
		await Promise.all(Array.from({ length: 10 }, () => createInvite({ here }, { target_email })));
		expect((await here("GET", "/invites")).body.count).toBe(1);
	});

	test("to private projects requires that the inviter sees them, at the same level or above", async () => {
		const { ask, here, id, project } = await world();
		const path = `/api/projects/${project}`;
		await ask("PATCH", path, { body: { access_control: true } });
		const { key, uuid } = await join(id, 1);
		const invite = (access: object) =>
			here("POST", "/invites", {
				key,
				body: { target_email: address(), private_project_access: [access] },
			});
		const rejection = (detail: string) => wrong("invalid_input", detail, "private_project_access");
		for (const id of [project, (await world()).project, 2 ** 30])
			expect(await invite({ id, level: 1 })).toMatchObject(rejection(NOT_VISIBLE));
		await ask("POST", `${path}/members`, { body: { user_uuid: uuid, level: 1 } });
		expect((await invite({ id: project, level: "member" })).status).toBe(201);
		expect(await invite({ id: project, level: "admin" })).toMatchObject(
			rejection("You cannot invite to a private project with a higher level than your own."),
		);
	});

	test("without mail returns the link, which no list shows", async () => {
		const { here } = await world();
		const { accept_url, token } = await createInvite({ here });
		expect(accept_url).toBe(`https://app.tenantry.test/invites/${token}`);
		for (const [env, origin] of [
			[{ MAIL_FROM: "" }, "https://app.tenantry.test"],
			[{ MAIL_FROM: "", APP_URL: "https://a.example/" }, "https://a.example"],
			// Without APP_URL, a mail could only use the Host header for its link.
			[{ APP_URL: "" }, "https://tenantry.test"],
		] as const) {
			const { body } = await here("POST", "/invites", { body: { target_email: address() }, env });
			expect(body.emailing_attempt_made).toBe(false);
			expect(body.accept_url.split("/invites/")).toEqual([
				origin,
				expect.stringMatching(/^[\w-]{43}$/),
			]);
		}
		const mailed = await here("POST", "/invites", { body: { target_email: address() } });
		expect(mailed.body).not.toHaveProperty("accept_url");
		expect(JSON.stringify((await here("GET", "/invites")).body)).not.toContain(token);
		expect(JSON.stringify(await db.select().from(invites))).not.toContain(token);
	});

	test("returns the link only to a key that may do as much as the key that a new user gets through it", async () => {
		const { here, id, owner, project } = await world();
		const invite = async (restrictions: Parameters<typeof keyFor>[1]) => {
			const key = await keyFor(owner.id, restrictions);
			const body = { target_email: address(), send_email: false };
			const one = await here("POST", "/invites", { key, body });
			const several = await here("POST", "/invites/bulk", {
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
		expect((await here("GET", "/invites")).body.results).toMatchObject([
			{ id: young.id, is_expired: false },
			{ id: old.id, is_expired: true },
		]);
	});

	test("can be undone by admins and by the inviter", async () => {
		const { here, id } = await world();
		const [inviter, other] = [await join(id, 1), await join(id, 1)];
		const make = async () => {
			const body = { target_email: address() };
			const made = await here("POST", "/invites", { key: inviter.key, body });
			return `/invites/${made.body.id}`;
		};
		const [first, second] = [await make(), await make()];
		expect(await here("DELETE", first, { key: other.key })).toMatchObject(
			forbidden("Your organization access level is insufficient."),
		);
		expect((await here("DELETE", `${first}/`, { key: inviter.key })).status).toBe(204);
		expect((await here("DELETE", first)).status).toBe(404);
		expect((await (await world()).here("DELETE", second)).status).toBe(404);
		expect((await here("DELETE", second)).status).toBe(204);
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
		const { here } = home;
		const { target_email } = await createInvite(home);
		await fill(home, 994);
		const invite = (target_email: string) =>
			here("POST", "/invites", { body: { target_email, send_email: false } });
		const responses = await Promise.all(Array.from({ length: 12 }, () => invite(address())));
		const rejected = responses.filter(({ status }) => status !== 201);
		expect(rejected).toHaveLength(7);
		for (const answer of rejected) expect(answer).toMatchObject(full);
		expect((await invite(target_email)).status).toBe(201);
		const two = { body: [{ target_email }, { target_email: address() }] };
		expect(await here("POST", "/invites/bulk", two)).toMatchObject(full);
		expect((await here("GET", "/invites?limit=1")).body.count).toBe(1000);
		await db
			.update(invites)
			.set({ created_at: new Date(Date.now() - 3 * DAY).toISOString() })
			.where(eq(invites.organization_id, organizationId(home.id)));
		expect((await here("POST", "/invites/bulk", two)).status).toBe(200);
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
		expect(body).toMatchObject({ target_email: emails[0], first_name: "0", count: 20 });
		expect(body.results).toMatchObject(emails.map((target_email) => ({ target_email })));
		expect(body.results[0].accept_url).toContain("/invites/");
		expect(body.results[1].accept_url).toBeUndefined();
		expect((await here("GET", "/activity_log?scope=Invite")).body.count).toBe(20);
	});

	test("are all or nothing, with an error of the first that is wrong", async () => {
		const { here, owner, id } = await world();
		const { key } = await join(id, 1);
		const hidden = { private_project_access: [{ id: 0, level: 1 }] };
		for (const [second, attr, detail] of [
			[{ target_email: "x" }, "1__target_email", "Enter a valid email address."],
			[{ target_email: owner.email.toUpperCase() }, "1__target_email", MEMBER],
			[{ target_email: address(), ...hidden }, "1__private_project_access", NOT_VISIBLE],
		] as const) {
			const body = [{ target_email: address() }, second];
			expect(await here("POST", "/invites/bulk", { body })).toMatchObject(
				wrong("invalid_input", detail, attr),
			);
		}
		const body = [{ target_email: address() }, { target_email: address(), level: 15 }];
		expect((await here("POST", "/invites/bulk", { key, body })).status).toBe(403);
		expect((await here("GET", "/invites")).body.count).toBe(0);
	});
});
