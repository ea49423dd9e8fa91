import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { deleteExpired } from "../../../src/activity/activity_log/retention.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import worker from "../../../src/worker.ts";
import { fillLog, RETOTAL } from "../../support/activity.ts";
import { call, cost, db, join, person, world } from "../../support/world.ts";

test("every change writes one entry, with the user, the change and the old values", async () => {
	const { ask, here, id, owner } = await world();
	await here("PATCH", "", { body: { name: "Renamed", enforce_2fa: true } });
	const { body } = await here("GET", "/activity_log/");
	expect(body.results[0]).toEqual({
		id: expect.any(String),
		user: { uuid: owner.uuid, first_name: "Test", last_name: "", email: owner.email },
		actor: {
			...{ type: "person", uuid: owner.uuid, first_name: "Test", email: owner.email },
			key: { id: expect.any(String), kind: "api_key", label: "Test" },
		},
		origin: { address: null, country: null, user_agent: null, request_id: expect.any(String) },
		activity: "updated",
		scope: "Organization",
		item_id: id,
		detail: {
			name: "Renamed",
			changes: [
				{ field: "name", action: "changed", before: "Acme", after: "Renamed" },
				{ field: "enforce_2fa", action: "created", before: null, after: true },
			],
			trigger: null,
		},
		created_at: expect.any(String),
	});
	await ask("PATCH", `/api/organizations/${id}`, { body: { name: "Renamed" } });
	expect((await here("GET", "/activity_log/")).body.count).toBe(1);
});

test("every kind of change is logged", async () => {
	const { ask, here, id, project, owner } = await world();
	const someone = await join(id, 1);
	const created = (
		await ask("POST", "/api/projects", {
			body: { name: "P", organization: id },
		})
	).body;
	await ask("PATCH", `/api/projects/${created.id}`, { body: { name: "Q" } });
	await ask("DELETE", `/api/projects/${created.id}`);
	await ask("POST", `/api/projects/${project}/members`, {
		body: { user_uuid: someone.uuid, level: 1 },
	});
	await ask("DELETE", `/api/projects/${project}/members/${someone.uuid}`);
	await ask("PATCH", "/api/users/@me", { body: { last_name: "L" } });
	const key = (
		await ask("POST", "/api/personal_api_keys", {
			body: { label: "K", scopes: ["user:read"] },
		})
	).body;
	await ask("PATCH", `/api/personal_api_keys/${key.id}`, {
		body: { label: "L" },
	});
	await ask("POST", `/api/personal_api_keys/${key.id}/roll`);
	await ask("DELETE", `/api/personal_api_keys/${key.id}`);
	const { body } = await here("GET", "/activity_log/");
	const entries = body.results.map(
		(entry: { scope: string; activity: string; detail: { name: string } }) =>
			`${entry.scope} ${entry.activity} ${entry.detail.name}`,
	);
	expect(entries.toReversed()).toEqual([
		"Project created P",
		"Project updated Q",
		"Project deleted Q",
		`ProjectMember created ${someone.email}`,
		`ProjectMember deleted ${someone.email}`,
		`User updated ${owner.email}`,
		"PersonalApiKey created K",
		"PersonalApiKey updated L",
		"PersonalApiKey rolled L",
		"PersonalApiKey deleted L",
	]);
	expect(JSON.stringify(body)).not.toContain(key.value);
	const projectLog = (await ask("GET", `/api/projects/${project}/activity_log`)).body;
	expect(projectLog).toMatchObject({
		count: 2,
		results: [{ activity: "deleted" }, { activity: "created" }],
	});
});

test("a new organization’s log begins with its creation", async () => {
	const { key } = await person();
	const { body } = await call("POST", "/api/organizations", {
		key,
		body: { name: "New" },
	});
	const log = await call("GET", `/api/organizations/${body.id}/activity_log`, {
		key,
	});
	expect(log.body).toMatchObject({
		count: 2,
		results: [
			{ scope: "Member", activity: "created" },
			{ scope: "Organization", activity: "created", item_id: body.id },
		],
	});
});

test("a request that is rejected or changes nothing writes no entry", async () => {
	const { here, id, project } = await world();
	const member = await join(id, 1);
	await call("PATCH", `/api/organizations/${id}`, {
		key: member.key,
		body: { name: "x" },
	});
	await call("DELETE", `/api/projects/${project}`, { key: member.key });
	await here("PATCH", "", { body: {} });
	await here("PATCH", "", { body: { name: "" } });
	expect((await here("GET", "/activity_log")).body.count).toBe(0);
});

test("the log can be filtered by each field", async () => {
	const { ask, here, id, owner } = await world();
	const admin = await join(id, 8);
	await here("PATCH", "", { body: { name: "one" } });
	const created = (
		await ask("POST", "/api/projects", {
			body: { name: "P", organization: id },
		})
	).body;
	// All that were written before, because times are in the order of positions.
	await db.update(activityLog).set({ created_at: "2026-01-01T00:00:00.000Z" });
	const between = "2026-01-02T00:00:00.000Z";
	await call("PATCH", `/api/organizations/${id}`, {
		key: admin.key,
		body: { name: "two" },
	});
	const count = async (query: string) => (await here("GET", `/activity_log?${query}`)).body.count;
	expect(await count("")).toBe(3);
	expect(await count("scope=Organization")).toBe(2);
	expect(await count(`scope=Project&item_id=${created.id}`)).toBe(1);
	expect(await count(`user=${admin.uuid}`)).toBe(1);
	expect(await count(`user=${owner.uuid.toUpperCase()}`)).toBe(2);
	expect(await count(`email=${admin.email.toUpperCase()}`)).toBe(1);
	expect(await count("email=nobody@example.com")).toBe(0);
	await here("DELETE", `/members/${admin.uuid}`);
	expect(await count(`email=${admin.email}&scope=Organization`)).toBe(1);
	expect(await count("activity=created")).toBe(1);
	expect(await count(`after=${between}&scope=Organization`)).toBe(1);
	expect(await count(`before=${between}`)).toBe(2);
	expect(await count(`before=${between}&scope=Project&activity=updated`)).toBe(0);
});

test.each([
	["after", "yesterday", "Datetime has wrong format. Use ISO 8601."],
	["before", "2026-13-01", "Datetime has wrong format. Use ISO 8601."],
	["user", "me", "Must be a valid UUID."],
])("an invalid filter is a 400: %s=%s", async (name, value, detail) => {
	const { here } = await world();
	expect(await here("GET", `/activity_log?${name}=${value}`)).toMatchObject({
		status: 400,
		body: { code: "invalid_input", detail, attr: name },
	});
});

test("entries of a private project are shown only to those who see the project", async () => {
	const { ask, id, project } = await world();
	const member = await join(id, 1);
	await ask("PATCH", `/api/projects/${project}`, {
		body: { name: "Secret", access_control: true },
	});
	await ask("PATCH", `/api/organizations/${id}`, { body: { name: "Public" } });
	const log = async (key: string, query = "") =>
		(
			await call("GET", `/api/organizations/${id}/activity_log${query}`, {
				key,
			})
		).body;
	const admin = await join(id, 8);
	expect((await log(admin.key)).count).toBe(2);
	for (const query of ["", "?before=2099-01-01"])
		expect(await log(member.key, query)).toMatchObject({
			count: 1,
			results: [{ scope: "Organization" }],
		});
	await ask("POST", `/api/projects/${project}/members`, {
		body: { user_uuid: member.uuid, level: 1 },
	});
	expect((await log(member.key)).count).toBe(3);
	await ask("DELETE", `/api/projects/${project}`);
	expect((await log(member.key)).count).toBe(1);
	expect((await log(admin.key)).count).toBe(4);
});

const DAY = 86_400_000;

/** Fills the log of an organization with `n` entries, a second apart, up to now. */
async function fill(
	home: Awaited<ReturnType<typeof world>>,
	n: number,
	{ end = Date.now(), is_system = false } = {},
) {
	await fillLog(home, n, {
		created_at: sql`${end - n * 1000} + 1000 * i`,
		is_system: sql`${Number(is_system)}`,
	});
	await db.run(RETOTAL);
}

test("a page costs the same however long the log is", async () => {
	const [short, long] = [await world(), await world()];
	await fill(short, 200);
	await fill(long, 1000);
	const read = async ({ here }: typeof short) =>
		cost(await here("GET", "/activity_log?limit=50")).read;
	// A seek may read one row after the last.
	expect(Math.abs((await read(long)) - (await read(short)))).toBeLessThanOrEqual(2);
	expect((await long.here("GET", "/activity_log")).body.count).toBe(1000);
});

test("the schedule deletes entries of people after 365 days and those of the system after 60, and no others", async () => {
	await db.delete(activityLog);
	const home = await world();
	await fill(home, 3, { end: Date.now() - 366 * DAY, is_system: true });
	await fill(home, 10, { end: Date.now() - 366 * DAY });
	await fill(home, 10, { end: Date.now() - 364 * DAY });
	await fill(home, 4, { end: Date.now() - 61 * DAY, is_system: true });
	await fill(home, 5, { end: Date.now() - 59 * DAY, is_system: true });
	await worker.scheduled(createScheduledController({ cron: "* * * * *" }), env);
	expect((await home.here("GET", "/activity_log")).body.count).toBe(10);
	const left = await db
		.select()
		.from(activityLog)
		.where(eq(activityLog.organization_id, organizationId(home.id)));
	expect(left.filter(({ is_system }) => is_system)).toHaveLength(5);
	expect(left).toHaveLength(15);
	// The newest entry stays, so that its position isn't used again.
	await db.update(activityLog).set({ created_at: "2020-01-01T00:00:00.000Z" });
	await deleteExpired(env);
	const [newest] = left.map(({ position }) => position).toSorted((a, b) => b - a);
	expect((await db.select().from(activityLog)).map(({ position }) => position)).toEqual([newest]);
});

test("an organization's log doesn't show which other organizations its users belong to", async () => {
	const { ask, here, id } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	await ask("PATCH", "/api/users/@me", { body: { organization: id } });
	const key = (
		await ask("POST", "/api/personal_api_keys", {
			body: { label: "K", scopes: ["*"] },
		})
	).body;
	const project = other.teams[0].id;
	await ask("PATCH", `/api/personal_api_keys/${key.id}`, {
		body: { scoped_organizations: [other.id], scoped_projects: [project] },
	});
	await ask("PATCH", "/api/users/@me", { body: { project } });
	const { body } = await here("GET", "/activity_log");
	expect(body.results).toMatchObject([
		{ scope: "User", detail: { changes: [{ field: "organization" }, {}] } },
		{
			scope: "PersonalApiKey",
			detail: { changes: [{ before: "********", after: "********" }, {}] },
		},
		{ scope: "PersonalApiKey", activity: "created" },
	]);
	expect(JSON.stringify(body)).not.toContain(other.id);
	const updated = body.results.filter(
		(entry: { activity: string }) => entry.activity === "updated",
	);
	const values = updated.flatMap(
		({ detail }: { detail: { changes: { before: unknown; after: unknown }[] } }) =>
			detail.changes.flatMap(({ before, after }) => [before, after]),
	);
	expect(new Set(values)).toEqual(new Set(["********"]));
});

describe("a long log", () => {
	const N = 12_000;
	let home: Awaited<ReturnType<typeof world>>;
	let member: Awaited<ReturnType<typeof join>>;
	beforeAll(async () => {
		home = await world();
		member = await join(home.id, 1);
		const secret = (await home.here("POST", "/projects", { body: { name: "Secret" } })).body.id;
		await home.here("PATCH", `/projects/${secret}`, { body: { access_control: true } });
		await fillLog(home, N, {
			project_id: sql`iif(i % 3 = 0, ${secret}, iif(i % 3 = 1, ${home.project}, null))`,
			scope: sql`iif(i % 1000 = 7, 'Domain', 'Project')`,
			item_id: sql`iif(i % 4000 = 1, 'item', 'other')`,
			created_at: sql`${Date.UTC(2026, 0, 1)} + i * 60000`,
		});
		await db.run(RETOTAL);
	});

	/** The pages of a list, following \`next\`. */
	const pages = async (query: string, key = home.key) => {
		const found = [];
		let next: string | null = `/api/organizations/${home.id}/activity_log${query}`;
		while (next) {
			const page = await call("GET", next, { key });
			expect(page.status).toBe(200);
			expect(cost(page).read).toBeLessThan(25_000);
			found.push(page.body);
			next = page.body.next;
		}
		return found;
	};
	const times = (all: { results: { created_at: string }[] }[]) =>
		all.flatMap(({ results }) => results.map(({ created_at }) => Date.parse(created_at)));
	const minutes = (step: (i: number) => boolean) =>
		Array.from({ length: N }, (_, i) => i)
			.filter(step)
			.map((i) => Date.UTC(2026, 0, 1) + i * 60_000)
			.toReversed();

	test("is read in pages of at most 5,000 entries, which miss none and repeat none", async () => {
		const all = await pages("?scope=Domain");
		expect(all.map(({ results }) => results.length)).toEqual([5, 5, 2]);
		expect(times(all)).toEqual(minutes((i) => i % 1000 === 7));
		// Entries that weren't read count as matches.
		expect(all[0].count).toBe(5 + 2 + N - 5000);
		const short = await pages("?scope=Domain&limit=2");
		expect(times(short)).toEqual(times(all));
	});

	test("skips as many matches as the offset says", async () => {
		expect(times(await pages("?scope=Domain&offset=7"))).toEqual(
			minutes((i) => i % 1000 === 7).slice(7),
		);
	});

	test("has exact counts without filters and for an item, also for those who don't see all projects", async () => {
		const count = async (query: string, key: string) =>
			(await call("GET", `/api/organizations/${home.id}/activity_log${query}`, { key })).body.count;
		expect(await count("", home.key)).toBe(N + 2);
		expect(await count("", member.key)).toBe((N * 2) / 3);
		expect(await count("?item_id=item", home.key)).toBe(3);
		expect(await count("?item_id=item", member.key)).toBe(2);
		const ofProject = `/api/projects/${home.project}/activity_log`;
		expect((await call("GET", ofProject, { key: member.key })).body.count).toBe(N / 3);
	});

	test("begins at the times of its filters, however long ago", async () => {
		const path = "/activity_log?after=2026-01-01T01:00:00Z&before=2026-01-01T01:05:00Z";
		const response = await home.here("GET", path);
		const { body } = response;
		expect(times([body])).toEqual(minutes((i) => i > 60 && i < 65));
		expect([body.next, body.previous]).toEqual([null, null]);
		expect(cost(response).read).toBeLessThan(1000);
		expect(body.count).toBe(4);
	});

	test("is downloaded whole", async () => {
		for (const query of ["", "?scope=Domain"]) {
			const { body } = await home.here("GET", `/activity_log${query}`, {
				headers: { accept: "application/x-ndjson" },
			});
			expect(body.trim().split("\n")).toHaveLength(query ? 12 : N + 2);
		}
	});
});
