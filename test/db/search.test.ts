import { and, desc, eq, gt, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import fc from "fast-check";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import { newOrganization } from "../../src/accounts/organizations/queries.ts";
import { contains } from "../../src/db/contains.ts";
import { entryId } from "../../src/db/entries.ts";
import { organizationId } from "../../src/db/organization_ids.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { invites } from "../../src/db/schema/invites.ts";
import { members } from "../../src/db/schema/members.ts";
import { pluginConfigs } from "../../src/db/schema/plugin_configs.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { projectMembers } from "../../src/db/schema/project_members.ts";
import { projects } from "../../src/db/schema/projects.ts";
import { FAMILIES } from "../../src/plugins/plugins/families.ts";
import { insertLog } from "../support/activity.ts";
import { logOfConfig, logOfExport } from "../support/logs.ts";
import { needles, text } from "../support/search_texts.ts";
import { call, db, furnished, join, keyFor, person, times, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

type Searched = {
	path: (home: Home) => string;
	insert: (home: Home, text: string) => ReturnType<Parameters<typeof times>[1]>;
	/** Absent for logs, whose entries are not rows. */
	rows?: {
		table: SQLiteTable & { id: SQLiteColumn };
		texts: SQLiteColumn[];
		owned: (home: Home) => SQL;
	};
};

const ROWS = 50;

const org = ({ id }: Home) => `/api/organizations/${id}`;

/** Lists with a search, and what each has of an organization. */
const LISTS: Record<string, Searched> = {
	"an export's log": {
		path: (home) => `${org(home)}/batch_exports/${home.batch_export}/logs`,
		insert: ({ batch_export }, message) => logOfExport(batch_export, { message }),
	},
	"a run's log": {
		path: ({ batch_export, run, ...home }) =>
			`/api/organizations/${home.id}/batch_exports/${batch_export}/runs/${run}/logs`,
		insert: ({ batch_export, run }, message) =>
			logOfExport(batch_export, { run, level: "ERROR", message }),
	},
	"a config's log": {
		path: ({ project, config }) => `/api/projects/${project}/plugin_configs/${config}/logs`,
		insert: ({ config }, message) => logOfConfig(config, { message }),
	},
	plugins: {
		path: (home) => `${org(home)}/plugins`,
		rows: {
			table: plugins,
			texts: [plugins.name, plugins.description, plugins.url],
			owned: ({ id }) => eq(plugins.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(plugins).values({
				organization_id: organizationId(id),
				plugin_type: "source",
				name,
				description: Array.from(name).reverse().join(""),
				capabilities: {},
			}),
	},
	projects: {
		path: (home) => `${org(home)}/projects`,
		rows: {
			table: projects,
			texts: [projects.name],
			owned: ({ id }) => eq(projects.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(projects).values({ organization_id: organizationId(id), name }),
	},
	domains: {
		path: (home) => `${org(home)}/domains`,
		rows: {
			table: domains,
			texts: [domains.domain],
			owned: ({ id }) => eq(domains.organization_id, organizationId(id)),
		},
		insert: ({ id }, name) =>
			db.insert(domains).values({
				organization_id: organizationId(id),
				domain: `${name}${v7()}`,
				verification_challenge: "x",
			}),
	},
	invites: {
		path: (home) => `${org(home)}/invites`,
		rows: {
			table: invites,
			texts: [invites.target_email],
			owned: ({ id }) => eq(invites.organization_id, organizationId(id)),
		},
		insert: ({ id, owner }, name) =>
			db.insert(invites).values({
				organization_id: organizationId(id),
				target_email: `${name.replaceAll(/[^a-z]/gi, "")}-${v7()}@example.com`,
				created_by: owner.id,
				emailing_attempt_made: false,
				token_hash: v7(),
			}),
	},
};

describe.each(Object.entries(LISTS))("a search in %s", (_, { path, rows, insert }) => {
	let home: Home;

	beforeAll(async () => {
		home = await furnished();
		const stranger = await furnished();
		const names = fc.sample(text(12), { numRuns: ROWS, seed: 7 });
		// The same texts in another organization, which no search here may find.
		for (const owner of [home, stranger]) await times(ROWS, (i) => insert(owner, names[i] ?? ""));
	});

	async function search(needle: string) {
		const { body } = await home.ask(
			"GET",
			`${path(home)}?limit=1000&search=${encodeURIComponent(needle)}`,
		);
		const ids = body.results.map(({ id }: { id: unknown }) => id);
		expect(body.count).toBe(ids.length);
		return ids.toSorted();
	}

	/** The ids of what a scan of all finds. */
	async function scan(needle: string) {
		if (rows) {
			const { table, texts, owned } = rows;
			const found = await db
				.select({ id: table.id })
				.from(table)
				.where(sql`${owned(home)} and ${or(...texts.map((each) => contains(each, needle)))}`);
			return found.map(({ id }) => id).toSorted();
		}
		const { results } = (await home.ask("GET", `${path(home)}?limit=1000`)).body;
		const found = await db.all<{ id: string }>(sql`select value ->> 'id' as id
				from json_each(${JSON.stringify(results)}) where ${contains(sql`value ->> 'message'`, needle)}`);
		return found.map(({ id }) => id).toSorted();
	}

	test("finds what a scan of all rows finds, whatever the letters", async () => {
		let found = 0;
		for (const needle of needles(30)) {
			const expected = await scan(needle);
			expect([needle, await search(needle)]).toEqual([needle, expected]);
			found += expected.length;
		}
		expect(found).toBeGreaterThan(ROWS);
	});

	test("goes on by next, in the order of the list", async () => {
		const ids = async (query: string) => {
			const all: unknown[] = [];
			for (let next: string | null = `${path(home)}?${query}`; next; ) {
				const { pathname, search } = new URL(next, "http://localhost");
				const { body } = await home.ask("GET", pathname + search);
				all.push(...body.results.map(({ id }: { id: unknown }) => id));
				next = body.next;
			}
			return all;
		};
		const found = await ids("limit=3&search=a");
		expect(found.length).toBeGreaterThan(6);
		expect(found).toEqual((await ids("limit=1000")).filter((id) => found.includes(id)));
		expect(await ids("limit=1000&offset=2&search=a")).toEqual(found.slice(2));
	});

	test("is for 200 characters at most", async () => {
		const ask = (length: number) => home.ask("GET", `${path(home)}?search=${"x".repeat(length)}`);
		expect((await ask(200)).status).toBe(200);
		expect((await ask(201)).body).toMatchObject({ code: "max_length", attr: "search" });
	});
});

test("a search in domains and invites knows new names, and no deleted ones", async () => {
	const { here } = await world();
	const count = async (list: string, search: string) =>
		(await here("GET", `/${list}?search=${search}`)).body.count;
	const name = `qqx-${v7()}.example.com`;
	const { body } = await here("POST", "/domains", { body: { domain: name } });
	expect(await count("domains", "QQX-")).toBe(1);
	await here("PATCH", `/domains/${body.id}`, { body: { domain: `new-${name}` } });
	expect(await count("domains", "new-qqx")).toBe(1);
	await here("DELETE", `/domains/${body.id}`);
	expect(await count("domains", "qqx")).toBe(0);
	const { body: invite } = await here("POST", "/invites", {
		body: { target_email: `ada@${name}` },
	});
	expect(await count("invites", "ADA@Q")).toBe(1);
	expect(await count("invites", "bob")).toBe(0);
	await here("DELETE", `/invites/${invite.id}`);
	expect(await count("invites", "ada")).toBe(0);
});

test("a search finds nothing of an organization whose id ends like one's own", async () => {
	const [one, other] = [await world(), await world()];
	const twin = other.id.slice(0, -6) + one.id.slice(-6);
	const [first, ...rest] = newOrganization(db, other.owner.id, {
		uuid: twin,
		name: "Twin",
		plugins_access_level: 9,
	});
	await db.batch([first, ...rest]);
	const domain = `qqz-${v7()}.example.com`;
	const target_email = `qqz-${v7()}@example.com`;
	const member = await person({ first_name: "Qqzoe" });
	await db
		.insert(members)
		.values({ organization_id: organizationId(twin), user_id: member.id, level: 1 });
	const theirs = { key: other.key };
	const at = `/api/organizations/${twin}`;
	await call("POST", `${at}/domains`, { ...theirs, body: { domain } });
	await call("POST", `${at}/invites`, { ...theirs, body: { target_email, send_email: false } });
	for (const list of ["domains", "invites", "members"]) {
		expect([list, (await call("GET", `${at}/${list}?search=qqz`, theirs)).body.count]).toEqual([
			list,
			1,
		]);
		expect([list, (await one.here("GET", `/${list}?search=qqz`)).body.count]).toEqual([list, 0]);
	}
});

test("a search finds a name however its accents are typed", async () => {
	const { here } = await world();
	const names = ["Élodie à Zürich", "Straße"].flatMap((name) => [
		name.normalize("NFC"),
		`${name.normalize("NFD")} 2`,
	]);
	for (const name of names) await here("POST", "/projects", { body: { name } });
	for (const [needle, count] of [
		["élodie À z", 2],
		["é", 2],
		["dé", 0],
		["STRASSE", 2],
	] as const)
		for (const search of [needle.normalize("NFC"), needle.normalize("NFD")]) {
			const { body } = await here("GET", `/projects?search=${encodeURIComponent(search)}`);
			expect([search, body.count]).toEqual([search, count]);
			for (const { name } of body.results) expect(names).toContain(name);
		}
});

test("a search in projects finds those that the caller sees and its key reaches, in all of its organizations", async () => {
	const home = await world();
	const other = await world();
	const make = async (of: typeof home, name: string, access_control = false) =>
		(await of.here("POST", "/projects", { body: { name, access_control } })).body.id;
	const open = await make(home, "Qqx open");
	const hidden = await make(home, "Qqx hidden", true);
	const mine = await make(home, "Qqx mine", true);
	const elsewhere = await make(other, "Qqx elsewhere");
	const member = await join(home.id, 1);
	await db.insert(projectMembers).values({
		project_id: mine,
		organization_id: organizationId(home.id),
		user_id: member.id,
		level: 1,
	});
	const find = async (path: string, key: string, search = "qqx") => {
		const { body } = await call("GET", `${path}?search=${search}`, { key });
		expect(body.count).toBe(body.results.length);
		return body.results.map(({ id }: { id: number }) => id);
	};
	const all = "/api/projects";
	const here = `/api/organizations/${home.id}/projects`;
	expect(await find(here, home.key)).toEqual([mine, hidden, open]);
	expect(await find(here, member.key)).toEqual([mine, open]);
	expect(await find(all, member.key)).toEqual([mine, open]);
	expect(await find(all, other.key)).toEqual([elsewhere]);
	await db
		.insert(members)
		.values({ organization_id: organizationId(other.id), user_id: member.id, level: 1 });
	expect((await find(all, member.key)).toSorted()).toEqual([open, mine, elsewhere].toSorted());
	expect(await find(all, (await person()).key)).toEqual([]);
	expect(await find(all, await keyFor(member.id, { scoped_projects: [open] }))).toEqual([open]);
	expect(await find(all, await keyFor(member.id, { scoped_organizations: [other.id] }))).toEqual([
		elsewhere,
	]);
	await home.ask("PATCH", `/api/projects/${mine}`, { body: { name: "Renamed" } });
	expect(await find(here, member.key)).toEqual([open]);
	await home.ask("PATCH", `/api/projects/${open}`, { body: { access_control: true } });
	expect(await find(here, member.key)).toEqual([]);
	expect(await find(here, member.key, "renam")).toEqual([mine]);
	await home.ask("DELETE", `/api/projects/${mine}`);
	expect(await find(here, home.key, "renam")).toEqual([]);
});

/** Inserts an enabled config of the plugin. */
const configure = (organization_id: string, project_id: number, plugin_id: number) =>
	db.insert(pluginConfigs).values({
		organization_id: organizationId(organization_id),
		project_id,
		plugin_id,
		enabled: true,
		order: 1,
	});

test("a search in plugins finds global ones and those that the organization uses, by their new names, and no deleted ones", async () => {
	const [home, other] = [await furnished(), await furnished()];
	const names = async (needle: string) =>
		(await home.here("GET", `/plugins?search=${needle}`)).body.results.map(
			({ name }: { name: string }) => name,
		);
	const make = async (values: Partial<typeof plugins.$inferInsert>) => {
		const [row] = await db
			.insert(plugins)
			.values({
				organization_id: organizationId(other.id),
				plugin_type: "source",
				capabilities: {},
				...values,
			})
			.returning({ id: plugins.id });
		return row?.id ?? 0;
	};
	const global = await make({ name: "Qqx global", is_global: true });
	const used = await make({ name: "Qqx used" });
	await make({ name: "Qqx hidden" });
	await configure(home.id, home.project, used);
	expect(await names("qqx")).toEqual(["Qqx used", "Qqx global"]);
	await db.update(plugins).set({ name: "Renamed" }).where(eq(plugins.id, global));
	expect(await names("qqx")).toEqual(["Qqx used"]);
	expect(await names("renam")).toEqual(["Renamed"]);
	await db.update(plugins).set({ is_global: false }).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual([]);
	await db.update(plugins).set({ is_global: true }).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual(["Renamed"]);
	await db.delete(plugins).where(eq(plugins.id, global));
	expect(await names("renam")).toEqual([]);
});

test("configs are in the lists of the families that their plugin has now", async () => {
	const { here, id, project, destination } = await furnished();
	const configs = async (family: string) =>
		(await here("GET", `/${family}/exports_unsubscribe_configs`)).body;
	await configure(id, project, destination);
	const [before] = (await configs("pipeline_destinations")).results;
	expect(before.plugin).toBe(destination);
	expect((await configs("pipeline_import_apps")).results).toEqual([]);
	const both = { methods: ["onEvent"], scheduled_tasks: ["runEveryHour"] };
	await db.update(plugins).set({ capabilities: both }).where(eq(plugins.id, destination));
	for (const family of ["pipeline_destinations", "pipeline_import_apps"]) {
		const { count, results } = await configs(family);
		expect({ family, ids: results.map(({ id }: { id: number }) => id), count }).toEqual({
			family,
			ids: [before.id],
			count: 1,
		});
	}
	await db.update(plugins).set({ capabilities: {} }).where(eq(plugins.id, destination));
	expect((await configs("pipeline_destinations")).count).toBe(0);
});

/** What a step of the test below does to one of the plugins. */
const STEPS = ["change it", "change it", "add entries", "delete entries", "delete it"] as const;

test("entries are in the lists of the families that their plugin has now", async () => {
	const home = await furnished();
	const { here, id, owner } = home;
	const admin = await join(id, 8);
	let entries = 0;
	const log = (plugin: number, n: number) =>
		insertLog(
			...Array.from({ length: n }, (_, i) => {
				entries += 1;
				return {
					organization_id: home.organization_id,
					user_id: i % 3 ? owner.id : admin.id,
					activity: i % 2 ? "updated" : "upgraded",
					scope: "Plugin",
					item_id: String(plugin),
					created_at: new Date(Date.UTC(2026, 0, 1, 0, entries)).toISOString(),
				};
			}),
		);
	const rows = await db
		.insert(plugins)
		.values(
			Array.from({ length: 6 }, () => ({
				organization_id: organizationId(id),
				plugin_type: "source",
				capabilities: {},
			})),
		)
		.returning({ id: plugins.id });
	const ids = rows.map(({ id }) => id);
	const [many = 0] = ids;
	await log(many, 250);
	const FILTERS = ["", "activity=upgraded", `user=${admin.uuid}`, "after=2026-01-01T00:30:00Z"];

	/** The ids of the family's entries that match, as a scan of the log finds them. */
	const scan = async (bit: number, filter: string) => {
		const given = Object.fromEntries(new URLSearchParams(filter));
		const found = await db
			.select({ id: entryId.as("entry_id") })
			.from(activityLog)
			.innerJoin(plugins, sql`${plugins.id} = cast(${activityLog.item_id} as integer)`)
			.where(
				and(
					eq(activityLog.organization_id, organizationId(id)),
					eq(activityLog.scope, "Plugin"),
					sql`${plugins.families} & ${bit}`,
					given.activity ? eq(activityLog.activity, given.activity) : undefined,
					given.user ? eq(activityLog.user_id, admin.id) : undefined,
					given.after ? gt(activityLog.created_at, "2026-01-01T00:30:00.000Z") : undefined,
				),
			)
			.orderBy(desc(activityLog.position));
		return found.map(({ id }) => id);
	};

	const capabilities = fc.record(
		{
			methods: fc.subarray(["onEvent", "processEvent"]),
			scheduled_tasks: fc.subarray(["runEveryHour"]),
		},
		{ requiredKeys: [] },
	);
	const step = fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(...ids), capabilities);
	const steps = fc.sample(step, { numRuns: 20, seed: 3 });
	for (const [at, [name, plugin, capabilities]] of steps.entries()) {
		const path = `/pipeline_destinations/${plugin}`;
		if (name === "change it") await here("PATCH", path, { body: { capabilities } });
		if (name === "add entries") await log(plugin, 5);
		if (name === "delete entries")
			await db.run(sql`delete from activity_log where position in (
				select position from activity_log where item_id = ${String(plugin)} order by position limit 20)`);
		if (name === "delete it" && plugin !== many) await here("DELETE", path);
		for (const [i, family] of FAMILIES.entries()) {
			const filter = FILTERS[(at + i) % FILTERS.length] ?? "";
			const { body } = await here("GET", `/${family}/activity?limit=1000&${filter}`);
			const found = body.results.map(({ id }: { id: string }) => id);
			const expected = await scan(1 << i, filter);
			expect({ name, family, filter, found }).toEqual({ name, family, filter, found: expected });
			expect(body.count).toBe(found.length);
		}
	}
});

test("a search below an organization that doesn't exist is rejected like any other request", async () => {
	const { key } = await person();
	for (const id of ["ab", "", "x".repeat(200), v7()].map((id) => id || "%20"))
		for (const list of ["domains", "invites", "members", "plugins", "projects"])
			expect([
				id,
				list,
				(await call("GET", `/api/organizations/${id}/${list}?search=x`, { key })).status,
			]).toEqual([id, list, 404]);
	for (const list of ["domains", "plugins", "projects"])
		expect([
			list,
			(await call("GET", `/api/organizations/@current/${list}?search=x`, { key })).status,
		]).toEqual([list, 404]);
});
