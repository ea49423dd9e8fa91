import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commit } from "../../../src/access/unit_of_work.ts";
import { bySystem } from "../../../src/db/record.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { fillLog, RETOTAL } from "../../support/activity.ts";
import { call, cost, db, join, racing, withBatch, world } from "../../support/world.ts";

type World = Awaited<ReturnType<typeof world>>;

type Event = { id: string; type: string; data: { item_id: string; name: string } };

/** Reads the feed to its end, following `next`. */
async function follow(path: string, key: string) {
	const events: Event[] = [];
	let pages = 0;
	let next: string | null = path;
	let after: string | null = null;
	while (next) {
		const { status, body } = await call("GET", next, { key });
		expect(status).toBe(200);
		events.push(...body.results);
		({ next, after } = body);
		pages += 1;
	}
	return { events, after, pages };
}

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

test("an event says what happened, who did it, and what changed", async () => {
	const { ask, here, id, owner, project } = await world();
	await here("PATCH", "", { body: { name: "Renamed" } });
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "P" } });
	const { status, body } = await here("GET", "/events");
	expect(status).toBe(200);
	expect(body.results[0]).toEqual({
		id: expect.any(String),
		type: "organization.updated",
		created_at: expect.any(String),
		api_version: "2026-11-21",
		actor: {
			...{ type: "user", uuid: owner.uuid, first_name: "Test", email: owner.email },
			key: { id: expect.any(String), kind: "api_key", label: "Test" },
		},
		origin: { address: null, country: null, user_agent: null, request_id: expect.any(String) },
		data: {
			scope: "Organization",
			item_id: id,
			organization_id: id,
			project_id: null,
			name: "Renamed",
			changes: [{ field: "name", action: "changed", before: "Acme", after: "Renamed" }],
			trigger: null,
		},
	});
	expect(body.results[1]).toMatchObject({ type: "project.updated", data: { project_id: project } });
	expect(body).toMatchObject({ next: null, after: body.results[1].id });
	const log = (await here("GET", "/activity_log")).body.results;
	expect(log.map((item: Event) => item.id)).toEqual([body.results[1].id, body.results[0].id]);
});

test("events without a caller are in the feed, and not in the pages of the activity log", async () => {
	const { ask, here, id, project } = await world();
	const event = bySystem({
		activity: "failed",
		scope: "BatchExportRun",
		item_id: "7",
		name: "Hourly",
		trigger: { error: "It broke." },
		organization: organizationId(id),
		project,
	});
	await commit(env, db, { entries: [event] });
	expect((await here("GET", "/events")).body.results).toMatchObject([
		{
			type: "batch_export_run.failed",
			actor: { type: "system", uuid: null, first_name: null, email: null },
			data: { project_id: project, trigger: { error: "It broke." } },
		},
	]);
	expect((await here("GET", "/activity_log")).body).toMatchObject({ count: 0, results: [] });
	const path = `/api/projects/${project}/activity_log`;
	expect((await ask("GET", path)).body).toMatchObject({ count: 0, results: [] });
	const lines = await ask("GET", path, { headers: { accept: "application/x-ndjson" } });
	expect(lines.body).toBeNull();
});

test("`after` goes on where the last answer ended, whatever happened meanwhile", async () => {
	const { here, key, id } = await world();
	const empty = (await here("GET", "/events")).body;
	expect(empty).toEqual({ results: [], next: null, after: null });
	const names = ["one", "two", "three", "four", "five"];
	for (const name of names) await here("PATCH", "", { body: { name } });
	const all = await follow(`/api/organizations/${id}/events?limit=2`, key);
	expect(all.pages).toBe(3);
	expect(all.events.map(({ data }) => data.name)).toEqual(names);
	const nothing = (await here("GET", `/events?after=${all.after}`)).body;
	expect(nothing).toEqual({ results: [], next: null, after: all.after });
	await here("PATCH", "", { body: { name: "six" } });
	const more = (await here("GET", `/events?after=${all.after}`)).body;
	expect(more.results).toMatchObject([{ data: { name: "six" } }]);
	const upper = `/events?after=${all.after?.toUpperCase()}`;
	expect((await here("GET", upper)).body.results).toHaveLength(1);
});

test("an event that is written later comes later, although it began earlier", async () => {
	const { here, ask, id } = await world();
	let after = "";
	const between = async () => {
		await here("PATCH", "", { body: { name: "first" } });
		({ after } = (await here("GET", "/events")).body);
	};
	const path = `/api/organizations/${id}/domains`;
	const domain = `${v7()}.example.com`;
	await ask("POST", path, { body: { domain }, env: racing(between) });
	const { results } = (await here("GET", `/events?after=${after}`)).body;
	expect(results).toMatchObject([{ type: "domain.created" }]);
});

describe("`types`", () => {
	let home: World;
	const types = async (query: string, key = home.key) => {
		const path = `/api/organizations/${home.id}/events?${query}`;
		return (await follow(path, key)).events.map(({ type }) => type);
	};

	beforeAll(async () => {
		home = await world();
		const { here, ask, project } = home;
		const someone = await join(home.id, 1);
		await here("PATCH", "", { body: { name: "A" } });
		await here("PATCH", `/members/${someone.uuid}`, { body: { level: 8 } });
		await ask("PATCH", `/api/projects/${project}`, { body: { name: "B" } });
		await here("PATCH", "", { body: { name: "C" } });
		await here("DELETE", `/members/${someone.uuid}`);
	});

	const [ORGANIZATION, UPDATED, PROJECT, DELETED] = [
		"organization.updated",
		"member.updated",
		"project.updated",
		"member.deleted",
	];

	test.each([
		["", [ORGANIZATION, UPDATED, PROJECT, ORGANIZATION, DELETED]],
		["types=organization.updated", [ORGANIZATION, ORGANIZATION]],
		["types=member.*", [UPDATED, DELETED]],
		["types=member.*&types=project.updated", [UPDATED, PROJECT, DELETED]],
		["types=member.deleted,+organization.*", [ORGANIZATION, ORGANIZATION, DELETED]],
		["types=member.*,member.updated&limit=1", [UPDATED, DELETED]],
		["types=domain.verified", []],
		["types=nothing.happened", []],
		["types=nothing.*,project.updated", [PROJECT]],
		["types=", [ORGANIZATION, UPDATED, PROJECT, ORGANIZATION, DELETED]],
	])("%s", async (query, expected) => {
		expect(await types(query)).toEqual(expected);
		const member = await join(home.id, 1);
		expect(await types(query, member.key)).toEqual(expected);
	});

	test.each([
		"*",
		"member",
		"member.",
		"Member.updated",
		"member.upd*",
		".updated",
		"member.**",
		"a b",
	])("a 400 for %s", async (type) => {
		const { status, body } = await home.here("GET", `/events?types=${type}`);
		expect([status, body.attr, body.code]).toEqual([400, "types", "invalid_input"]);
		expect(body.detail).toContain("member.*");
	});

	test("of an admin's page without a match, `after` is past what was left out", async () => {
		const { here } = home;
		const newest = (await here("GET", "/activity_log?limit=1")).body.results[0].id;
		const { body } = await here("GET", "/events?types=domain.verified");
		expect(body).toEqual({ results: [], next: null, after: newest });
	});
});

test("an `after` that the organization doesn't have is a 400 that says what to do", async () => {
	const home = await world();
	const stranger = await world();
	await stranger.here("PATCH", "", { body: { name: "Other" } });
	const theirs = (await stranger.here("GET", "/events")).body.after;
	await home.here("PATCH", "", { body: { name: "Mine" } });
	for (const after of [theirs, v7()])
		expect(await home.here("GET", `/events?after=${after}`)).toMatchObject({
			status: 400,
			body: {
				code: "does_not_exist",
				attr: "after",
				detail:
					"No event of this organization has this id, or it is too old to be kept. Leave `after` out to begin with the oldest event.",
			},
		});
	expect((await home.here("GET", "/events?after=7")).body).toMatchObject({
		code: "invalid_input",
		detail: "Must be a valid UUID.",
		attr: "after",
	});
	const download = { headers: { accept: "text/csv" } };
	expect((await home.here("GET", `/events?after=${theirs}`, download)).status).toBe(400);
});

test("an event that a replica doesn't have yet is looked up at the primary", async () => {
	const { here } = await world();
	await here("PATCH", "", { body: { name: "One" } });
	const { after } = (await here("GET", "/events")).body;
	await here("PATCH", "", { body: { name: "Two" } });
	const starts: string[] = [];
	const behind = withBatch(async (send, start) => {
		starts.push(start);
		const results = await send();
		if (start === "first-primary") return results;
		// As on a replica that is behind: it finds no event.
		return results.map((result) => ({
			...result,
			results: result.results.filter((row) => !("position" in row)),
		}));
	});
	const { body } = await here("GET", `/events?after=${after}`, { env: behind });
	expect(body.results).toMatchObject([{ data: { name: "Two" } }]);
	expect(starts).toEqual(["first-unconstrained", "first-primary"]);
});

test("events of a private project are shown only to those who see the project", async () => {
	const { ask, here, id, project } = await world();
	const member = await join(id, 1);
	const admin = await join(id, 8);
	const names = async (key: string, query = "") =>
		(await follow(`/api/organizations/${id}/events?limit=1${query}`, key)).events.map(
			({ data }) => data.name,
		);
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "S", access_control: true } });
	await here("PATCH", "", { body: { name: "Public" } });
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "T" } });
	expect(await names(member.key)).toEqual(["Public"]);
	expect(await names(member.key, "&types=project.*")).toEqual([]);
	expect(await names(admin.key)).toEqual(["S", "Public", "T"]);
	const path = `/api/organizations/${id}/events`;
	const hidden = (await call("GET", path, { key: admin.key })).body.after;
	const { body } = await call("GET", path, { key: member.key });
	expect(body.after).toBe(body.results[0].id);
	expect(JSON.stringify(body)).not.toContain(hidden);
	await ask("POST", `/api/projects/${project}/members`, {
		body: { user_uuid: member.uuid, level: 1 },
	});
	expect(await names(member.key)).toEqual(["S", "Public", "T", member.email]);
	// An event stays a place to go on from, also for those who don't see it any more.
	await ask("DELETE", `/api/projects/${project}/members/${member.uuid}`);
	expect((await call("GET", `${path}?after=${hidden}`, { key: member.key })).status).toBe(200);
	await ask("DELETE", `/api/projects/${project}`);
	expect(await names(member.key)).toEqual(["Public"]);
	expect(await names(admin.key)).toHaveLength(6);
});

test("a member's page looks at a bounded number of events, and `next` goes on after them", async () => {
	const home = await world();
	const member = await join(home.id, 1);
	await fillLog(home, 2500);
	await entry(home, { scope: "Domain", activity: "verified", name: "last" });
	const path = `/api/organizations/${home.id}/events?types=domain.verified`;
	const response = await call("GET", path, { key: member.key });
	expect(response.body).toMatchObject({ results: [], next: expect.any(String) });
	expect(cost(response).read).toBeLessThan(5000);
	const all = await follow(path, member.key);
	expect([all.pages, all.events.map(({ data }) => data.name)]).toEqual([3, ["last"]]);
	expect((await call("GET", `${path}&after=${all.after}`, { key: member.key })).body).toEqual({
		results: [],
		next: null,
		after: all.after,
	});
});

describe("what a page costs", () => {
	const KINDS = [
		"organization.updated",
		"organization.created",
		"domain.verified",
		"member.deleted",
	];
	/** Fills the log with `n` events of each of three kinds, in turn. */
	const fill = (home: World, n: number) =>
		fillLog(home, 3 * n, {
			activity: sql`case i % 3 when 0 then 'updated' when 1 then 'created' else 'deleted' end`,
			project_id: sql`iif(i % 2, ${home.project}, null)`,
		});
	let small: World;
	let large: World;
	beforeAll(async () => {
		[small, large] = [await world(), await world()];
		await fill(small, 200);
		await fill(large, 2000);
	});

	const page = async ({ id }: World, key: string, query: string) => {
		const response = await call("GET", `/api/organizations/${id}/events?${query}`, { key });
		const { read, written, trips } = cost(response);
		expect([trips, written]).toEqual([1, 0]);
		return { read, results: response.body.results.length };
	};

	test.each([
		["", 50],
		[`types=${KINDS[0]}`, 50],
		[`types=${KINDS}`, 50],
		["types=member.*,domain.*", 0],
		["types=organization.*,member.*,batch_export.*,plugin.*", 50],
	])(
		"%s: no more however long the feed is, five rows for each event of an admin's whole feed",
		async (query, n) => {
			for (const level of [8, 1]) {
				const costs = [];
				for (const home of [small, large]) {
					const { key } = await join(home.id, level);
					const start = await page(home, key, `${query}&limit=1`);
					const whole = await page(home, key, `${query}&limit=50`);
					expect(whole.results).toBe(n);
					costs.push(whole.read);
					// Other pages look at events of all types and projects.
					if (level === 8 && !query) {
						expect(whole.read - start.read).toBeLessThanOrEqual(5 * 50);
						expect(start.read).toBeLessThan(60);
					}
				}
				const [few = 0, many = 0] = costs;
				if (level === 8 && !query) expect(Math.abs(many - few)).toBeLessThanOrEqual(5);
				else expect(many).toBeLessThan(7500);
			}
		},
	);

	test("the hundredth page costs what the first does", async () => {
		const { key, id } = large;
		const { body } = await call("GET", `/api/organizations/${id}/events?limit=1000`, { key });
		const late = await page(large, key, `after=${body.after}&limit=50`);
		const early = await page(large, key, "limit=50");
		// Each statement finds the event of `after`.
		expect(Math.abs(late.read - early.read)).toBeLessThanOrEqual(10);
	});
});

test("a page of large changes is cut, and keeps each of them whole", async () => {
	const home = await world();
	const after = 'ü"\n'.repeat(180_000);
	const changes = [{ field: "index.js", action: "changed", before: null, after } as const];
	for (let i = 0; i < 6; i++) await entry(home, { name: String(i), changes });
	const path = `/api/organizations/${home.id}/events`;
	const first = await call("GET", path, { key: home.key });
	expect(first.body.results.length).toBeLessThan(6);
	expect(cost(first).trips).toBe(2);
	const { events } = await follow(path, home.key);
	expect(events.map(({ data }) => data.name)).toEqual([..."012345"]);
	for (const { data } of events) expect(data).toMatchObject({ changes });
});

/** SQLite's JSON functions read at most 1,000 levels. */
test("events whose changes are nested too deeply for SQLite's JSON functions can be read", async () => {
	const home = await world();
	const { here, id } = home;
	const { key } = await join(id, 1);
	const store = (depth: number) => {
		const nested = `${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}`;
		const changes = `[{"field":"x","action":"changed","before":null,"after":${nested}}]`;
		return db.run(
			sql`update activity_log set changes = ${changes} where organization_id = ${organizationId(id)}`,
		);
	};
	const paths = ["/events", "/events?types=organization.updated", "/activity_log"];
	await entry(home);
	for (const depth of [1000, 1001]) {
		await store(depth);
		for (const accept of ["application/json", "text/csv", "application/x-ndjson"])
			for (const path of paths) {
				const { status, body } = await here("GET", path, { headers: { accept } });
				expect(status).toBe(200);
				expect(JSON.stringify(body)).toContain("[".repeat(depth - 2));
			}
		const { status, body } = await call("GET", `/api/organizations/${id}/events`, { key });
		expect({ status, count: body.results.length }).toEqual({ status: 200, count: 1 });
	}
});
