import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { eventColumns, toEvent } from "../../../src/activity/events/event.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId, organizations, projects } from "../../../src/db/schema/organizations.ts";
import { members, projectMembers, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../../src/keys/keys.ts";
import { run } from "../../../src/operator/run.ts";
import { announceExpiring } from "../../../src/people/personal_api_keys/expiry.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { digests, outbox } from "../../support/mail.ts";
import { systemEvents } from "../../support/system_events.ts";
import { eventually } from "../../support/time.ts";
import { call, cost, db, join, keyFor, person, racing, times, world } from "../../support/world.ts";

const INSUFFICIENT = forbidden("Your organization access level is insufficient.");
const TOO_MUCH = forbidden("An API key can't give more access than it has itself.");
const INVALID = { status: 401, body: { code: "authentication_failed" } };

/** A tenant with a service account and a key of it. */
async function equipped({
	level = 1,
	scopes = ["*"],
	...more
}: object & { level?: number; scopes?: string[] } = {}) {
	const home = await world();
	const made = await home.here("POST", "/service_accounts", {
		body: { name: "Deploy", level, ...more },
	});
	const account = made.body;
	const path = `/service_accounts/${account.id}`;
	const { body } = await home.here("POST", `${path}/keys`, { body: { label: "CI", scopes } });
	const as = (method: string, at: string, options: Parameters<typeof call>[2] = {}) =>
		call(method, at, { key: body.value, ...options });
	return { ...home, account, path, made: body, value: body.value, as };
}

/** The row's id of the account's user. */
const userOf = async ({ id }: { id: string }) =>
	(await db.select().from(users).where(eq(users.uuid, id)))[0]?.id ?? 0;

const emailOf = ({ id }: { id: string }) => `${id}@service-account.invalid`;

const privateProject = async ({ id }: { id: string }) => {
	const [row] = await db
		.insert(projects)
		.values({ organization_id: organizationId(id), name: "Private", access_control: true })
		.returning();
	return row?.id ?? 0;
};

describe("a service account", () => {
	test("is created, read, listed, changed and deleted by an admin", async () => {
		const { id, here } = await world();
		const admin = await join(id, 8);
		const hidden = await privateProject({ id });
		const at = `/api/organizations/${id}/service_accounts`;
		const ask = (method: string, path: string, body?: object) =>
			call(method, `${at}${path}`, { key: admin.key, body });
		const made = await ask("POST", "", { name: " Deploy ", level: "8", projects: [hidden] });
		expect(made).toMatchObject({ status: 201 });
		expect(cost(made).trips).toBe(2);
		const account = {
			id: expect.any(String),
			name: "Deploy",
			level: 8,
			projects: [hidden],
			created_at: expect.any(String),
			created_by: expect.objectContaining({ uuid: admin.uuid, email: admin.email }),
			last_used_at: null,
		};
		expect(made.body).toEqual(account);
		const second = (await ask("POST", "", { name: "Second" })).body;
		expect(second).toMatchObject({ level: 1, projects: [] });
		expect((await ask("GET", `/${made.body.id}`)).body).toEqual(account);
		expect((await ask("GET", "")).body).toMatchObject({ count: 2, results: [second, account] });
		const path = `/${made.body.id}`;
		const changed = await ask("PATCH", path, { name: "Build", level: 1, projects: [] });
		expect(changed.body).toEqual({ ...account, name: "Build", level: 1, projects: [] });
		expect((await ask("PATCH", path, {})).body).toEqual(changed.body);
		expect((await ask("PATCH", path, { projects: [hidden, hidden] })).body.projects).toEqual([
			hidden,
		]);
		expect((await ask("DELETE", path)).status).toBe(204);
		expect((await ask("GET", path)).status).toBe(404);
		const log = (await here("GET", "/activity_log?scope=ServiceAccount")).body.results;
		const entries = [
			["deleted", "Build"],
			["updated", "Build"],
			["updated", "Build"],
			["created", "Second"],
			["created", "Deploy"],
		];
		const user = { uuid: admin.uuid };
		expect(log).toMatchObject(
			entries.map(([activity, name]) => ({ activity, user, detail: { name } })),
		);
		expect(log[2].detail.changes).toEqual([
			{ field: "name", action: "changed", before: "Deploy", after: "Build" },
			{ field: "level", action: "changed", before: 8, after: 1 },
			{ field: "projects", action: "changed", before: [hidden], after: [] },
		]);
	});

	test("is for admins, and isn't found by another organization, nor are its keys", async () => {
		const { id, here, made, path } = await equipped();
		const [member, stranger] = [await join(id, 1), await world()];
		for (const [method, at, body] of [
			["GET", "/service_accounts"],
			["POST", "/service_accounts", { name: "x" }],
			["GET", path],
			["PATCH", path, { name: "x" }],
			["GET", `${path}/keys`],
			["POST", `${path}/keys`, { label: "x", scopes: ["*"] }],
			["POST", `${path}/keys`, {}],
			["GET", `${path}/keys/${made.id}`],
			["PATCH", `${path}/keys/${made.id}`, { label: "x" }],
			["POST", `${path}/keys/${made.id}/roll`],
			["GET", `${path}/keys/${made.id}/usage`],
			["DELETE", `${path}/keys/${made.id}`],
			["DELETE", path],
		] as const) {
			expect(await here(method, at, { key: member.key, body })).toMatchObject(INSUFFICIENT);
			if (at.startsWith(path)) expect((await stranger.here(method, at, { body })).status).toBe(404);
		}
		expect((await here("GET", path)).body.name).toBe("Deploy");
	});

	test("has a level of 1 or 8, and projects of its organization, even if its admin sees others, too", async () => {
		const { here, ask, owner } = await world();
		const other = await world();
		const its = { organization_id: organizationId(other.id), user_id: owner.id, level: 15 };
		await db.insert(members).values(its);
		const own = (await ask("POST", "/api/projects", { body: { name: "P" } })).body.id;
		const make = (body: object) =>
			here("POST", "/service_accounts", { body: { name: "x", ...body } });
		expect(await make({ level: 15 })).toMatchObject(
			wrong("invalid_choice", '"15" is not a valid choice.', "level"),
		);
		const { id } = (await make({})).body;
		for (const project of [other.project, 2 ** 30]) {
			const detail = `Invalid pk "${project}" - object does not exist.`;
			const unknown = wrong("does_not_exist", detail, "projects__1");
			const body = { projects: [own, project] };
			expect(await make(body)).toMatchObject(unknown);
			expect(await here("PATCH", `/service_accounts/${id}`, { body })).toMatchObject(unknown);
		}
	});

	test("isn't created by an admin who is demoted during the request", async () => {
		const { id, here } = await world();
		const admin = await join(id, 8);
		const demote = async () =>
			db.update(members).set({ level: 1 }).where(eq(members.user_id, admin.id));
		const rejected = await call("POST", `/api/organizations/${id}/service_accounts`, {
			key: admin.key,
			body: { name: "x", level: 8 },
			env: racing(demote),
		});
		expect(rejected).toMatchObject(forbidden("Your access changed during the request."));
		expect((await here("GET", "/service_accounts")).body.count).toBe(0);
	});

	test("stays when its creator leaves", async () => {
		const { id } = await world();
		const admin = await join(id, 8);
		const at = `/api/organizations/${id}/service_accounts`;
		const { body } = await call("POST", at, { key: admin.key, body: { name: "x" } });
		const made = await call("POST", `${at}/${body.id}/keys`, {
			key: admin.key,
			body: { label: "x", scopes: ["organization:read"] },
		});
		await call("DELETE", `/api/organizations/${id}/members/@me`, { key: admin.key });
		await db.update(users).set({ is_active: false }).where(eq(users.id, admin.id));
		const { value: key } = made.body;
		expect((await call("GET", `/api/organizations/${id}`, { key })).status).toBe(200);
	});
});

describe("a service account's key", () => {
	test("works in one round trip, with the account's level and projects", async () => {
		const { id, as, here, path, project } = await equipped();
		const hidden = await privateProject({ id });
		const visible = async () =>
			(await as("GET", "/api/projects")).body.results.map((row: { id: number }) => row.id).sort();
		const organization = await as("GET", `/api/organizations/${id}`);
		expect(organization.body).toMatchObject({ membership_level: 1 });
		expect(cost(organization).trips).toBe(1);
		expect(await visible()).toEqual([project]);
		expect((await as("GET", `/api/projects/${hidden}/members`)).status).toBe(403);
		await here("PATCH", path, { body: { projects: [hidden] } });
		expect(await visible()).toEqual([project, hidden].sort());
		expect((await as("GET", `/api/projects/${hidden}/members`)).status).toBe(200);
		const rename = () => as("PATCH", `/api/organizations/${id}`, { body: { name: "By CI" } });
		expect(await rename()).toMatchObject(INSUFFICIENT);
		await here("PATCH", path, { body: { level: 8, projects: [] } });
		expect(await visible()).toEqual([project, hidden].sort());
		expect((await rename()).status).toBe(200);
		await here("PATCH", path, { body: { level: 1 } });
		expect(await rename()).toMatchObject(INSUFFICIENT);
		expect(await visible()).toEqual([project]);
	});

	test("can access only its organization, whatever the body has", async () => {
		const { id, here, path, ask, as, made } = await equipped();
		const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
		expect(made.scoped_organizations).toEqual([id]);
		for (const scoped_organizations of [[], [other.id]]) {
			const body = { label: "x", scopes: ["*"], scoped_organizations };
			const again = await here("POST", `${path}/keys`, { body });
			expect(again.body.scoped_organizations).toEqual([id]);
			const changed = await here("PATCH", `${path}/keys/${made.id}`, {
				body: { label: "y", scoped_organizations },
			});
			expect(changed.body.scoped_organizations).toEqual([id]);
		}
		expect((await as("GET", `/api/organizations/${other.id}`)).status).toBe(403);
		expect((await as("GET", "/api/organizations")).body.count).toBe(1);
		for (const scoped_organizations of [[], [other.id]])
			expect(
				(await as("PATCH", "/api/personal_api_keys/@current", { body: { scoped_organizations } }))
					.status,
			).toBe(403);
	});

	test("is listed without its value, changed, rolled, revoked and logged", async () => {
		const { here, path, made, value } = await equipped();
		const at = `${path}/keys`;
		const shown = { ...made, value: null };
		expect((await here("GET", at)).body.results).toEqual([shown]);
		expect((await here("GET", `${at}/${made.id}`)).body).toEqual(shown);
		const fields = { label: "Renamed", allowed_ips: ["192.0.2.1/24"] };
		const changed = await here("PATCH", `${at}/${made.id}`, { body: fields });
		expect(changed.body).toEqual({ ...shown, label: "Renamed", allowed_ips: ["192.0.2.0/24"] });
		const headers = { "cf-connecting-ip": "192.0.2.9" };
		const use = async (key: string) =>
			(await call("GET", "/api/users/@me", { key, headers })).status;
		expect(await use(value)).toBe(200);
		const rolled = (await here("POST", `${at}/${made.id}/roll`)).body;
		expect([await use(value), await use(rolled.value)]).toEqual([401, 200]);
		await eventually(async () => {
			const { body } = await here("GET", `${at}/${made.id}/usage`);
			expect(body.results).toMatchObject([{ requests: 2, last_address: "192.0.2.9" }]);
		});
		expect((await here("GET", path)).body.last_used_at).not.toBeNull();
		expect((await here("DELETE", `${at}/${made.id}`)).status).toBe(204);
		expect(await use(rolled.value)).toBe(401);
		const log = await here("GET", "/activity_log?scope=ServiceAccountKey");
		expect(log.body.results).toMatchObject(
			["deleted", "rolled", "updated", "created"].map((activity) => ({ activity })),
		);
	});

	test("can't have more access than the key that creates it", async () => {
		const { owner, id, path, made } = await equipped();
		const key = await keyFor(owner.id, {
			scopes: ["organization_member:write", "plugin:read"],
			allowed_ips: ["192.0.2.0/24"],
			expires_at: "2098-01-01T00:00:00.000Z",
		});
		const at = `/api/organizations/${id}${path}/keys`;
		const headers = { "cf-connecting-ip": "192.0.2.9" };
		const narrow = {
			scopes: ["plugin:read"],
			allowed_ips: ["192.0.2.1"],
			expires_at: "2097-01-01T00:00:00.000Z",
		};
		const make = (body: object) =>
			call("POST", at, { key, headers, body: { label: "x", ...narrow, ...body } });
		const first = await make({});
		expect(first.status).toBe(201);
		for (const more of [{ scopes: ["*"] }, { allowed_ips: [] }, { expires_at: null }]) {
			expect(await make(more)).toMatchObject(TOO_MUCH);
			const patch = await call("PATCH", `${at}/${first.body.id}`, { key, headers, body: more });
			expect(patch).toMatchObject(TOO_MUCH);
		}
		expect(await call("POST", `${at}/${made.id}/roll`, { key, headers })).toMatchObject(TOO_MUCH);
	});

	test("is rejected beyond 25, even if requests race", async () => {
		const { here, path, account } = await equipped();
		const user_id = await userOf(account);
		await times(19, (i) =>
			db.insert(personalApiKeys).values({ user_id, label: `${i}`, hash: v7(), mask_value: "" }),
		);
		const body = { label: "x", scopes: ["*"] };
		const responses = await Promise.all(
			Array.from({ length: 10 }, () => here("POST", `${path}/keys`, { body })),
		);
		const rejected = responses.filter(({ status }) => status !== 201);
		expect(rejected).toHaveLength(5);
		for (const response of rejected)
			expect(response).toMatchObject(
				wrong("invalid_input", "A service account can have at most 25 API keys.", null),
			);
	});

	test("can be restricted to projects that the account can see", async () => {
		const { id, here, path, project } = await equipped();
		const hidden = await privateProject({ id });
		const make = (scoped_projects: number[]) =>
			here("POST", `${path}/keys`, { body: { label: "x", scopes: ["*"], scoped_projects } });
		const detail = `Invalid pk "${hidden}" - object does not exist.`;
		expect(await make([project, hidden])).toMatchObject(
			wrong("does_not_exist", detail, "scoped_projects__1"),
		);
		const { value: key } = (await make([project])).body;
		expect((await call("GET", `/api/projects/${project}`, { key })).status).toBe(200);
		expect((await call("GET", `/api/organizations/${id}`, { key })).status).toBe(403);
	});

	test("manages itself through /api/personal_api_keys", async () => {
		const { as, made, id, value } = await equipped();
		const at = "/api/personal_api_keys";
		expect((await as("GET", at)).body.results).toEqual([{ ...made, value: null }]);
		expect((await as("GET", `${at}/@current`)).body.id).toBe(made.id);
		const body = { label: "x", scopes: ["*"] };
		expect(await as("POST", at, { body })).toMatchObject(TOO_MUCH);
		const second = await as("POST", at, { body: { ...body, scoped_organizations: [id] } });
		expect(second.status).toBe(201);
		const rolled = (await as("POST", `${at}/@current/roll`)).body.value;
		expect(await call("GET", at, { key: value })).toMatchObject(INVALID);
		expect((await call("GET", at, { key: rolled })).body.count).toBe(2);
	});

	test("with a level of 8 can't create an account or key with more access than itself", async () => {
		const scopes = ["organization_member:write", "project:read"];
		const { as, id } = await equipped({ level: 8, scopes });
		const at = `/api/organizations/${id}/service_accounts`;
		expect((await as("POST", at, { body: { name: "x", level: 15 } })).status).toBe(400);
		const second = await as("POST", at, { body: { name: "x", level: 8 } });
		expect(second).toMatchObject({ status: 201, body: { created_by: { first_name: "Deploy" } } });
		const make = (given: string[]) =>
			as("POST", `${at}/${second.body.id}/keys`, { body: { label: "x", scopes: given } });
		expect(await make(["*"])).toMatchObject(TOO_MUCH);
		expect((await make(["project:read"])).status).toBe(201);
	});
});

describe("deleting a service account", () => {
	const state = async (user_id: number) => ({
		keys: await db.select().from(personalApiKeys).where(eq(personalApiKeys.user_id, user_id)),
		memberships: await db.select().from(members).where(eq(members.user_id, user_id)),
		projects: await db.select().from(projectMembers).where(eq(projectMembers.user_id, user_id)),
		active: (await db.select().from(users).where(eq(users.id, user_id)))[0]?.is_active,
	});
	const gone = { keys: [], memberships: [], projects: [], active: false };

	test("revokes its keys immediately, even if KV still has them", async () => {
		const { here, path, as, account, value, project } = await equipped();
		await here("PATCH", path, { body: { projects: [project] } });
		const user_id = await userOf(account);
		expect((await as("GET", "/api/users/@me")).status).toBe(200);
		const name = `key:${await digest(value)}`;
		const record = (await env.KEYS.get(name)) ?? "";
		expect((await here("DELETE", path)).status).toBe(204);
		await env.KEYS.put(name, record);
		expect(await as("GET", "/api/users/@me")).toMatchObject(INVALID);
		expect(await state(user_id)).toEqual(gone);
	});

	test("happens when its organization is deleted", async () => {
		const { ask, id, as, account } = await equipped();
		const user_id = await userOf(account);
		expect((await as("GET", "/api/users/@me")).status).toBe(200);
		expect((await ask("DELETE", `/api/organizations/${id}`)).status).toBe(204);
		expect(await as("GET", "/api/users/@me")).toMatchObject(INVALID);
		expect(await state(user_id)).toEqual(gone);
	});

	test("while it or one of its keys is changed makes the change a 404", async () => {
		for (const [method, below, body] of [
			["PATCH", "", { name: "x", level: 8 }],
			["POST", "/keys", { label: "x", scopes: ["*"] }],
		] as const) {
			const { here, path, owner, id } = await equipped();
			const key = await keyFor(owner.id);
			const end = () => call("DELETE", `/api/organizations/${id}${path}`, { key });
			const response = await here(method, `${path}${below}`, { body, env: racing(end) });
			expect(response).toMatchObject({ status: 404, body: { detail: "Not found." } });
		}
	});
});

describe("service accounts are not people", () => {
	test("they aren't in the lists and counts of members, and can't be changed through them", async () => {
		const { here, account, owner, ask, project, id, as } = await equipped({ level: 8 });
		expect((await here("GET", "")).body.member_count).toBe("1");
		for (const [query, uuids] of [
			["", [owner.uuid]],
			["?order=joined_at", [owner.uuid]],
			[`?email=${emailOf(account)}`, []],
			["?search=deploy", []],
		] as const) {
			const { body } = await here("GET", `/members${query}`);
			const found = body.results.map(({ user }: { user: { uuid: string } }) => user.uuid);
			expect([query, found, body.count]).toEqual([query, uuids, uuids.length]);
		}
		const member = `/members/${account.id}`;
		expect((await here("PATCH", member, { body: { level: 1 } })).status).toBe(404);
		expect((await here("DELETE", member)).status).toBe(404);
		expect((await as("DELETE", `/api/organizations/${id}/members/@me`)).status).toBe(404);
		await here("PATCH", `/service_accounts/${account.id}`, { body: { projects: [project] } });
		const inProject = `/api/projects/${project}/members`;
		expect((await ask("GET", inProject)).body).toMatchObject({ count: 0, results: [] });
		expect((await ask("DELETE", `${inProject}/${account.id}`)).status).toBe(404);
		const body = { user_uuid: account.id, level: 8 };
		expect(await ask("POST", inProject, { body })).toMatchObject({
			status: 400,
			body: { code: "does_not_exist" },
		});
		await here("DELETE", `/service_accounts/${account.id}`);
		expect((await here("GET", "")).body.member_count).toBe("1");
		const [counted] = await db.select().from(organizations).where(eq(organizations.uuid, id));
		expect(counted?.active_members).toBe(1);
	});

	test("they can't be invited, deactivated or given keys by their address", async () => {
		const { here, account } = await equipped();
		const email = emailOf(account);
		const stranger = await world();
		for (const target of [here, stranger.here])
			expect(await target("POST", "/invites", { body: { target_email: email } })).toMatchObject(
				wrong("invalid_input", "Enter a valid email address.", "target_email"),
			);
		for (const [name, options] of [
			["key create", { email, label: "x", scopes: ["*"] }],
			["user deactivate", { email }],
			["bootstrap", { email }],
		] as const)
			expect(await run(env, name, options)).toEqual({
				error: "email: Enter a valid email address.",
			});
		const listed = JSON.stringify(await run(env, "user list", { limit: 1000 }));
		expect(listed).not.toContain(email);
	});

	test("they can't accept invites, create organizations or change a profile", async () => {
		const { here, as } = await equipped({ level: 8 });
		const someone = await person();
		const invite = await here("POST", "/invites", {
			body: { target_email: someone.email, send_email: false },
		});
		const token = invite.body.accept_url.split("/").at(-1);
		expect(await as("POST", `/api/invites/${token}/accept`)).toMatchObject(
			wrong("invalid_recipient", "This invite is for another user.", null),
		);
		expect(await as("POST", "/api/organizations", { body: { name: "x" } })).toMatchObject(
			forbidden("API keys with scoped organizations can't create organizations."),
		);
		const body = { first_name: "Ada" };
		expect(await as("PATCH", "/api/users/@me", { body })).toMatchObject(
			forbidden("Only an admin of its organization can change a service account."),
		);
	});

	test("/api/users/@me returns the account and its organization", async () => {
		const { as, account, id, project, ask } = await equipped();
		expect((await as("GET", "/api/users/@me")).body).toMatchObject({
			uuid: account.id,
			first_name: "Deploy",
			last_name: "",
			email: emailOf(account),
			is_service_account: true,
			organization: { id, membership_level: 1 },
			project: { id: project },
		});
		expect((await ask("GET", "/api/users/@me")).body.is_service_account).toBe(false);
	});

	test("they get no mail, and no mail contains their address", async () => {
		const { id, owner, as } = await equipped({ level: 8 });
		const { sent, env: other } = outbox();
		await db.insert(activityLog).values({
			organization_id: organizationId(id),
			is_system: true,
			activity: "unverified",
			scope: "Domain",
			item_id: v7(),
		});
		expect((await digests({ id }, Date.now())).map(({ to }) => to)).toEqual([owner.email]);
		const target_email = `${v7()}@tenantry.test`;
		const body = { target_email, level: 1 };
		await as("POST", `/api/organizations/${id}/invites`, { body, env: other });
		const [invitation] = sent;
		expect(invitation).toMatchObject({ to: target_email });
		expect(invitation?.text).toContain("Deploy invites you");
		expect(invitation).not.toHaveProperty("replyTo");
		expect(JSON.stringify(invitation)).not.toContain("service-account.invalid");
		const token = /invites\/([\w-]{43})/.exec(invitation?.text ?? "")?.[1];
		await call("POST", `/api/invites/${token}/accept`, { env: other });
		expect(sent).toHaveLength(1);
		expect((await digests({ id }, Date.now())).map(({ to }) => to)).toEqual([owner.email]);
	});

	test("they can't be recipients of notifications", async () => {
		const { here, account } = await equipped({ level: 8 });
		const subscriptions = [{ type: "domain.unverified", recipients: [account.id] }];
		const detail = `Invalid pk "${account.id}" - object does not exist.`;
		expect(await here("PATCH", "/notifications", { body: { subscriptions } })).toMatchObject(
			wrong("does_not_exist", detail, "subscriptions__0__recipients__0"),
		);
	});

	test("admins are notified when their keys expire, with a link", async () => {
		const { id, owner, here, path, account } = await equipped({ level: 8 });
		const expires_at = new Date(Date.now() + 100 * 3_600_000).toISOString();
		const { body } = await here("POST", `${path}/keys`, {
			body: { label: "Nightly", scopes: ["project:read"], expires_at },
		});
		await announceExpiring(env, Date.now());
		expect(await systemEvents(id)).toMatchObject([
			{
				type: "key.expiring",
				item_id: body.id,
				trigger: { user_uuid: account.id, service_account_id: account.id },
			},
		]);
		const mails = await digests({ id }, Date.now());
		expect(mails.map(({ to }) => to)).toEqual([owner.email]);
		expect(mails[0]?.text).toContain(`: ${env.APP_URL}/console/${id}${path}/keys/${body.id}\n`);
		expect((await here("GET", `${path}/keys/${body.id}`)).body.label).toBe("Nightly");
	});

	test("their actions are in the log and in events under their name", async () => {
		const { as, id, here, account } = await equipped({ level: 8 });
		await as("PATCH", `/api/organizations/${id}`, { body: { name: "By CI" } });
		const actor = { uuid: account.id, first_name: "Deploy", email: emailOf(account) };
		const log = async () => (await here("GET", `/activity_log?user=${account.id}`)).body.results;
		expect(await log()).toMatchObject([
			{ user: actor, activity: "updated", scope: "Organization" },
		]);
		await here("DELETE", `/service_accounts/${account.id}`);
		expect(await log()).toMatchObject([{ user: actor }]);
		const [row] = await drizzle(env.DB)
			.select(eventColumns)
			.from(activityLog)
			.innerJoin(users, eq(users.id, activityLog.user_id))
			.where(and(eq(activityLog.organization_id, organizationId(id)), eq(users.uuid, account.id)));
		if (!row) throw new Error("There is no event.");
		expect(toEvent(row)).toMatchObject({
			type: "organization.updated",
			actor: { type: "service_account", uuid: account.id, first_name: "Deploy", email: null },
		});
	});
});
