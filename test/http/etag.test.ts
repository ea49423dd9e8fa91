import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { domains, projects } from "../../src/db/schema/organizations.ts";
import { routesOf, sample, type World } from "../support/routes.ts";
import { call, cost, db, furnished, join, racing, world } from "../support/world.ts";
import { expectFailed, raceFor, tagOf, testChanges, testReads, testWithoutGet } from "./etag.ts";

testReads([
	...sample.filter(({ method }) => method === "GET"),
	...routesOf(
		"GET /api/projects/:project_id/plugin_configs/:id/frontend",
		"GET /api/organizations/:organization_id/pipeline_destinations/:id/source",
		"GET /api/organizations/:organization_id/events",
	),
]);

test("an ETag is the same for every member who sees the same content, and another after a change", async () => {
	const home = await furnished();
	const path = `/api/organizations/${home.id}/domains/${home.domain}`;
	const member = await join(home.id, 1);
	const first = tagOf(await home.ask("GET", path));
	expect(tagOf(await call("GET", path, { key: member.key }))).toBe(first);
	expect(tagOf(await home.ask("HEAD", `${path}/`))).toBe(first);
	const pretty = tagOf(await home.ask("GET", `${path}?pretty`));
	expect(pretty).toBe(first.replace(/"$/, '-pretty"'));
	await home.ask("PATCH", path, { body: { saml_entity_id: "x" } });
	expect(tagOf(await home.ask("GET", path))).not.toBe(first);
});

test("an ETag is the digest of the content, whatever its letters", async () => {
	const home = await world();
	const path = `/api/organizations/${home.id}`;
	// Letters of one to four bytes. With a single é, JSON is one byte longer than its text.
	for (const name of ["Acme", "é", "€", "日本語", "🦄 é"]) {
		await home.ask("PATCH", path, { body: { name } });
		const response = await home.ask("GET", path);
		expect(response.body).toMatchObject({ name });
		const digest = createHash("sha256").update(JSON.stringify(response.body)).digest();
		expect(tagOf(response)).toBe(`"${digest.subarray(0, 16).toString("base64url")}"`);
		const pretty = await home.ask("GET", `${path}?pretty`);
		expect(pretty.body).toEqual(response.body);
	}
});

testChanges(
	routesOf(
		"PATCH /api/organizations/:id",
		"DELETE /api/organizations/:organization_id/domains/:id",
		"POST /api/organizations/:organization_id/batch_exports/:id/pause",
		"PATCH /api/organizations/:organization_id/pipeline_destinations/:id/update_source",
		"PATCH /api/users/:uuid",
		"PATCH /api/projects/:project_id/plugin_configs/:id",
		"DELETE /api/projects/:id",
	),
);

testWithoutGet(
	routesOf(
		"PATCH /api/organizations/:organization_id/members/:user__uuid",
		"DELETE /api/organizations/:organization_id/invites/:id",
		"POST /api/organizations/:organization_id/webhooks/:id/deliveries/:delivery_id/replay",
	),
);

describe("ETags are compared as HTTP says:", () => {
	const path = (home: World) => `/api/organizations/${home.id}`;
	const change = (home: World, headers: Record<string, string>) =>
		home.ask("PATCH", path(home), { body: { name: v7() }, headers });

	test("a 412 is the response if no ETag of If-Match is the object's, or one of If-None-Match is", async () => {
		const home = await furnished();
		const tag = tagOf(await home.ask("GET", path(home)));
		for (const headers of [
			...['W/"x"', "x"].map((wrong) => ({ "if-match": wrong })),
			...[`W/${tag}`, `"x", ${tag}`, "*"].map((known) => ({ "if-none-match": known })),
			{ "if-match": tag, "if-none-match": tag },
		])
			expectFailed(await change(home, headers));
		expect(tagOf(await home.ask("GET", path(home)))).toBe(tag);
	});

	test("the request is carried out otherwise", async () => {
		const home = await furnished();
		for (const headers of [
			(tag: string) => ({ "if-match": `"x", ${tag}` }),
			(tag: string) => ({ "if-match": `W/"x", W/${tag}` }),
			() => ({ "if-match": "*" }),
			() => ({ "if-none-match": '"x", W/"y"' }),
			(tag: string) => ({ "if-match": tag, "if-none-match": '"x"' }),
		]) {
			const given = headers(tagOf(await home.ask("GET", path(home))));
			const response = await change(home, given);
			expect([given, response.status]).toEqual([given, 200]);
			expect(cost(response).trips).toBeLessThanOrEqual(3);
		}
	});
});

describe("If-Match", () => {
	test("of many changes at once with one ETag: one is carried out", async () => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		expect(await raceFor(home, "PATCH", path, 4)).toEqual([200, 412, 412, 412]);
		const [first, ...others] = await raceFor(home, "DELETE", path, 4);
		expect(first).toBe(204);
		for (const status of others) expect([404, 412]).toContain(status);
	});

	test("is compared again in the batch of the change", async () => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		const its = eq(domains.id, home.domain);
		// Not a column that the write compares anyway.
		const interfere = async () =>
			db.update(domains).set({ jit_provisioning_enabled: true }).where(its);
		const tag = tagOf(await home.ask("GET", path));
		const patched = await home.ask("PATCH", path, {
			body: { saml_entity_id: "x" },
			headers: { "if-match": tag },
			env: racing(interfere, { at: 3 }),
		});
		expect(patched.status).toBe(412);
		await db.update(domains).set({ jit_provisioning_enabled: false }).where(its);
		const unlike = await home.ask("PATCH", path, {
			body: { saml_entity_id: "x" },
			headers: { "if-none-match": '"x"' },
			env: racing(interfere, { at: 3 }),
		});
		expect(unlike.status).toBe(412);
		expect(await db.select().from(domains).where(its)).toMatchObject([{ saml_entity_id: null }]);
		const renamed = async () =>
			db.update(projects).set({ name: "Raced" }).where(eq(projects.id, home.project));
		const project = `/api/projects/${home.project}`;
		const deleted = await home.ask("DELETE", project, {
			headers: { "if-match": tagOf(await home.ask("GET", project)) },
			env: racing(renamed, { at: 3 }),
		});
		expect(deleted.status).toBe(412);
		expect((await home.ask("GET", project)).body.name).toBe("Raced");
	});

	test("comes after the checks of access and of the object's existence", async () => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		const headers = { "if-match": '"x"' };
		const member = await join(home.id, 1);
		const body = { saml_entity_id: "x" };
		expect((await call("PATCH", path, { key: member.key, body, headers })).status).toBe(403);
		expect((await call("PATCH", path, { body, headers })).status).toBe(401);
		const missing = path.replace(home.domain, crypto.randomUUID());
		expect((await home.ask("PATCH", missing, { body, headers })).status).toBe(404);
		expect((await home.ask("DELETE", missing, { headers })).status).toBe(404);
		const any = { "if-none-match": "*" };
		expect((await call("PATCH", path, { key: member.key, body, headers: any })).status).toBe(403);
		expect((await home.ask("DELETE", missing, { headers: any })).status).toBe(404);
	});

	test("is ignored where a path isn't one object", async () => {
		const home = await furnished();
		const headers = { "if-match": '"x"', "if-none-match": "*" };
		const organization = `/api/organizations/${home.id}`;
		for (const [method, path, body] of [
			["POST", "/api/projects", { name: "x" }],
			["POST", `${organization}/invites/bulk`, [{ target_email: `${home.id}@tenantry.test` }]],
			["POST", `${organization}/batch_exports/test`, { destination: { type: "NoOp", config: {} } }],
			["PATCH", `/api/projects/${home.project}/plugin_configs/rearrange`, {}],
		] as const)
			expect((await home.ask(method, path, { body, headers })).status).toBeLessThan(300);
	});

	test("takes the ETag of an indented response", async () => {
		const home = await furnished();
		const path = `/api/projects/${home.project}`;
		const tag = tagOf(await home.ask("GET", `${path}?pretty`));
		const headers = { "if-match": tag };
		expect((await home.ask("PATCH", path, { body: { name: "x" }, headers })).status).toBe(200);
		expect((await home.ask("PATCH", path, { body: { name: "y" }, headers })).status).toBe(412);
	});

	test("with an Idempotency-Key changes nothing when it is repeated after the object has changed", async () => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}/batch_exports/${home.batch_export}`;
		const headers = { "if-match": tagOf(await home.ask("GET", path)), "idempotency-key": "k" };
		const first = await home.ask("POST", `${path}/pause`, { headers });
		expect(first.body.paused).toBe(true);
		await home.ask("POST", `${path}/unpause`);
		const again = await home.ask("POST", `${path}/pause`, { headers });
		expect([200, 409]).toContain(again.status);
		expect((await home.ask("GET", path)).body.paused).toBe(false);
	});
});
