import { eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { personalApiKeys } from "../../src/db/schema/personal_api_keys.ts";
import { now } from "../../src/lib/time.ts";
import { address, type Guarded, guarded, type World } from "../support/routes.ts";
import { type call, cost, db, furnished } from "../support/world.ts";

export const tagOf = ({ headers }: { headers: Headers }) => headers.get("etag") ?? "";

export const gets = guarded.filter(({ method }) => method === "GET");

/** GETs that answer with a Link and no body. */
const EMPTY = /plugin_configs\/:id\/(activity|frontend)$/;

/** Tests that each GET has an ETag. */
export function testReads(routes: Guarded[]) {
	let home: World;
	beforeAll(async () => {
		home = await furnished();
		// Lists of keys show when they were last used, at most once an hour.
		const { user_id } = personalApiKeys;
		await db.update(personalApiKeys).set({ last_used_at: now() }).where(eq(user_id, home.owner.id));
	});

	test.each(routes)(
		"GET $path sends an ETag, and a 304 to a client that has it",
		async ({ path: at }) => {
			const path = address(at, home);
			const response = await home.ask("GET", path);
			if (EMPTY.test(at)) {
				expect(response.headers.has("etag")).toBe(false);
				expect(response.headers.get("cache-control")).toBe("no-store");
				return;
			}
			// Files have the tag of their bucket.
			expect(tagOf(response)).toMatch(/^"(?:[\w-]{22}|[\da-f]{32})"$/);
			const caching = response.headers.get("cache-control");
			// Nor may a proxy compress files: their digest would be wrong.
			expect(caching).toMatch(/^private, no-cache(?:, no-transform)?$/);
			const known = (tag: string, method = "GET") =>
				home.ask(method, path, { headers: { "if-none-match": tag } });
			for (const tag of [tagOf(response), `W/${tagOf(response)}`, `"x", ${tagOf(response)}`, "*"]) {
				const same = await known(tag);
				expect([same.status, same.body, tagOf(same)]).toEqual([304, null, tagOf(response)]);
				expect(same.headers.get("cache-control")).toBe(caching);
				expect(same.headers.get("vary")).toBe(response.headers.get("vary"));
				expect(same.headers.has("content-type")).toBe(false);
			}
			expect((await known(tagOf(response), "HEAD")).status).toBe(304);
			expect((await known('"x"')).status).toBe(200);
		},
	);
}

/**
 * The object that a route changes: its own path, or without the name of the action. Source and
 * notifications have GETs of their own.
 */
const objectOf = (path: string) =>
	path.replace(/\/(?:update_(source)|(?!notifications$)[a-z_]+)$/, (_, part) =>
		part ? `/${part}` : "",
	);

/** The second paths of families that are mounted twice or more. */
const SECOND = /\/pipeline_(frontend|import)_apps|\/projects\/:project_id\/batch_exports/;

/** Routes that change one object, which has a GET. On second paths, only PATCH. */
export const changing = guarded.filter(
	({ method, path, fails }) =>
		method !== "GET" &&
		!fails &&
		!(SECOND.test(path) && method !== "PATCH") &&
		gets.some(
			(get) => get.path === objectOf(path) && /(:\w+|\/source|\/notifications)$/.test(get.path),
		),
);

/** Routes that change one object, which has no GET. */
export const withoutGet = guarded.filter(
	({ method, path }) =>
		(["PATCH", "DELETE"].includes(method) || /:backfill_id|:delivery_id/.test(path)) &&
		!path.endsWith("/rearrange") &&
		!gets.some((get) => get.path === objectOf(path)),
);

/** Sends a valid request to the route with the headers. */
const send = (home: World, route: Guarded, headers: Record<string, string>) => {
	const body = route.body?.(home);
	return home.ask(route.method, address(route.path, home), {
		...(body !== undefined && { body }),
		headers,
	});
};

/** Returns the ETag of the object that the route changes. */
const current = async (home: World, { path }: Guarded) =>
	tagOf(await home.ask("GET", objectOf(address(path, home))));

/** Expects a 412, with the round trip that reads the object. */
export function expectFailed(response: Awaited<ReturnType<typeof call>>) {
	expect([response.status, response.body?.code]).toEqual([412, "precondition_failed"]);
	expect(cost(response).trips).toBe(2);
}

/** Tests that each change of an object that has a GET compares its ETag. */
export const testChanges = (routes: Guarded[]) =>
	test.each(routes)(
		"$method $path with If-Match is a 412 and changes nothing if the ETag differs; otherwise it takes one round trip more than without",
		async (route) => {
			const home = await furnished();
			const tag = await current(home, route);
			for (const headers of [{ "if-match": '"x"' }, { "if-none-match": tag }])
				expectFailed(await send(home, route, headers));
			expect(await current(home, route)).toBe(tag);
			const entries = db.select().from(activityLog).where(eq(activityLog.user_id, home.owner.id));
			expect(await entries).toEqual([]);
			const response = await send(home, route, { "if-match": tag });
			expect(response.status).toBeLessThan(300);
			expect(cost(response).trips).toBeLessThanOrEqual(3);
		},
	);

/** Tests that only `*` matches an object without a GET. */
export const testWithoutGet = (routes: Guarded[]) =>
	test.each(routes)(
		"$method $path, whose object has no GET and so no ETag, is a 412 with If-Match",
		async (route) => {
			const home = await furnished();
			expect((await send(home, route, { "if-match": '"x"' })).status).toBe(412);
			expect((await send(home, route, { "if-none-match": "*" })).status).toBe(412);
			const any = { "if-match": "*", "if-none-match": '"x"' };
			expect((await send(home, route, any)).status).toBeLessThan(300);
		},
	);

/** Changes the object at `path` many times at once with its ETag. Returns the statuses. */
export async function raceFor({ ask }: World, method: string, path: string, times: number) {
	const headers = { "if-match": tagOf(await ask("GET", path)) };
	const bodyOf = (i: number) => ({
		body: { name: `${i}`, label: `${i}`, first_name: `${i}`, saml_entity_id: `${i}` },
	});
	const answers = await Promise.all(
		Array.from({ length: times }, (_, i) =>
			ask(method, path, { ...(method === "PATCH" && bodyOf(i)), headers }),
		),
	);
	return answers.map(({ status }) => status).sort();
}
