import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FeedEvent } from "../../../src/activity/events/event.ts";
import { app } from "../../../src/app.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import type { Origin } from "../../../src/db/schema/origin.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { digest } from "../../../src/keys/keys.ts";
import { granted, revoke } from "../../oauth/support.ts";
import { fillLog, RETOTAL } from "../../support/activity.ts";
import { duckdb } from "../../support/exporting.ts";
import { call, db, join, keyFor, times, withBatch, world } from "../../support/world.ts";

type World = Awaited<ReturnType<typeof world>>;

const CSV = "text/csv";
const LINES = "application/x-ndjson";

// Entries are inserted without their running totals, which pages of events don't use.
afterAll(() => env.DB.prepare(RETOTAL).run());

const entry = ({ id, owner }: World, more: Partial<typeof activityLog.$inferInsert> = {}) =>
	db.insert(activityLog).values({
		organization_id: organizationId(id),
		user_id: owner.id,
		activity: "updated",
		scope: "Organization",
		item_id: id,
		...more,
	});

/** The pages that have downloads. */
const pathsOf = ({ id, project }: World) => ({
	feed: `/api/organizations/${id}/events`,
	organization: `/api/organizations/${id}/activity_log`,
	project: `/api/projects/${project}/activity_log`,
});

const get = (path: string, key: string, accept: string, headers: Record<string, string> = {}) =>
	call("GET", path, { key, headers: { accept, ...headers } });

// biome-ignore lint/suspicious/noExplicitAny: each test knows the form of the lines
const parse = (lines: string | null): any[] =>
	(lines ?? "")
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line));

/** All results of a page, following `next`. */
async function all(path: string, key: string) {
	const results = [];
	for (let next: string | null = path; next; ) {
		const { body } = await call("GET", next, { key });
		results.push(...body.results);
		next = body.next;
	}
	return results;
}

/** The tests' D1, which counts round trips and rows. */
function counting() {
	const spent = { trips: 0, rows: 0 };
	const counted = withBatch(async (send) => {
		spent.trips += 1;
		const results = await send();
		for (const { meta } of results) spent.rows += meta.rows_read;
		return results;
	});
	return { spent, ...counted };
}

/** The response to a download, whose body has not been read. */
function open(
	path: string,
	{ key }: { key: string },
	accept = LINES,
	overrides: Partial<Env> = {},
) {
	const headers = { authorization: `Bearer ${key}`, accept };
	const request = new Request(new URL(path, "https://tenantry.test"), { headers });
	return app.fetch(request, { ...env, ...overrides }, createExecutionContext());
}

const textOf = async (response: Response) => new TextDecoder().decode(await response.arrayBuffer());

const reading = ({ body }: Response) => {
	if (!body) throw new Error("The response has no body.");
	return body.pipeThrough(new TextDecoderStream()).getReader();
};

const ORIGIN: Origin = {
	key: { id: v7(), kind: "app", label: "Notes, “ours”" },
	request: { address: "192.0.2.7", country: "FR", user_agent: "curl/8", request_id: v7() },
};

/** The last columns of a CSV file. */
const origins = ({ actor, origin }: FeedEvent) => ({
	key_id: actor.key?.id ?? null,
	key_kind: actor.key?.kind ?? null,
	key_label: actor.key?.label ?? null,
	address: origin?.address ?? null,
	country: origin?.country ?? null,
	user_agent: origin?.user_agent ?? null,
	request_id: origin?.request_id ?? null,
});

const TEXTS = [
	"plain",
	'a "quoted", text',
	"lines\nand\r\nmore",
	"Grüße, мир, 世界 🎉 مرحبا",
	" spaces ",
	"",
	"\\N and NULL",
	"it's",
];

describe("a download has what the pages have", () => {
	let home: World;
	beforeAll(async () => {
		home = await world();
		const { id, project } = home;
		const changes = TEXTS.map(
			(after) => ({ field: "name", action: "changed", before: null, after }) as const,
		);
		await times(TEXTS.length, (i) =>
			entry(home, {
				name: TEXTS[i] ?? "",
				project_id: i % 2 ? project : null,
				changes: changes.slice(0, i),
				trigger: i % 3 ? { text: TEXTS[i], n: 1.5, list: [i, null] } : undefined,
				origin: i % 2 ? ORIGIN : undefined,
			}),
		);
		await entry(home, {
			user_id: null,
			name: "long",
			project_id: project,
			changes: [
				{ field: "index.js", action: "changed", before: "x", after: 'é"\n'.repeat(120_000) },
			],
			trigger: { job: "operator" },
		});
		await entry(home, { scope: "Domain", activity: "verified", item_id: id, name: null });
	});

	test.each(["feed", "organization", "project"] as const)("as JSON lines: %s", async (name) => {
		const path = pathsOf(home)[name];
		const { status, headers, body } = await get(path, home.key, LINES);
		expect([status, headers.get("content-type")]).toEqual([200, LINES]);
		expect(headers.get("content-disposition")).toMatch(
			/^attachment; filename="(events|activity)-\d{4}-\d\d-\d\d\.ndjson"$/,
		);
		const pages = await all(path, home.key);
		expect(pages.length).toBeGreaterThan(4);
		expect(parse(body)).toEqual(pages);
	});

	test.each(["feed", "organization"] as const)("as CSV, read by DuckDB: %s", async (name) => {
		const path = pathsOf(home)[name];
		const { headers, body } = await get(path, home.key, CSV);
		expect(headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
		expect(headers.get("content-disposition")).toMatch(/\.csv"$/);
		const rows = await duckdb(
			new TextEncoder().encode(body),
			"select * from read_csv(PATH, header = true, all_varchar = true, allow_quoted_nulls = false, max_line_size = 4000000, buffer_size = 16000000)",
		);
		const text = (value: unknown) =>
			value === null || value === undefined
				? null
				: typeof value === "object"
					? JSON.stringify(value)
					: String(value);
		const expected = (await all(path, home.key)).map((item) =>
			name === "feed"
				? {
						id: item.id,
						type: item.type,
						created_at: item.created_at,
						api_version: item.api_version,
						actor_type: item.actor.type,
						actor_uuid: item.actor.uuid,
						actor_first_name: item.actor.first_name,
						actor_email: item.actor.email,
						scope: item.data.scope,
						item_id: item.data.item_id,
						organization_id: item.data.organization_id,
						project_id: text(item.data.project_id),
						name: item.data.name,
						changes: text(item.data.changes),
						trigger: text(item.data.trigger),
						...origins(item),
					}
				: {
						id: item.id,
						created_at: item.created_at,
						user_uuid: text(item.user?.uuid),
						user_first_name: text(item.user?.first_name),
						user_email: text(item.user?.email),
						activity: item.activity,
						scope: item.scope,
						item_id: item.item_id,
						name: item.detail.name,
						changes: text(item.detail.changes),
						trigger: text(item.detail.trigger),
						actor_type: item.actor.type,
						...origins(item),
					},
		);
		expect(rows).toEqual(expected);
	});

	test("of what the filters match, whatever `limit` and `offset` are", async () => {
		const { feed, organization } = pathsOf(home);
		for (const [path, filter, limit] of [
			[feed, "types=domain.*", "limit=0"],
			[organization, "scope=Domain&activity=verified", "limit=1&offset=5"],
			[organization, "after=2099-01-01", ""],
		] as const) {
			const expected = await all(`${path}?${filter}`, home.key);
			const lines = parse((await get(`${path}?${filter}&${limit}`, home.key, LINES)).body);
			expect(lines).toEqual(expected);
		}
		const [first] = await all(feed, home.key);
		const rest = parse((await get(`${feed}?after=${first.id}`, home.key, LINES)).body);
		expect(rest).toEqual((await all(feed, home.key)).slice(1));
	});

	test("a CSV file without entries has its header", async () => {
		const { body } = await get(`${pathsOf(home).organization}?after=2099-01-01`, home.key, CSV);
		expect(body).toBe(
			"id,created_at,user_uuid,user_first_name,user_email,activity,scope,item_id,name,changes,trigger,actor_type,key_id,key_kind,key_label,address,country,user_agent,request_id\r\n",
		);
		const lines = await get(`${pathsOf(home).feed}?types=nothing.*`, home.key, LINES);
		expect([lines.status, lines.body]).toEqual([200, null]);
	});
});

test("a download isn't cached, and HEAD answers without its body", async () => {
	const home = await world();
	await home.here("PATCH", "", { body: { name: "One" } });
	for (const path of Object.values(pathsOf(home))) {
		const { status, headers } = await get(path, home.key, CSV, { "if-none-match": "*" });
		expect([status, headers.get("cache-control"), headers.get("etag")]).toEqual([
			200,
			"no-store",
			null,
		]);
		const head = await call("HEAD", path, { key: home.key, headers: { accept: CSV } });
		expect([head.status, head.body]).toEqual([200, null]);
		expect(head.headers.get("content-disposition")).toContain("attachment");
	}
});

test("a request that is rejected gets the error, not a file", async () => {
	const home = await world();
	const stranger = await world();
	const { feed, organization, project } = pathsOf(home);
	const limited = await keyFor(home.owner.id, { scopes: ["organization:read"] });
	for (const [path, key, status] of [
		[feed, stranger.key, 403],
		[organization, stranger.key, 403],
		[project, stranger.key, 403],
		[feed, limited, 403],
		[`${feed}?types=x`, home.key, 400],
		[`${organization}?user=x`, home.key, 400],
	] as const)
		for (const accept of [CSV, LINES]) {
			const response = await get(path, key, accept);
			expect(response.status).toBe(status);
			expect(response.headers.get("content-type")).toBe("application/json");
		}
});

describe("a download of several pages", () => {
	const SIZE = 3500;
	let home: World;
	beforeAll(async () => {
		home = await world();
		await fillLog(home, SIZE, { project_id: sql`${home.project}` });
	});

	test.each([
		// An entry in its index and in the list of positions, its row and its user. The feed merges two
		// indexes.
		["feed", 5],
		["organization", 4],
		["project", 4],
	] as const)(
		"has every entry once, in order, at %s: rows read in proportion",
		async (name, rows) => {
			const { DB, spent } = counting();
			const response = await open(pathsOf(home)[name], home, LINES, { DB });
			const names = parse(await textOf(response)).map((item) =>
				Number((item.data ?? item.detail).name),
			);
			const expected = Array.from({ length: SIZE }, (_, i) => i);
			expect(names).toEqual(name === "feed" ? expected : expected.toReversed());
			expect(spent.trips).toBe(4);
			expect(spent.rows).toBeLessThan(rows * SIZE + 150);
		},
	);

	test("reads a page when the client has taken the one before", async () => {
		const { DB, spent } = counting();
		const response = await open(pathsOf(home).feed, home, LINES, { DB });
		expect(spent.trips).toBe(1);
		const reader = reading(response);
		await reader.read();
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(spent.trips).toBeLessThanOrEqual(2);
		await reader.cancel();
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(spent.trips).toBeLessThanOrEqual(3);
	});

	/** Checks that a download breaks off when `end` runs after its first lines. */
	async function breaksOff(path: string, key: string, end: () => PromiseLike<unknown>) {
		const response = await open(path, { key });
		expect(response.status).toBe(200);
		const reader = reading(response);
		let lines = (await reader.read()).value ?? "";
		await end();
		await expect(async () => {
			while (true) {
				const { done, value } = await reader.read();
				if (done) return;
				lines += value;
			}
		}).rejects.toThrow();
		expect(parse(lines).length).toBeLessThan(SIZE);
	}

	test.each(["feed", "organization"] as const)(
		"breaks off when the key is revoked midway: %s",
		async (name) => {
			const key = await keyFor(home.owner.id);
			const hash = await digest(key);
			await breaksOff(pathsOf(home)[name], key, () =>
				db.delete(personalApiKeys).where(eq(personalApiKeys.hash, hash)),
			);
		},
	);

	test("ends with what there was at the time of the request", async () => {
		const response = await open(pathsOf(home).feed, home);
		await times(5, (i) => entry(home, { name: `later ${i}`, project_id: home.project }));
		expect(parse(await textOf(response))).toHaveLength(SIZE);
	});

	test("counts as one request, and arrives whole through the network", async () => {
		const headers = { authorization: `Bearer ${home.key}`, accept: LINES };
		const url = new URL(pathsOf(home).organization, "https://tenantry.test");
		const response = await exports.default.fetch(url, { headers });
		expect(parse(await textOf(response)).length).toBeGreaterThanOrEqual(SIZE);
		const limit = { calls: 0 };
		const REQUESTS = {
			limit: async () => {
				limit.calls += 1;
				return { success: true };
			},
		};
		await textOf(await open(pathsOf(home).feed, home, LINES, { REQUESTS }));
		expect(limit.calls).toBe(1);
	});

	test("breaks off when the access of the app that reads it is ended", async () => {
		const { client_id, access } = await granted(home, {
			fields: { scope: "activity_log:read" },
			choice: { scopes: ["activity_log:read"] },
		});
		await breaksOff(pathsOf(home).feed, access, () => revoke(client_id, access));
	});
});

test("large changes are read a few at a time, and arrive whole", async () => {
	const home = await world();
	const after = "x".repeat(500_000);
	const changes = [{ field: "index.js", action: "changed", before: null, after } as const];
	for (let i = 0; i < 20; i++) await entry(home, { name: String(i), changes });
	for (const path of [pathsOf(home).feed, pathsOf(home).organization]) {
		const { DB, spent } = counting();
		const reader = reading(await open(path, home, LINES, { DB }));
		let lines = "";
		let longest = 0;
		for (let next = await reader.read(); !next.done; next = await reader.read()) {
			lines += next.value;
			longest = Math.max(longest, next.value.length);
		}
		expect(parse(lines).map((item) => (item.data ?? item.detail).changes)).toEqual(
			Array(20).fill(changes),
		);
		expect(longest).toBeLessThan(5_000_000);
		expect(spent.trips).toBeGreaterThanOrEqual(4);
	}
});

test("a download leaves out the private projects that the caller can't see", async () => {
	const home = await world();
	const { ask, here, id, project } = home;
	const member = await join(id, 1);
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "S", access_control: true } });
	await here("PATCH", "", { body: { name: "Public" } });
	for (const path of [pathsOf(home).feed, pathsOf(home).organization]) {
		expect(parse((await get(path, home.key, LINES)).body)).toHaveLength(2);
		expect(parse((await get(path, member.key, LINES)).body)).toHaveLength(1);
	}
});
