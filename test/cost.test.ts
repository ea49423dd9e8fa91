import { beforeAll, describe, expect, test } from "vitest";
import { organizations, projects } from "../src/db/schema/organizations.ts";
import { members, users } from "../src/db/schema/people.ts";
import { personalApiKeys } from "../src/db/schema/personal_api_keys.ts";
import { newValue } from "../src/keys/keys.ts";
import { controlledMember } from "./access/controlled.ts";
import { address, guarded } from "./support/routes.ts";
import { ROWS_WRITTEN } from "./support/rows_written.ts";
import { call, cost, db, furnished, keyFor, times, withBatch, world } from "./support/world.ts";

describe("what a request costs", () => {
	let shared: Awaited<ReturnType<typeof furnished>>;
	beforeAll(async () => {
		shared = await furnished();
	});

	test.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
		"%s, with a key that has only its scope",
		async (_, { method, path, scope, body, fails }) => {
			const home = method === "GET" ? shared : await furnished();
			const response = await call(method, address(path, home), {
				key: await keyFor(home.owner.id, { scopes: [scope] }),
				...(body && { body: body(home) }),
			});
			if (fails) expect(response.status).toBe(fails);
			else expect(response.status).toBeLessThan(300);
			const { trips, written, kv } = cost(response);
			// An error response reports only its round trips.
			expect(kv).toBe(fails ? Number.NaN : 0);
			if (method === "GET") expect({ trips, written }).toEqual({ trips: 1, written: 0 });
			else {
				expect(trips).toBeLessThanOrEqual(2);
				if (!fails) expect(written).toBe(ROWS_WRITTEN[`${method} ${path}`]);
			}
		},
	);

	test.each(["GET", "PATCH"])("is what it spends on the database: %s", async (method) => {
		const home = await world();
		const spent = { trips: 0, read: 0, written: 0 };
		const counting = withBatch(async (send) => {
			const results = await send();
			spent.trips += 1;
			for (const { meta } of results) {
				spent.read += meta.rows_read;
				spent.written += meta.rows_written;
			}
			return results;
		});
		const response = await home.here(method, "", {
			...(method === "PATCH" && { body: { name: "Renamed" } }),
			env: counting,
		});
		expect(response.status).toBe(200);
		expect(cost(response)).toEqual({ ...spent, kv: 0 });
		expect(spent.read).toBeGreaterThan(0);
		expect(spent.written > 0).toBe(method === "PATCH");
	});

	test("each GET returns the same with @current", async () => {
		const home = shared;
		let compared = 0;
		for (const { method, path, fails } of guarded) {
			if (method !== "GET" || fails || !/:(organization|project)_id/.test(path)) continue;
			const [named, unnamed] = await Promise.all(
				[path, path.replace(/:(organization|project)_id/, "@current")].map((one) =>
					call(method, address(one, home), { key: home.key }),
				),
			);
			expect({ path, status: unnamed?.status }).toEqual({ path, status: named?.status });
			compared += 1;
		}
		expect(compared).toBeGreaterThan(40);
	});

	test("@current takes no additional round trip", async () => {
		const { ask } = await world();
		for (const path of [
			"/api/organizations/@current",
			"/api/organizations/@current/activity_log",
			"/api/projects/@current",
			"/api/projects/@current/members",
		])
			expect(cost(await ask("GET", path)).trips).toBe(1);
	});

	test("a rejected request takes one round trip at most", async () => {
		const { id } = await world();
		const stranger = await world();
		for (const request of [
			{ body: { name: "x" } },
			{ body: { name: 7 } },
			{ raw: "{", headers: { "content-type": "application/json" } },
		])
			expect(cost(await stranger.ask("PATCH", `/api/organizations/${id}`, request)).trips).toBe(1);
	});

	test("a stranger's request reports the same cost whether an object exists or not", async () => {
		const home = shared;
		const stranger = await world();
		const nobody = "00000000-0000-0000-0000-000000000000";
		const pairs = [
			[`/api/organizations/${home.id}`, `/api/organizations/${nobody}`],
			[`/api/projects/${home.project}`, "/api/projects/1073741824"],
			[
				`/api/organizations/${stranger.id}/domains/${home.domain}`,
				`/api/organizations/${stranger.id}/domains/${nobody}`,
			],
			[
				`/api/organizations/${stranger.id}/invites/${home.invite}`,
				`/api/organizations/${stranger.id}/invites/${nobody}`,
			],
			[
				`/api/organizations/${stranger.id}/members/${home.member}`,
				`/api/organizations/${stranger.id}/members/${nobody}`,
			],
		] as const;
		for (const paths of pairs) {
			const [existing, missing] = await Promise.all(
				paths.map(async (path) => {
					const { status, headers } = await stranger.ask("DELETE", path);
					return [status, headers.get("server-timing")];
				}),
			);
			expect(existing).toEqual([404, 'd1_trips;desc="1"']);
			expect(missing).toEqual(existing);
		}
	});
});

test.each([
	["GET", "/domains"],
	["GET", "/batch_exports"],
	["GET", "/batch_exports/:batch_export"],
	["GET", "/webhooks"],
	["GET", "/activity_log"],
	["PATCH", "/batch_exports/:batch_export"],
])("access controls read at most two rows more: %s %s", async (method, path) => {
	const { home, key, compare } = await controlledMember();
	const where = `/api/organizations/${home.id}${path.replace(":batch_export", home.batch_export)}`;
	const body = () => ({ name: crypto.randomUUID() });
	const ask = () => call(method, where, { key, ...(method === "PATCH" && { body: body() }) });
	if (method === "PATCH") await ask();
	const { off, on } = await compare(ask);
	expect([off.status, on.status]).toEqual([200, 200]);
	expect(cost(on).written).toBe(cost(off).written);
	expect(cost(on).read - cost(off).read).toBeLessThanOrEqual(2);
});

test("filtering by a user who isn't visible costs the same as by one who doesn't exist", async () => {
	const home = await world();
	const stranger = await world();
	await home.here("PATCH", "", { body: { name: "Renamed" } });
	await stranger.here("PATCH", "", { body: { name: "Renamed" } });
	const { uuid, email } = stranger.owner;
	const nobody = "00000000-0000-0000-0000-000000000000";
	for (const [one, other] of [
		[`/activity_log?user=${uuid}`, `/activity_log?user=${nobody}`],
		[`/members?email=${email}`, "/members?email=nobody@tenantry.test"],
	] as const) {
		const [known, unknown] = [await home.here("GET", one), await home.here("GET", other)];
		expect(known.body).toMatchObject({ count: 0, results: [] });
		expect(cost(known)).toEqual(cost(unknown));
	}
});

describe("among 1,000 organizations, 1,000 people and 1,000 keys", () => {
	let small: Awaited<ReturnType<typeof world>>;
	let large: Awaited<ReturnType<typeof world>>;
	const alone = new Map<string, number>();

	const single = ({ id, project }: typeof small) => [
		`/api/organizations/${id}`,
		`/api/organizations/${id}/activity_log`,
		"/api/projects?limit=1",
		`/api/projects/${project}`,
		`/api/projects/${project}/members`,
		"/api/personal_api_keys/@current",
	];

	beforeAll(async () => {
		small = await world("Small");
		large = await world("Large");
		for (const path of single(small)) alone.set(path, cost(await small.ask("GET", path)).read);
		await times(1000, (i) =>
			db.insert(organizations).values({
				name: `${i}`,
				slug: `many-${i}`,
				plugins_access_level: 9,
			}),
		);
		const all = await db
			.select({ id: organizations.id, uuid: organizations.uuid })
			.from(organizations);
		const mine = all.filter(({ uuid }) => uuid !== small.id && uuid !== large.id);
		await times(mine.length, (i) =>
			db.insert(members).values({
				organization_id: mine[i]?.id ?? 0,
				user_id: large.owner.id,
				level: 8,
			}),
		);
		await times(mine.length, (i) =>
			db.insert(projects).values({ organization_id: mine[i]?.id ?? 0, name: `${i}` }),
		);
		await times(1000, (i) => db.insert(users).values({ email: `many-${i}@tenantry.test` }));
		const people = await db.select({ id: users.id }).from(users);
		await times(1000, (i) =>
			db.insert(personalApiKeys).values({
				user_id: people[i]?.id ?? 0,
				label: `${i}`,
				hash: newValue(),
				mask_value: "tnt_…test",
				scopes: ["*"],
			}),
		);
	});

	test("a small tenant's requests cost the same as without the others", async () => {
		for (const path of single(small)) {
			const response = await small.ask("GET", path);
			expect({
				path,
				trips: cost(response).trips,
				read: cost(response).read,
			}).toEqual({ path, trips: 1, read: alone.get(path) });
		}
	});

	test("reading one of a thousand organizations costs the same as reading the only one", async () => {
		const path = `/api/organizations/${large.id}`;
		const only = alone.get(`/api/organizations/${small.id}`) ?? 0;
		// A seek may read the row after the last.
		const { read } = cost(await large.ask("GET", path));
		expect(Math.abs(read - only)).toBeLessThanOrEqual(2);
	});
});
