import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { wrong } from "../../support/errors.ts";
import { call, cost, db, join, keyFor, racing, world } from "../../support/world.ts";

const path = "/api/personal_api_keys";
const expires_at = "2099-01-01T00:00:00.000Z";

const required = (name: string) =>
	wrong(
		"expiry_required",
		`API keys that can reach the organization "${name}" must expire: set expires_at.`,
		"expires_at",
	);

/** An organization whose keys must expire. */
async function strict(name = "Strict") {
	const home = await world(name);
	const set = await home.here("PATCH", "", { body: { keys_must_expire: true } });
	expect(set.body.keys_must_expire).toBe(true);
	const make = (body: object = {}, options: Parameters<typeof call>[2] = {}) =>
		home.ask("POST", path, { body: { label: "x", scopes: ["*"], ...body }, ...options });
	return { ...home, make };
}

test("keys may last forever unless an admin requires an expiry", async () => {
	const { here, ask, id } = await world();
	expect((await here("GET", "")).body.keys_must_expire).toBe(false);
	const member = await join(id, 1);
	const body = { keys_must_expire: true };
	const rejected = await call("PATCH", `/api/organizations/${id}`, { key: member.key, body });
	expect(rejected.status).toBe(403);
	expect((await ask("POST", path, { body: { label: "x", scopes: ["*"] } })).status).toBe(201);
	const made = await ask("POST", "/api/organizations", { body: { name: "New", ...body } });
	expect(made.body.keys_must_expire).toBe(true);
});

describe("where keys must expire", () => {
	test("a key that can reach the organization isn't created without an expiry", async () => {
		const { make, id, project } = await strict();
		for (const body of [
			{},
			{ expires_at: null },
			{ scoped_organizations: [id] },
			{ scoped_projects: [project] },
			{ scoped_organizations: [id], scoped_projects: [project] },
		]) {
			const rejected = await make(body);
			expect(rejected).toMatchObject(required("Strict"));
			expect(cost(rejected).trips).toBe(1);
		}
		const made = await make({ expires_at });
		expect([made.status, cost(made).trips]).toEqual([201, 2]);
	});

	test("a key that can't reach it needs none", async () => {
		const { make, ask, id } = await strict();
		const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
		expect((await make({ scoped_organizations: [other.id] })).status).toBe(201);
		expect((await make({ scoped_projects: [other.teams[0].id] })).status).toBe(201);
		expect(await make({ scoped_organizations: [other.id, id] })).toMatchObject(required("Strict"));
		const stranger = await world();
		const body = { label: "x", scopes: ["*"] };
		expect((await stranger.ask("POST", path, { body })).status).toBe(201);
	});

	test("a key without an expiry still works, but can't be rolled or changed until it gets one", async () => {
		const { owner } = await strict();
		const key = await keyFor(owner.id);
		const ask = (method: string, at: string, body?: object) => call(method, at, { key, body });
		expect((await ask("GET", "/api/users/@me")).status).toBe(200);
		expect(await ask("POST", `${path}/@current/roll`)).toMatchObject(required("Strict"));
		for (const body of [{ label: "y" }, { scopes: ["personal_api_key:write", "user:read"] }])
			expect(await ask("PATCH", `${path}/@current`, body)).toMatchObject(required("Strict"));
		expect((await ask("PATCH", `${path}/@current`, {})).status).toBe(200);
		expect((await ask("PATCH", `${path}/@current`, { label: "y", expires_at })).status).toBe(200);
		expect(await ask("PATCH", `${path}/@current`, { expires_at: null })).toMatchObject({
			status: 403,
		});
		const rolled = await ask("POST", `${path}/@current/roll`);
		expect(rolled.body).toMatchObject({ label: "y", expires_at });
	});

	test("two changes of a key, each allowed alone, don't let it reach the organization forever", async () => {
		const { ask, make } = await strict();
		const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
		const { id } = (await make({ scoped_organizations: [other.id], expires_at })).body;
		const unlimited = { body: { expires_at: null } };
		const change = async () =>
			expect((await ask("PATCH", `${path}/${id}`, unlimited)).status).toBe(200);
		const widened = await ask("PATCH", `${path}/${id}`, {
			body: { scoped_organizations: [] },
			env: racing(change),
		});
		expect(widened).toMatchObject(required("Strict"));
	});

	test("a key can leave the organization instead", async () => {
		const { ask, owner } = await strict();
		const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
		const key = await keyFor(owner.id);
		const narrowed = await call("PATCH", `${path}/@current`, {
			key,
			body: { scoped_organizations: [other.id] },
		});
		expect(narrowed.body).toMatchObject({ scoped_organizations: [other.id], expires_at: null });
	});

	test("the key that accepting an invite gives needn't: it is a new user's only way in", async () => {
		const { here } = await strict();
		const target_email = `${crypto.randomUUID()}@tenantry.test`;
		const invite = await here("POST", "/invites", { body: { target_email, send_email: false } });
		const token = invite.body.accept_url.split("/").at(-1);
		const accepted = await call("POST", `/api/invites/${token}/accept`);
		expect(accepted.body.personal_api_key).toMatchObject({ scopes: ["*"], expires_at: null });
	});

	test("a service account's keys must, too", async () => {
		const { here } = await strict();
		const account = (await here("POST", "/service_accounts", { body: { name: "CI" } })).body;
		const at = `/service_accounts/${account.id}/keys`;
		const body = { label: "x", scopes: ["project:read"] };
		expect(await here("POST", at, { body })).toMatchObject(required("Strict"));
		expect((await here("POST", at, { body: { ...body, expires_at } })).status).toBe(201);
	});
});

test.each([
	["created", "POST", path, { label: "x", scopes: ["*"] }],
	["changed", "PATCH", `${path}/@current`, { label: "y" }],
	["rolled", "POST", `${path}/@current/roll`, undefined],
] as const)("a key isn't %s if an organization begins to require it meanwhile", async (...row) => {
	const [what, method, at, body] = row;
	const { ask, id } = await world("Sudden");
	const begin = () =>
		db.update(organizations).set({ keys_must_expire: true }).where(eq(organizations.uuid, id));
	const rejected = await ask(method, at, { body, env: racing(begin) });
	expect(rejected).toMatchObject(what === "rolled" ? { status: 400 } : required("Sudden"));
	const { results } = (await ask("GET", path)).body;
	expect(results).toMatchObject([{ label: "Test", last_rolled_at: null }]);
});
