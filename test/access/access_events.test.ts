import { env as bindings } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { eventually } from "../support/time.ts";
import { call, cost, db, join, keyFor, person, world } from "../support/world.ts";

/** At most 9 entries a day, and 3 about one person. Sums are written after a quarter of a second. */
const env = { ACCESS_EVENTS_PER_DAY: "9", USAGE_FLUSH_SECONDS: "0.25" };

type World = Awaited<ReturnType<typeof world>>;

const noted = ({ organization_id }: World) =>
	db
		.select()
		.from(activityLog)
		.where(
			sql`${eq(activityLog.organization_id, organization_id)} and ${activityLog.scope} in ('Request', 'ActivityLog')`,
		)
		.orderBy(activityLog.position);

const together = <T>(n: number, request: (i: number) => Promise<T>) =>
	Promise.all(Array.from({ length: n }, (_, i) => request(i)));

test("denied requests are summed up by minute, key and operation", async () => {
	const home = await world();
	const member = await join(home.id, 1);
	const other = await keyFor(member.id, { label: "Other", scopes: ["project:read"] });
	const path = `/api/organizations/${home.id}`;
	const headers = { "cf-connecting-ip": "192.0.2.7" };
	await together(4, async (i) => {
		const key = i === 3 ? other : member.key;
		const response = await call("PATCH", path, { key, headers, env, body: { name: "Mine" } });
		expect(response.status).toBe(403);
	});
	await eventually(async () => expect(await noted(home)).toHaveLength(2));
	const { body } = await home.here("GET", "/activity_log?scope=Request");
	const [first, second] = body.results.toSorted(
		(a: Noted, b: Noted) => b.detail.trigger.count - a.detail.trigger.count,
	);
	expect(first).toMatchObject({
		activity: "denied",
		item_id: new Date().toISOString().slice(0, 10),
		actor: { type: "person", uuid: member.uuid, key: { label: "Test" } },
		origin: { address: "192.0.2.7" },
		detail: {
			name: "PATCH /api/organizations/:id",
			trigger: { count: 3, minute: expect.stringMatching(/T\d\d:\d\d:00\.000Z$/) },
		},
	});
	expect(second).toMatchObject({
		actor: { key: { label: "Other" } },
		detail: { trigger: { count: 1 } },
	});
	const feed = await home.here("GET", "/events?types=request.denied");
	expect(feed.body.results).toHaveLength(2);
});

type Noted = { detail: { trigger: { count: number } } };

test("a stranger's denied requests aren't noted, and those of unknown keys aren't", async () => {
	const home = await world();
	const stranger = await person();
	const own = await join(home.id, 1);
	const path = `/api/organizations/${home.id}/members`;
	expect((await call("GET", path, { key: stranger.key, env })).status).toBe(403);
	expect((await call("GET", path, { key: "tnt_x", env })).status).toBe(401);
	const key = await keyFor(own.id, { scopes: ["user:read"] });
	expect((await call("GET", path, { key, env })).status).toBe(403);
	await eventually(async () => expect(await noted(home)).toHaveLength(1));
	expect(await noted(home)).toMatchObject([
		{ user_id: own.id, name: expect.stringMatching(/^GET/) },
	]);
});

test("nobody can fill a log: the entries of a day are limited, by person and by organization", async () => {
	const home = await world();
	const attackers = await together(5, () => join(home.id, 1));
	const paths = [
		"/webhooks",
		"/audit_streams",
		"/oauth_clients",
		"/oauth_grants",
		"/service_accounts",
	];
	for (const { key } of attackers)
		for (let round = 0; round < 2; round++)
			await together(paths.length, (i) =>
				call("POST", `/api/organizations/${home.id}${paths[i]}`, { key, env, body: {} }),
			);
	const rows = await noted(home);
	expect(rows).toHaveLength(9);
	for (const { id } of attackers)
		expect(rows.filter(({ user_id }) => user_id === id).length).toBeLessThanOrEqual(3);
	// The running totals, of which pages have their counts, are those of the entries.
	const { body } = await home.here("GET", "/activity_log");
	expect([body.count, body.results.length]).toEqual([9, 9]);
});

test("reads of the log are noted once a day for each person, and a GET writes nothing", async () => {
	const home = await world();
	const reader = await join(home.id, 1);
	const read = (key: string, path: string) =>
		call("GET", `/api/organizations/${home.id}${path}`, { key, env });
	for (const path of ["/activity_log", "/events", "/activity_log?limit=1"])
		expect(cost(await read(reader.key, path))).toMatchObject({ trips: 1, written: 0 });
	await together(3, () => read(home.key, "/events"));
	await eventually(async () => expect(await noted(home)).toHaveLength(2));
	const rows = await noted(home);
	expect(rows).toMatchObject([
		{ scope: "ActivityLog", activity: "read", user_id: reader.id, trigger: null },
		{ scope: "ActivityLog", activity: "read", user_id: home.owner.id },
	]);
});

test("downloads are noted with the operation", async () => {
	const home = await world();
	const headers = { accept: "text/csv" };
	await together(2, () => home.here("GET", "/activity_log", { env, headers }));
	await eventually(async () =>
		expect(await noted(home)).toMatchObject([
			{
				activity: "downloaded",
				name: "GET /api/organizations/:organization_id/activity_log",
				trigger: { count: 2 },
			},
		]),
	);
});

test("addresses are left out of these entries, too", async () => {
	const home = await world();
	await home.here("PATCH", "", { body: { logs_addresses: false } });
	const member = await join(home.id, 1);
	const headers = { "cf-connecting-ip": "192.0.2.7", "user-agent": "Terraform/1.9" };
	await call("DELETE", `/api/organizations/${home.id}`, { key: member.key, env, headers });
	await eventually(async () =>
		expect(await noted(home)).toMatchObject([
			{ origin: { request: { address: null, user_agent: "Terraform/1.9" } } },
		]),
	);
});

test.each(["membership", "key"])("nothing is noted after the end of a %s", async (what) => {
	const home = await world();
	const member = await join(home.id, 1);
	let ends = 0;
	async function end() {
		ends += 1;
		const ended =
			what === "key"
				? await call("DELETE", "/api/personal_api_keys/@current", { key: member.key })
				: await home.here("DELETE", `/members/${member.uuid}`);
		expect(ended.status).toBe(204);
	}
	/** D1, in which the access ends just before the entries are written. */
	const prepare = (text: string) => {
		const statement = bindings.DB.prepare(text);
		if (!text.startsWith('insert into "activity_log"')) return statement;
		const bind = (...values: unknown[]) => ({
			run: () => end().then(() => statement.bind(...values).run()),
		});
		return { bind };
	};
	const DB = Object.assign(Object.create(bindings.DB), { prepare });
	const path = `/api/organizations/${home.id}`;
	const denied = await call("DELETE", path, { key: member.key, env: { ...env, DB } });
	expect([denied.status, ends]).toEqual([403, 1]);
	expect(await noted(home)).toEqual([]);
});
