import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { CURRENT_VERSION } from "../../../src/http/versions.ts";
import { digest, newValue } from "../../../src/keys/keys.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { eventually, stopClock } from "../../support/time.ts";
import { call, cost, db, forget, keyFor, person, times, world } from "../../support/world.ts";

const path = "/api/personal_api_keys";
const TOO_MUCH = forbidden("An API key can't give more access than it has itself.");

const meWith = async (key: string) => (await call("GET", "/api/users/@me", { key })).status;

test("a new key works, and its value is shown once", async () => {
	const { ask, id, project } = await world();
	const fields = {
		label: "CI",
		scopes: ["organization:read"],
		scoped_organizations: [id],
		scoped_projects: [project],
		expires_at: "2099-01-01T00:00:00.000Z",
	};
	const { status, body } = await ask("POST", `${path}/`, { body: fields });
	expect(status).toBe(201);
	expect(body).toEqual({
		...fields,
		scoped_teams: [project],
		id: expect.any(String),
		value: expect.stringMatching(/^tnt_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/),
		mask_value: `tnt_…${body.value.slice(-4)}`,
		created_at: expect.any(String),
		last_used_at: null,
		last_rolled_at: null,
		previous_value_expires_at: null,
		allowed_ips: [],
	});
	const shown = { ...body, value: null };
	expect((await ask("GET", `${path}/${body.id}`)).body).toEqual(shown);
	expect((await ask("GET", path)).body.results[0]).toEqual(shown);
	const fresh = { label: "Open", scopes: ["organization:read"] };
	const { value: key } = (await ask("POST", path, { body: fresh })).body;
	expect((await call("GET", "/api/organizations", { key })).body.count).toBe(1);
});

test("the value is not stored; KV has the documented record", async () => {
	const { ask, owner, id } = await world();
	const { body } = await ask("POST", path, {
		body: { label: "x", scopes: ["user:read"], scoped_organizations: [id] },
	});
	const record = await env.KEYS.get(`key:${await digest(body.value)}`, "json");
	expect(record).toEqual({
		...{ id: body.id, user_id: owner.id, scopes: ["user:read"] },
		...{ organizations: [id], projects: [], allowed_ips: [] },
		...{ expires_at: null, version: "2026-11-21" },
	});
	const rows = await db.select().from(personalApiKeys);
	expect(JSON.stringify([rows, await env.KEYS.list()])).not.toContain(body.value);
});

test("a key missing from KV costs one extra round trip, once", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id);
	await env.KEYS.delete(`key:${await digest(key)}`);
	await forget(key);
	const ask = async () => cost(await call("GET", "/api/users/@me", { key })).trips;
	expect(await ask()).toBe(2);
	await eventually(async () => expect(await ask()).toBe(1));
});

test("a key whose record in KV has another form is read from D1, and the record is replaced", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id);
	const name = `key:${await digest(key)}`;
	const record = JSON.parse((await env.KEYS.get(name)) ?? "");
	await env.KEYS.put(name, JSON.stringify({ id: "x", user_id: owner.id, scopes: "*" }));
	await forget(key);
	const response = await call("GET", "/api/users/@me", { key });
	expect([response.status, cost(response).trips]).toEqual([200, 2]);
	const replaced = JSON.stringify({ ...record, version: CURRENT_VERSION });
	await eventually(async () => expect(await env.KEYS.get(name)).toBe(replaced));
});

/** A new key, and functions that change it. */
async function made(fields: object = {}) {
	const home = await world();
	const { body } = await home.ask("POST", path, { body: { label: "x", scopes: ["*"], ...fields } });
	const at = `${path}/${body.id}`;
	return { ...home, at, value: String(body.value) };
}

test("a revoked key is a 404", async () => {
	const { ask, at } = await made();
	expect((await ask("DELETE", at)).status).toBe(204);
	expect((await ask("GET", at)).status).toBe(404);
});

test("an added scope works immediately, even if KV is stale", async () => {
	const { ask, at, value: key } = await made({ scopes: ["user:read"] });
	const name = `key:${await digest(key)}`;
	const stale = (await env.KEYS.get(name)) ?? "";
	expect((await call("GET", "/api/projects", { key })).status).toBe(403);
	const scopes = ["project:read"];
	expect((await ask("PATCH", at, { body: { scopes } })).body.scopes).toEqual(scopes);
	await env.KEYS.put(name, stale);
	await forget(key);
	expect((await call("GET", "/api/projects", { key })).status).toBe(200);
	expect(await meWith(key)).toBe(403);
});

test("a rolled key has a new value, and the old one stops working", async () => {
	const { ask, key } = await world();
	const { body } = await ask("POST", `${path}/@current/roll/`);
	expect(body.last_rolled_at).not.toBeNull();
	expect([await meWith(key), await meWith(body.value)]).toEqual([401, 200]);
});

test("the old value of a key works beside the new one until the overlap ends", async () => {
	stopClock();
	const { ask, at, value } = await made();
	const roll = (body: object) => ask("POST", `${at}/roll`, { body });
	const end = Date.now() + 3_600_000;
	const { body: rolled } = await roll({ overlap: "1h" });
	expect(rolled.previous_value_expires_at).toBe(new Date(end).toISOString());
	expect([await meWith(value), await meWith(rolled.value)]).toEqual([200, 200]);
	await env.KEYS.delete(`key:${await digest(value)}`);
	await forget(value);
	expect(await meWith(value)).toBe(200);
	vi.setSystemTime(end - 1);
	expect(await meWith(value)).toBe(200);
	vi.setSystemTime(end);
	expect([await meWith(value), await meWith(rolled.value)]).toEqual([401, 200]);
	await forget(value);
	expect(await meWith(value)).toBe(401);
	expect((await ask("GET", at)).body.previous_value_expires_at).toBeNull();
	expect(await roll({ overlap: "2h" })).toMatchObject(
		wrong("invalid_choice", '"2h" is not a valid choice.', "overlap"),
	);
});

test("rolling again or revoking a key ends its old value, and narrowing it narrows both", async () => {
	const { ask, at, value } = await made();
	const roll = async (overlap: string) =>
		String((await ask("POST", `${at}/roll`, { body: { overlap } })).body.value);
	const second = await roll("24h");
	const third = await roll("24h");
	expect([await meWith(value), await meWith(second), await meWith(third)]).toEqual([401, 200, 200]);
	await ask("PATCH", at, { body: { scopes: ["project:read"] } });
	expect([await meWith(second), await meWith(third)]).toEqual([403, 403]);
	await ask("PATCH", at, { body: { scopes: ["*"] } });
	expect([await meWith(second), await meWith(third)]).toEqual([200, 200]);
	const last = await roll("none");
	expect([await meWith(third), await meWith(last)]).toEqual([401, 200]);
	const beside = await roll("1h");
	expect((await ask("DELETE", at)).status).toBe(204);
	expect([await meWith(last), await meWith(beside)]).toEqual([401, 401]);
});

test("the old value of a key can’t give itself more time than it has", async () => {
	const { ask, at, value: key } = await made();
	await ask("POST", `${at}/roll`, { body: { overlap: "1h" } });
	const later = { label: "x", scopes: ["user:read"], expires_at: "2099-01-01" };
	expect(await call("POST", `${at}/roll`, { key, body: { overlap: "24h" } })).toMatchObject(
		TOO_MUCH,
	);
	expect(await call("POST", path, { key, body: later })).toMatchObject(TOO_MUCH);
	const soon = { ...later, expires_at: new Date(Date.now() + 60_000).toISOString() };
	expect((await call("POST", path, { key, body: soon })).status).toBe(201);
});

test("parallel rolls of a key leave exactly one working value", async () => {
	const { ask, at, value } = await made();
	const rolls = await Promise.all(Array.from({ length: 10 }, () => ask("POST", `${at}/roll`)));
	const values = rolls.flatMap(({ status, body }) => (status === 200 ? [body.value] : []));
	const statuses = await Promise.all([value, ...values].map(meWith));
	expect(statuses.filter((status) => status === 200)).toHaveLength(1);
	expect(new Set(rolls.map(({ status }) => status))).toEqual(new Set([200, 400]));
});

test("@current is the key in use", async () => {
	const { owner } = await world();
	const key = await keyFor(owner.id, { label: "In use" });
	const ask = (method: string, body?: object) => call(method, `${path}/@current`, { key, body });
	expect((await ask("GET")).body.label).toBe("In use");
	expect((await ask("PATCH", { label: "Renamed" })).body.label).toBe("Renamed");
	expect((await ask("DELETE")).status).toBe(204);
	expect((await ask("GET")).status).toBe(401);
});

test("another user's key is not found", async () => {
	const [{ ask }, { at }] = [await world(), await made()];
	for (const [method, action, options] of [
		["GET", ""],
		["PATCH", "", { body: { label: "y" } }],
		["DELETE", ""],
		["POST", "/roll"],
	] as const)
		expect((await ask(method, at + action, options)).status).toBe(404);
});

test("a key can’t create, widen or roll a key that may do more than itself", async () => {
	const { ask, owner, id, project } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const expires_at = "2098-01-01T00:00:00.000Z";
	const key = await keyFor(owner.id, {
		scopes: ["personal_api_key:write", "plugin:write"],
		scoped_organizations: [id],
		expires_at,
	});
	const allowed = { scopes: ["plugin:read"], scoped_organizations: [id], expires_at };
	const make = (body: object) =>
		call("POST", path, { key, body: { label: "x", ...allowed, ...body } });
	const created = await make({});
	expect(created.status).toBe(201);
	expect((await make({ scoped_projects: [project] })).status).toBe(201);
	for (const more of [
		{ scopes: ["*"] },
		{ scopes: ["plugin:read", "user:read"] },
		{ scoped_organizations: [] },
		{ scoped_organizations: [id, other.id] },
		{ expires_at: null },
		{ expires_at: "2098-01-02" },
	]) {
		expect(await make(more)).toMatchObject(TOO_MUCH);
		const patch = await call("PATCH", `${path}/${created.body.id}`, { key, body: more });
		expect(patch).toMatchObject(TOO_MUCH);
	}
	const wide = (await ask("POST", path, { body: { label: "wide", scopes: ["*"] } })).body;
	expect(await call("POST", `${path}/${wide.id}/roll`, { key })).toMatchObject(TOO_MUCH);
	const body = { label: "still wide" };
	const renamed = await call("PATCH", `${path}/${wide.id}`, { key, body });
	expect(renamed.body.scopes).toEqual(["*"]);
});

test("a key can only be restricted to what its owner can see", async () => {
	const { ask, project } = await world();
	const stranger = await world();
	const make = (body: object) =>
		ask("POST", path, { body: { label: "x", scopes: ["*"], ...body } });
	expect((await make({ scoped_organizations: [stranger.id] })).body).toMatchObject({
		code: "does_not_exist",
		detail: `Invalid pk "${stranger.id}" - object does not exist.`,
		attr: "scoped_organizations__0",
	});
	expect((await make({ scoped_projects: [project, stranger.project] })).body.attr).toBe(
		"scoped_projects__1",
	);
});

test("a user has at most 25 keys, even if requests race", async () => {
	const { ask, owner } = await world();
	await times(19, (i) =>
		db
			.insert(personalApiKeys)
			.values({ user_id: owner.id, label: `${i}`, hash: newValue(), mask_value: "" }),
	);
	const body = { label: "x", scopes: ["*"] };
	const responses = await Promise.all(
		Array.from({ length: 10 }, () => ask("POST", path, { body })),
	);
	const rejected = responses.filter(({ status }) => status !== 201);
	expect(rejected).toHaveLength(5);
	for (const response of rejected)
		expect(response).toMatchObject(
			wrong("invalid_input", "A user can have at most 25 personal API keys.", null),
		);
	expect((await ask("GET", path)).body.count).toBe(25);
});

test("last_used_at is written at most once an hour, after the response", async () => {
	const { key, id } = await person();
	const lastUsed = async () => {
		const [row] = await db.select().from(personalApiKeys).where(eq(personalApiKeys.user_id, id));
		return row?.last_used_at ?? null;
	};
	expect(cost(await call("GET", "/api/users/@me", { key })).written).toBe(0);
	const first = await eventually(async () => {
		const at = await lastUsed();
		expect(at).not.toBeNull();
		return at;
	});
	await call("GET", "/api/users/@me", { key });
	expect(await lastUsed()).toBe(first);
	const old = new Date(Date.now() - 3_700_000).toISOString();
	await db
		.update(personalApiKeys)
		.set({ last_used_at: old })
		.where(eq(personalApiKeys.user_id, id));
	await call("GET", "/api/users/@me", { key });
	await eventually(async () => expect((await lastUsed()) ?? "").not.toBe(old));
});

test("a key may revoke any of its owner's keys", async () => {
	const { ask, owner } = await world();
	const narrow = await keyFor(owner.id, { scopes: ["personal_api_key:write"] });
	const wide = (await ask("POST", path, { body: { label: "x", scopes: ["*"] } })).body;
	const { status } = await call("DELETE", `${path}/${wide.id}`, { key: narrow });
	expect(status).toBe(204);
});

test("scoped_teams is another name for scoped_projects", async () => {
	const { ask, project } = await world();
	const second = (await ask("POST", "/api/projects", { body: { name: "Second" } })).body.id;
	const fields = { label: "x", scopes: ["*"] };
	const make = (projects: object) => ask("POST", path, { body: { ...fields, ...projects } });
	const both = (list: number[]) => ({ scoped_projects: list, scoped_teams: list });
	const created = await make({ scoped_teams: [project] });
	expect(created.body).toMatchObject(both([project]));
	const repeated = { scoped_projects: [project, second], scoped_teams: [second, project, project] };
	expect((await make(repeated)).body).toMatchObject(both([project, second]));
	const keyPath = `${path}/${created.body.id}`;
	const change = (body: object) => ask("PATCH", keyPath, { body });
	expect((await change({ scoped_teams: [second] })).body).toMatchObject(both([second]));
	expect((await change({ label: "y" })).body).toMatchObject(both([second]));
	expect((await change({ scoped_teams: [] })).body).toMatchObject(both([]));
	for (const body of [
		{ scoped_projects: [project], scoped_teams: [second] },
		{ scoped_projects: [project], scoped_teams: [] },
	])
		for (const answer of [await make(body), await change(body)])
			expect(answer).toMatchObject({
				status: 400,
				body: { code: "invalid_input", attr: "scoped_teams" },
			});
	expect((await make({ scoped_teams: [2 ** 30] })).body).toMatchObject({
		code: "does_not_exist",
		attr: "scoped_teams__0",
	});
	const { value } = (await make({ scoped_teams: [second] })).body;
	const rejected = await call("GET", `/api/projects/${project}`, { key: value });
	expect(rejected.status).toBe(403);
});
