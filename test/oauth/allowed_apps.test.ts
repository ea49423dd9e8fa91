import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizations } from "../../src/db/schema/organizations.ts";
import { forbidden } from "../support/errors.ts";
import { call, cost, db, join, keyFor, racing, world } from "../support/world.ts";
import { keyOf, trusting } from "./issuers/support.ts";
import { approve, codeFor, exchange, granted, newApp, request, statusWith } from "./support.ts";

const NOT_ALLOWED = forbidden("The organization doesn't allow this app.");
const CLOSED = { status: 400, body: { code: "invalid_input", attr: "scoped_organizations" } };
const EVERYTHING = { fields: { scope: "*" }, choice: { scopes: ["*"] } };

/** A person with two organizations, and an app that can access everything of theirs. */
async function home() {
	const one = await world("One");
	const other = (await one.ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const app = await granted(one, EVERYTHING);
	const as = (method: string, path: string, options: Parameters<typeof call>[2] = {}) =>
		call(method, path, { ...options, key: app.access });
	const allow = (allowed_apps: string[] | null) =>
		one.here("PATCH", "", { body: { allowed_apps } });
	return { ...one, other, app, as, allow };
}

const idsIn = ({ body }: { body: { results: { id: unknown }[] } }) =>
	body.results.map(({ id }) => id);

describe("an organization that allows only some apps", () => {
	test("is set by admins, and null allows all", async () => {
		const { id, here, as, allow, app } = await home();
		expect((await here("GET", "")).body.allowed_apps).toBe(null);
		const member = await join(id, 1);
		const body = { allowed_apps: [] };
		const path = `/api/organizations/${id}`;
		expect((await call("PATCH", path, { key: member.key, body })).status).toBe(403);
		expect((await allow([app.client_id])).body.allowed_apps).toEqual([app.client_id]);
		expect((await as("GET", path)).status).toBe(200);
		expect((await allow([])).body.allowed_apps).toEqual([]);
		expect(await as("GET", path)).toMatchObject(NOT_ALLOWED);
		expect((await allow(null)).body.allowed_apps).toBe(null);
		expect((await as("GET", path)).status).toBe(200);
	});

	test.each([
		["too many", Array.from({ length: 51 }, (_, i) => `https://app-${i}.example/app`)],
		["too long", [`https://app.example/${"x".repeat(500)}`]],
		["empty", [""]],
		["not texts", [{}]],
		["not a list", "https://app.example/app"],
	])("takes no ids that are %s", async (_, allowed_apps) => {
		const { here } = await world();
		expect((await here("PATCH", "", { body: { allowed_apps } })).status).toBe(400);
	});

	test("isn't reached by others from the next request on, by any path", async () => {
		const { id, project, other, as, allow, key } = await home();
		await allow([newApp(), `${newApp()}x`]);
		for (const path of [
			`/api/organizations/${id}`,
			`/api/organizations/${id}/members`,
			`/api/organizations/${id}/projects`,
			`/api/organizations/${id}/activity_log`,
			`/api/projects/${project}`,
			`/api/projects/${project}/members`,
			`/api/projects/${project}/batch_exports`,
		])
			expect([path, await as("GET", path)]).toMatchObject([path, NOT_ALLOWED]);
		const made = await as("POST", "/api/projects", { body: { name: "New", organization: id } });
		expect(made).toMatchObject({ status: 400, body: { code: "does_not_exist" } });
		const listed = await as("GET", "/api/organizations");
		expect([idsIn(listed), listed.body.count]).toEqual([[other.id], 1]);
		const projects = await as("GET", "/api/projects");
		expect(idsIn(projects)).toEqual([other.teams[0].id]);
		expect(projects.body.count).toBe(1);
		const me = await as("GET", "/api/users/@me");
		expect(me.body.organizations.map((each: { id: string }) => each.id)).toEqual([other.id]);
		expect((await as("GET", `/api/organizations/${other.id}/members`)).status).toBe(200);
		expect((await call("GET", `/api/organizations/${id}`, { key })).status).toBe(200);
	});

	test("rejects a write that has begun before the list was changed", async () => {
		const { id, as } = await home();
		const close = () =>
			db
				.update(organizations)
				.set({ allowed_apps: ["https://other.example/app"] })
				.where(eq(organizations.uuid, id));
		const sent = await as("PATCH", `/api/organizations/${id}`, {
			body: { name: "Renamed" },
			env: racing(close),
		});
		expect(sent.status).toBe(403);
		const [row] = await db.select().from(organizations).where(eq(organizations.uuid, id));
		expect(row?.name).toBe("One");
	});

	test("costs other keys nothing, and apps no round trip and no written row", async () => {
		const { id, key, as, allow, app } = await home();
		const path = `/api/organizations/${id}/members`;
		const before = cost(await call("GET", path, { key }));
		await allow([app.client_id]);
		expect(cost(await call("GET", path, { key }))).toEqual(before);
		expect(cost(await as("GET", path))).toMatchObject({ trips: before.trips, written: 0 });
	});

	test("is still reached by jobs of issuers that it trusts", async () => {
		const trusted = await trusting();
		await trusted.here("PATCH", "", { body: { allowed_apps: [] } });
		expect(await statusWith(await keyOf(trusted))).toBe(200);
		const path = `/api/projects/${trusted.project}`;
		expect((await call("GET", path, { key: await keyOf(trusted) })).status).toBe(200);
	});

	test("can't be reached by an app that a person allows, and its admins see the attempt", async () => {
		const { id, key, here, ask, other, allow } = await home();
		await allow([]);
		const { parameters } = await request(newApp());
		const choose = (more: object) =>
			approve({ key }, parameters, { scopes: ["project:read"], ...more });
		expect(await choose({})).toMatchObject(CLOSED);
		expect((await choose({})).body.detail).toContain('The organization "One"');
		expect(await choose({ scoped_organizations: [id] })).toMatchObject(CLOSED);
		expect((await choose({ scoped_organizations: [other.id] })).status).toBe(200);
		const events = await here("GET", "/events?types=oauth_grant.rejected");
		expect(events.body.results).toHaveLength(3);
		const trigger = { client_id: parameters.client_id, job: "not_allowed" };
		expect(events.body.results[0].data).toMatchObject({ name: "Notes", trigger });
		expect(events.body.results[0].data.item_id).toHaveLength(36);
		const unknown = { ...parameters, client_id: "no\napp" };
		expect((await approve({ key }, unknown)).body.attr).toBe("client_id");
		const after = await here("GET", "/events?types=oauth_grant.rejected");
		expect(after.body.results).toHaveLength(3);
		const elsewhere = await ask(
			"GET",
			`/api/organizations/${other.id}/events?types=oauth_grant.rejected`,
		);
		expect(elsewhere.body.results).toEqual([]);
		await allow([parameters.client_id]);
		expect((await choose({})).status).toBe(200);
	});

	test("can't be reached by an app that is allowed at the moment in which the list changes", async () => {
		const { id, key } = await home();
		const { parameters } = await request(newApp());
		const close = () =>
			db.update(organizations).set({ allowed_apps: [] }).where(eq(organizations.uuid, id));
		const sent = await call("POST", "/api/app_requests", {
			key,
			body: { ...parameters, scopes: ["project:read"], ends_at: "2999-01-01" },
			env: racing(close),
		});
		expect(sent).toMatchObject(CLOSED);
	});
});

describe("an app that an organization doesn't allow", () => {
	const expires_at = () => new Date(Date.now() + 60_000).toISOString();

	test("can't get there with a key that it creates, changes or rolls", async () => {
		const { id, project, other, owner, as, allow } = await home();
		await allow([]);
		const body = { label: "x", scopes: ["project:read"], expires_at: expires_at() };
		const make = (more: object) =>
			as("POST", "/api/personal_api_keys", { body: { ...body, ...more } });
		expect(await make({})).toMatchObject(CLOSED);
		expect(await make({ scoped_organizations: [id] })).toMatchObject(CLOSED);
		expect(await make({ scoped_projects: [project] })).toMatchObject(CLOSED);
		expect((await make({ scoped_organizations: [other.id] })).status).toBe(201);
		await keyFor(owner.id, { label: "Short", scopes: ["project:read"], expires_at: expires_at() });
		const { results } = (await as("GET", "/api/personal_api_keys")).body;
		const { id: short } = results.find(({ label }: { label: string }) => label === "Short");
		const path = `/api/personal_api_keys/${short}`;
		expect(await as("POST", `${path}/roll`)).toMatchObject(CLOSED);
		expect(await as("PATCH", path, { body: { label: "Mine" } })).toMatchObject(CLOSED);
	});

	test("can't get there in the name of one that it does", async () => {
		const { key, as, allow } = await home();
		const listed = newApp();
		await allow([listed]);
		const asked = await request(listed);
		const body = { ...asked.parameters, scopes: ["project:read"], ends_at: expires_at() };
		expect(await as("POST", "/api/app_requests", { body })).toMatchObject(CLOSED);
		const tokens = await exchange(await codeFor({ key }, asked), asked);
		expect(tokens.access_token).toContain("tnt_at_");
	});
});
