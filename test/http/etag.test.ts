import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { now } from "../../src/db/now.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { projects } from "../../src/db/schema/projects.ts";
import { address, guarded } from "../support/routes.ts";
import { call, cost, db, furnished, join, racing } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

const tagOf = ({ headers }: { headers: Headers }) => headers.get("etag") ?? "";

const gets = guarded.filter(({ method }) => method === "GET");

/** GETs that answer with a Link and no body. */
const EMPTY = /\/(activity|frontend)$/;

/** In two tenants, because of the limit of requests a minute. */
const halves = [gets.slice(0, gets.length / 2), gets.slice(gets.length / 2)];

describe.each(halves.map((half) => [half]))("every GET", (half) => {
	let home: Home;
	beforeAll(async () => {
		home = await furnished();
		// Lists of keys show when they were last used, at most once an hour.
		const { user_id } = personalApiKeys;
		await db.update(personalApiKeys).set({ last_used_at: now() }).where(eq(user_id, home.owner.id));
	});

	test.each(half.map(({ path }) => path))(
		"of %s sends an ETag, and a 304 to a client that has it",
		async (at) => {
			const path = address(at, home);
			const response = await home.ask("GET", path);
			if (EMPTY.test(at) && at.includes("plugin_configs")) {
				expect([response.headers.has("etag"), response.headers.get("cache-control")]).toEqual([
					false,
					"no-store",
				]);
				return;
			}
			expect(tagOf(response)).toMatch(/^"[\w-]{22}"$/);
			expect(response.headers.get("cache-control")).toBe("private, no-cache");
			const known = (tag: string, method = "GET") =>
				home.ask(method, path, { headers: { "if-none-match": tag } });
			for (const tag of [tagOf(response), `W/${tagOf(response)}`, `"x", ${tagOf(response)}`, "*"]) {
				const same = await known(tag);
				expect([same.status, same.body, tagOf(same)]).toEqual([304, null, tagOf(response)]);
				expect(same.headers.get("cache-control")).toBe("private, no-cache");
				expect(same.headers.get("vary")).toBe(response.headers.get("vary"));
				expect(same.headers.has("content-type")).toBe(false);
			}
			expect((await known(tagOf(response), "HEAD")).status).toBe(304);
			expect((await known('"x"')).status).toBe(200);
		},
	);
});

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

// Letters of one to four bytes. With a single é, JSON is one byte longer than its text.
test.each(["Acme", "é", "€", "日本語", "🦄 é"])(
	"the ETag of %s is the digest of its content",
	async (name) => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}`;
		await home.ask("PATCH", path, { body: { name } });
		const response = await home.ask("GET", path);
		expect(response.body).toMatchObject({ name });
		const digest = createHash("sha256").update(JSON.stringify(response.body)).digest();
		expect(tagOf(response)).toBe(`"${digest.subarray(0, 16).toString("base64url")}"`);
		const pretty = await home.ask("GET", `${path}?pretty`);
		expect(pretty.body).toEqual(response.body);
	},
);

/**
 * The object that a route changes: its own path, or without the name of the action. Source has a
 * GET of its own.
 */
const objectOf = (path: string) =>
	path.replace(/\/(?:update_(source)|[a-z_]+)$/, (_, part) => (part ? `/${part}` : ""));

/** The second paths of families that are mounted twice or more. */
const SECOND = /\/pipeline_(frontend|import)_apps|\/projects\/:project_id\/batch_exports/;

/** Routes that change one object, which has a GET. On second paths, only PATCH. */
const changing = guarded.filter(
	({ method, path, fails }) =>
		method !== "GET" &&
		!fails &&
		!(SECOND.test(path) && method !== "PATCH") &&
		gets.some((get) => get.path === objectOf(path) && /(:\w+|\/source)$/.test(get.path)),
);

/** Routes that change one object, which has no GET. */
const NO_GET = guarded.filter(
	({ method, path }) =>
		(["PATCH", "DELETE"].includes(method) ||
			path.includes(":backfill_id") ||
			path.includes(":delivery_id")) &&
		!path.endsWith("/rearrange") &&
		!gets.some((get) => get.path === objectOf(path)),
);

/** Sends a valid request to the route with the headers. */
const send = (home: Home, route: (typeof guarded)[number], headers: Record<string, string>) => {
	const body = route.body?.(home);
	return home.ask(route.method, address(route.path, home), {
		...(body !== undefined && { body }),
		headers,
	});
};

const current = async (home: Home, { path }: (typeof guarded)[number]) =>
	tagOf(await home.ask("GET", objectOf(address(path, home))));

/** Expects a 412, in one round trip. */
function expectFailed(response: Awaited<ReturnType<typeof call>>) {
	expect([response.status, response.body?.code]).toEqual([412, "precondition_failed"]);
	expect(cost(response).trips).toBe(1);
}

test.each(changing.map((route) => [`${route.method} ${route.path}`, route] as const))(
	"%s with If-Match is a 412 and changes nothing if the ETag differs; otherwise it takes as many round trips as without",
	async (_, route) => {
		const home = await furnished();
		const tag = await current(home, route);
		for (const headers of [{ "if-match": '"x"' }, { "if-none-match": tag }])
			expectFailed(await send(home, route, headers));
		expect(await current(home, route)).toBe(tag);
		const entries = db.select().from(activityLog).where(eq(activityLog.user_id, home.owner.id));
		expect(await entries).toEqual([]);
		const response = await send(home, route, { "if-match": tag });
		expect(response.status).toBeLessThan(300);
		expect(cost(response).trips).toBeLessThanOrEqual(2);
	},
);

const EXAMPLES = [
	"PATCH /api/organizations/:id",
	"DELETE /api/organizations/:organization_id/domains/:id",
	"POST /api/organizations/:organization_id/batch_exports/:id/pause",
	"PATCH /api/organizations/:organization_id/pipeline_destinations/:id/update_source",
];

describe.each(EXAMPLES)("%s compares ETags as HTTP says", (title) => {
	const [route] = changing.filter(({ method, path }) => `${method} ${path}` === title);
	if (!route) throw new Error(`${title} is no route that changes an object.`);

	test("a 412 is the response if no ETag of If-Match is the object's, or one of If-None-Match is", async () => {
		const home = await furnished();
		const tag = await current(home, route);
		for (const headers of [
			...['W/"x"', "x"].map((wrong) => ({ "if-match": wrong })),
			...[`W/${tag}`, `"x", ${tag}`, "*"].map((known) => ({ "if-none-match": known })),
			{ "if-match": tag, "if-none-match": tag },
		])
			expectFailed(await send(home, route, headers));
		expect(await current(home, route)).toBe(tag);
	});

	test.each<(tag: string) => Record<string, string>>([
		(tag) => ({ "if-match": `"x", ${tag}` }),
		(tag) => ({ "if-match": `W/"x", W/${tag}` }),
		() => ({ "if-match": "*" }),
		() => ({ "if-none-match": '"x", W/"y"' }),
		(tag) => ({ "if-match": tag, "if-none-match": '"x"' }),
	])("the request is carried out otherwise, with %s", async (headers) => {
		const home = await furnished();
		const response = await send(home, route, headers(await current(home, route)));
		expect(response.status).toBeLessThan(300);
		expect(cost(response).trips).toBeLessThanOrEqual(2);
	});
});

describe("If-Match", () => {
	test("of 20 PATCHes at once with one ETag: one 200, nineteen 412", async () => {
		const home = await furnished();
		for (const path of [
			`/api/organizations/${home.id}`,
			`/api/organizations/${home.id}/domains/${home.domain}`,
			`/api/projects/${home.project}/plugin_configs/${home.config}`,
			`/api/organizations/${home.id}/batch_exports/${home.batch_export}`,
			`/api/organizations/${home.id}/pipeline_destinations/${home.destination}`,
			`/api/personal_api_keys/${home.key_id}`,
			`/api/projects/${home.project}`,
			"/api/users/@me",
		]) {
			const tag = tagOf(await home.ask("GET", path));
			const answers = await Promise.all(
				Array.from({ length: 20 }, (_, i) =>
					home.ask("PATCH", path, {
						body: { name: `${i}`, label: `${i}`, first_name: `${i}`, saml_entity_id: `${i}` },
						headers: { "if-match": tag },
					}),
				),
			);
			const statuses = answers.map(({ status }) => status).sort();
			expect([path, statuses]).toEqual([path, [200, ...Array(19).fill(412)]]);
		}
	});

	test("of 20 DELETEs at once with one ETag: one 204, the others 412 or 404", async () => {
		const home = await furnished();
		const path = `/api/organizations/${home.id}/domains/${home.domain}`;
		const tag = tagOf(await home.ask("GET", path));
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => home.ask("DELETE", path, { headers: { "if-match": tag } })),
		);
		const statuses = answers.map(({ status }) => status);
		expect(statuses.filter((status) => status === 204)).toHaveLength(1);
		expect(statuses.filter((status) => status === 412 || status === 404)).toHaveLength(19);
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
			env: racing(interfere),
		});
		expect(patched.status).toBe(412);
		await db.update(domains).set({ jit_provisioning_enabled: false }).where(its);
		const unlike = await home.ask("PATCH", path, {
			body: { saml_entity_id: "x" },
			headers: { "if-none-match": '"x"' },
			env: racing(interfere),
		});
		expect(unlike.status).toBe(412);
		expect(await db.select().from(domains).where(its)).toMatchObject([{ saml_entity_id: null }]);
		const renamed = async () =>
			db.update(projects).set({ name: "Raced" }).where(eq(projects.id, home.project));
		const project = `/api/projects/${home.project}`;
		const deleted = await home.ask("DELETE", project, {
			headers: { "if-match": tagOf(await home.ask("GET", project)) },
			env: racing(renamed),
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

	test.each(NO_GET.map((route) => [`${route.method} ${route.path}`, route] as const))(
		"of %s, whose object has no GET and so no ETag, is a 412",
		async (_, route) => {
			const home = await furnished();
			expect((await send(home, route, { "if-match": '"x"' })).status).toBe(412);
			expect((await send(home, route, { "if-none-match": "*" })).status).toBe(412);
			const any = { "if-match": "*", "if-none-match": '"x"' };
			expect((await send(home, route, any)).status).toBeLessThan(300);
		},
	);

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
