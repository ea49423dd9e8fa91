import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { trustedIssuers } from "../../../src/db/schema/oauth.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { forbidden } from "../../support/errors.ts";
import { call, cost, db, join, keyFor, racing, world } from "../../support/world.ts";
import { statusWith } from "../support.ts";
import { keyOf, trusting } from "./support.ts";
import { AUDIENCE, SUBJECT } from "./tokens.ts";

const TOO_MUCH = forbidden("An API key can't give more access than it has itself.");

const BODY = {
	name: "Builds",
	issuer: "https://127.0.0.1:9/issuer/",
	subject: SUBJECT,
	scopes: ["project:read"],
};

describe("a trusted issuer", () => {
	test("is created, read, listed, changed and deleted by an admin, and each is an event", async () => {
		const { here, id, path, trust: first } = await trusting();
		const admin = await join(id, 8);
		const ask = (method: string, at: string, body?: object) =>
			call(method, `/api/organizations/${id}${at}`, { key: admin.key, body });
		const made = await ask("POST", path, { ...BODY, name: " Builds ", claims: { ref: "main" } });
		expect(made.status).toBe(201);
		expect(cost(made).trips).toBe(2);
		const trust = {
			...BODY,
			id: expect.any(String),
			// The issuer stays exactly as it is in tokens.
			issuer: "https://127.0.0.1:9/issuer/",
			audience: AUDIENCE,
			claims: { ref: "main" },
			scoped_projects: [],
			created_at: expect.any(String),
			last_used_at: null,
		};
		expect(made.body).toEqual(trust);
		const at = `${path}/${made.body.id}`;
		expect((await ask("GET", `${path}/${made.body.id.toUpperCase()}`)).body).toEqual(trust);
		expect((await ask("GET", path)).body).toMatchObject({ count: 2, results: [trust, first] });
		const changed = await ask("PATCH", at, { name: "Nightly", audience: "tenantry" });
		expect(changed.body).toEqual({ ...trust, name: "Nightly", audience: "tenantry" });
		expect((await ask("PATCH", at, {})).body).toEqual(changed.body);
		expect((await ask("DELETE", at)).status).toBe(204);
		expect((await ask("GET", at)).status).toBe(404);
		const { results } = (await here("GET", "/events?types=trusted_issuer.*")).body;
		expect(
			results.map(({ type, data }: { type: string; data: { name: string } }) => [type, data.name]),
		).toEqual([
			["trusted_issuer.created", "Deployment of main"],
			["trusted_issuer.created", "Builds"],
			["trusted_issuer.updated", "Nightly"],
			["trusted_issuer.deleted", "Nightly"],
		]);
	});

	test("is for admins, and isn't found under another organization or account", async () => {
		const { here, id, path, at } = await trusting();
		const [member, stranger] = [await join(id, 1), await world()];
		const { body: other } = await here("POST", "/service_accounts", { body: { name: "Other" } });
		const beside = at.replace(/[\w-]{36}/, other.id);
		for (const [method, to, body] of [
			["GET", path, undefined],
			["GET", at, undefined],
			["POST", path, BODY],
			["PATCH", at, { name: "x" }],
			["PATCH", at, { scopes: "x" }],
			["DELETE", at, undefined],
		] as const) {
			expect((await here(method, to, { key: member.key, body })).status).toBe(403);
			expect((await stranger.here(method, to, { body })).status).toBe(404);
			if (to === at) expect((await here(method, beside, { body })).status).toBe(404);
		}
		const count = async (to: string) => (await here("GET", to)).body.count;
		expect([await count(path), await count(beside.replace(/\/[\w-]+$/, ""))]).toEqual([1, 0]);
	});

	test("must be on the public internet and use https, unless private hosts are allowed", async () => {
		const { here, path, at } = await trusting();
		const env = { ALLOW_PRIVATE_DESTINATIONS: "" };
		const invalid = { status: 400, body: { attr: "issuer" } };
		for (const issuer of ["http://192.0.2.1", "https://127.0.0.1"]) {
			const body = { ...BODY, issuer };
			expect(await here("POST", path, { body, env })).toMatchObject(invalid);
			expect(await here("PATCH", at, { body: { issuer }, env })).toMatchObject(invalid);
		}
	});
});

describe("a key can't let a job have more than itself", () => {
	test.each([
		["scopes", { scopes: ["organization_member:write", "project:read"] }, { scopes: ["*"] }],
		["life", { expires_at: "2099-01-01T00:00:00.000Z" }, {}],
		["addresses", { allowed_ips: ["203.0.113.0/24"] }, {}],
	])("%s", async (_, key, more) => {
		const { id, owner, path, at } = await trusting({ scopes: ["*"] });
		const limited = await keyFor(owner.id, key);
		const ask = (method: string, to: string, body: object) =>
			call(method, `/api/organizations/${id}${to}`, {
				key: limited,
				body,
				headers: { "cf-connecting-ip": "203.0.113.1" },
			});
		expect(await ask("POST", path, { ...BODY, ...more })).toMatchObject(TOO_MUCH);
		// With another subject or issuer, the caller would get a key with all that the trust gives.
		for (const body of [{ subject: "x" }, { issuer: BODY.issuer }, { claims: { a: "b" } }])
			expect(await ask("PATCH", at, body)).toMatchObject(TOO_MUCH);
		expect((await ask("PATCH", at, { name: "Renamed" })).status).toBe(200);
	});

	test("also if another request gives the trust more meanwhile", async () => {
		const { id, owner, here, at, trust } = await trusting();
		const key = await keyFor(owner.id, { scopes: ["organization_member:write", "project:read"] });
		const response = await call("PATCH", `/api/organizations/${id}${at}`, {
			key,
			body: { subject: "mine" },
			env: racing(() => here("PATCH", at, { body: { scopes: ["*"] } })),
		});
		expect(response).toMatchObject(TOO_MUCH);
		const its = eq(trustedIssuers.id, trust.id);
		expect((await db.select().from(trustedIssuers).where(its))[0]).toMatchObject({
			subject: SUBJECT,
			scopes: ["*"],
		});
	});

	test("projects that the account can't see", async () => {
		const { here, path, at, project } = await trusting();
		const other = await world();
		const wrongProject = {
			status: 400,
			body: { attr: "scoped_projects__1", code: "does_not_exist" },
		};
		const body = { scoped_projects: [project, other.project] };
		expect(await here("POST", path, { body: { ...BODY, ...body } })).toMatchObject(wrongProject);
		expect(await here("PATCH", at, { body })).toMatchObject(wrongProject);
	});
});

describe("the keys of a trusted issuer", () => {
	const left = ({ trust }: { trust: { id: string } }) =>
		db.$count(personalApiKeys, eq(personalApiKeys.client_id, trust.id));

	test.each([
		["issuer", { issuer: BODY.issuer }],
		["audience", { audience: "other" }],
		["subject", { subject: "other" }],
		["claims", { claims: { environment: "production" } }],
		["scopes", { scopes: ["plugin:read"] }],
	])("end when its %s changes", async (_, body) => {
		const home = await trusting();
		const key = await keyOf(home);
		expect((await home.here("PATCH", home.at, { body })).status).toBe(200);
		expect(await statusWith(key)).toBe(401);
		expect(await left(home)).toBe(0);
	});

	test("stay when its name changes, and end when it is deleted, unlike those of others", async () => {
		const home = await trusting();
		const made = await home.here("POST", `/service_accounts/${home.account.id}/keys`, {
			body: { label: "Old", scopes: ["project:read"] },
		});
		const { body: second } = await home.here("POST", home.path, {
			body: { ...BODY, issuer: home.url },
		});
		const [key, other] = [await keyOf(home), await keyOf({ ...home, trust: second })];
		await home.here("PATCH", home.at, { body: { name: "Renamed" } });
		expect(await statusWith(key)).toBe(200);
		expect((await home.here("DELETE", home.at)).status).toBe(204);
		expect(await statusWith(key)).toBe(401);
		expect(await left(home)).toBe(0);
		expect(await statusWith(other)).toBe(200);
		expect(await statusWith(made.body.value)).toBe(200);
	});

	test("aren't among those that the account was given by hand, and don't count as such", async () => {
		const home = await trusting();
		await keyOf(home);
		const { body } = await home.here("GET", `/service_accounts/${home.account.id}/keys`);
		expect(body).toMatchObject({ count: 0, results: [] });
	});
});
