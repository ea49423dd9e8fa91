import { env } from "cloudflare:workers";
import { eq, getTableName, sql } from "drizzle-orm";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { describe, expect, test, vi } from "vitest";
import { accessControls } from "../../src/db/schema/access.ts";
import { batchExportRanges, batchExports } from "../../src/db/schema/batch_exports.ts";
import { projects } from "../../src/db/schema/organizations.ts";
import { members, projectMembers } from "../../src/db/schema/people.ts";
import {
	pluginConfigs,
	pluginSourceFiles,
	pluginStorage,
	plugins,
} from "../../src/db/schema/plugins.ts";
import { scimUsers } from "../../src/db/schema/scim.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { purgeDeleted } from "../../src/deletions/purge.ts";
import { DAY_MS, HOUR_MS, iso } from "../../src/lib/time.ts";
import { stopClock } from "../support/time.ts";
import {
	addRuns,
	call,
	cost,
	db,
	furnished,
	join,
	keyFor,
	racing,
	rowIdOf,
	world,
} from "../support/world.ts";

function setClock(at: string) {
	stopClock();
	vi.setSystemTime(at);
}

/** Returns all rows of a table, as they are stored. */
const stored = async (table: SQLiteTable, where: ReturnType<typeof sql>) =>
	db.all<Record<string, unknown>>(
		sql`select * from ${table} where ${where} order by ${sql.join(
			getTableConfig(table).columns.map(({ name }) => sql.identifier(name)),
			sql`, `,
		)}`,
	);

/** Adds what a plugin and its configs have, with values that are easily changed on the way. */
async function equip(home: Awaited<ReturnType<typeof furnished>>) {
	const { frontend: plugin_id, config: plugin_config_id } = home;
	const strange = 'é "quoted" \u0000 \u2028 漢字 ';
	await db.batch([
		db.insert(pluginSourceFiles).values({
			plugin_id,
			filename: "index.ts",
			source: `${strange}${"\u0001".repeat(400_000)}`,
		}),
		db.insert(pluginStorage).values({ plugin_config_id, key: "k", bytes: 7, value: strange }),
		db
			.update(pluginConfigs)
			.set({
				config: { secret: strange, number: 2 ** 53 },
				order: 7,
				results: { "2026-01-01T07 done": 5 },
			})
			.where(eq(pluginConfigs.id, plugin_config_id)),
		db.insert(accessControls).values(
			(
				[
					["plugin", String(plugin_id)],
					["project", String(home.project)],
					["webhook", home.webhook],
				] as const
			).map(([resource, resource_id]) => ({
				organization_id: home.organization_id,
				id: crypto.randomUUID(),
				resource,
				resource_id,
				role_id: home.role,
				access_level: 4,
			})),
		),
	]);
}

/** What each type has, by its path under the organization. */
const TYPES = {
	webhooks: {
		path: (home) => `/webhooks/${home.webhook}`,
		tables: (home) => [
			[webhooks, sql`id = ${home.webhook}`, ["position", "lease"]],
			[accessControls, sql`resource_id = ${home.webhook}`],
		],
	},
	plugins: {
		path: (home) => `/pipeline_frontend_apps/${home.frontend}`,
		restore: (home) => `/plugins/${home.frontend}/restore/`,
		list: "/plugins",
		tables: (home) => [
			[plugins, sql`id = ${home.frontend}`],
			[pluginSourceFiles, sql`plugin_id = ${home.frontend}`],
			[pluginConfigs, sql`plugin_id = ${home.frontend}`, ["enabled_at"]],
			[pluginStorage, sql`plugin_config_id = ${home.config}`],
			[accessControls, sql`resource = 'plugin' and organization_id = ${home.organization_id}`],
		],
	},
	projects: {
		path: (home) => `/projects/${home.project}`,
		tables: (home) => [
			[projects, sql`id = ${home.project}`],
			[projectMembers, sql`project_id = ${home.project}`],
			[pluginConfigs, sql`project_id = ${home.project}`],
			[pluginStorage, sql`plugin_config_id = ${home.config}`],
			[accessControls, sql`resource = 'project' and organization_id = ${home.organization_id}`],
		],
	},
} satisfies Record<
	string,
	{
		path: (home: Awaited<ReturnType<typeof furnished>>) => string;
		restore?: (home: Awaited<ReturnType<typeof furnished>>) => string;
		list?: string;
		tables: (
			home: Awaited<ReturnType<typeof furnished>>,
		) => [SQLiteTable, ReturnType<typeof sql>, string[]?][];
	}
>;

describe.each(Object.entries(TYPES))("of the %s", (name, type) => {
	const restoreOf = (home: Awaited<ReturnType<typeof furnished>>) =>
		"restore" in type ? type.restore(home) : `${type.path(home)}/restore/`;

	test("a deleted one is gone at once, listed for admins, and restored with all that it had", async () => {
		const home = await furnished();
		await equip(home);
		const at = type.path(home);
		const read = async () =>
			Object.fromEntries(
				await Promise.all(
					type.tables(home).map(async ([table, where, ignored = []]) => [
						getTableName(table),
						(await stored(table, where)).map((row) => ({
							...row,
							...Object.fromEntries(ignored.map((column) => [column, undefined])),
						})),
					]),
				),
			);
		const shown = (await home.here("GET", at)).body;
		const before = await read();
		expect(Object.values(before)).not.toContainEqual([]);
		expect((await home.here("DELETE", at)).status).toBe(204);
		expect((await home.here("GET", at)).status).toBe(404);
		expect(Object.values(await read()).flat()).toEqual([]);
		const list = `${"list" in type ? type.list : `/${name}`}?deleted=true`;
		const { body: listed } = await home.here("GET", list);
		expect(listed).toMatchObject({
			count: 1,
			results: [{ ...shown, deletion: { deleted_by: home.owner.uuid } }],
		});
		const { deleted_at, kept_until } = listed.results[0].deletion;
		expect(Date.parse(kept_until) - Date.parse(deleted_at)).toBe(30 * DAY_MS);

		const restored = await home.here("POST", restoreOf(home));
		expect(restored).toMatchObject({ status: 200, body: { id: String(shown.id), left_out: [] } });
		expect(cost(restored).trips).toBe(2);
		expect(await read()).toEqual(before);
		expect((await home.here("GET", at)).body).toEqual({
			...shown,
			...("next_attempt_at" in shown && { next_attempt_at: null }),
		});
		expect((await home.here("GET", list)).body.count).toBe(0);
		expect((await home.here("POST", restoreOf(home))).status).toBe(404);
		const { body: log } = await home.here("GET", "/activity_log?activity=restored");
		expect(log.results).toMatchObject([{ item_id: String(shown.id), activity: "restored" }]);
		expect(await db.all(sql`select 1 from deletions union all select 1 from deleted_rows`)).toEqual(
			[],
		);
	});

	test("twenty restorations at once restore it once", async () => {
		const home = await furnished();
		await home.here("DELETE", type.path(home));
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => home.here("POST", restoreOf(home))),
		);
		expect(answers.map(({ status }) => status).sort()).toEqual([
			200,
			...Array.from({ length: 19 }, () => 404),
		]);
	});

	test("strangers, keys of other organizations and members below the level neither list nor restore it", async () => {
		const home = await furnished();
		const other = await world();
		const member = await join(home.id, 1);
		await home.here("DELETE", type.path(home));
		const at = restoreOf(home);
		const list = `${"list" in type ? type.list : `/${name}`}?deleted=true`;
		const elsewhere = await keyFor(home.owner.id, { scoped_organizations: [other.id] });
		const reading = await keyFor(home.owner.id, {
			scopes: ["webhook:read", "plugin:read", "project:read"],
		});
		expect([
			(await home.here("POST", at, { key: other.key })).status,
			(await other.here("POST", at)).status,
			(await home.here("POST", at, { key: elsewhere })).status,
			(await home.here("POST", at, { key: reading })).status,
			(await home.here("GET", list, { key: member.key })).status,
			(await other.here("GET", list)).body.count,
		]).toEqual([403, 404, 403, 403, 403, 0]);
		if (name !== "plugins")
			expect((await home.here("POST", at, { key: member.key })).status).toBe(403);
		expect((await home.here("POST", at)).status).toBe(200);
	});

	test("after thirty days it can't be restored, and is removed from the database", async () => {
		const home = await furnished();
		await equip(home);
		await home.here("DELETE", type.path(home));
		setClock(iso(Date.now() + 30 * DAY_MS));
		expect((await home.here("POST", restoreOf(home))).status).toBe(404);
		await purgeDeleted(env, Date.now());
		expect(await db.all(sql`select 1 from deletions union all select 1 from deleted_rows`)).toEqual(
			[],
		);
		const { body: feed } = await home.here("GET", "/events?types=deleted_object.purged");
		expect(feed.results).toMatchObject([{ type: "deleted_object.purged" }]);
	});
});

/** An export that is due at once. */
const EXPORT = {
	name: "Hourly",
	interval: "hour",
	destination: { type: "NoOp", config: {} },
};

test("an export is restored with its runs, and names what passed meanwhile as a gap", async () => {
	const home = await furnished();
	setClock("2026-03-01T10:20:00.000Z");
	const { body: made } = await home.here("POST", "/batch_exports", { body: EXPORT });
	const row = await rowIdOf(made.id);
	const at = `/batch_exports/${made.id}`;
	await addRuns(made.id, {
		data_interval_start: "2026-03-01T09:00:00.000Z",
		data_interval_end: "2026-03-01T10:00:00.000Z",
	});
	const shown = (await home.here("GET", at)).body;
	expect((await home.here("DELETE", at)).status).toBe(204);
	expect((await home.here("GET", at)).status).toBe(404);
	expect((await home.here("GET", "/batch_exports?deleted=true")).body.results).toMatchObject([
		{ id: made.id, name: "Hourly" },
	]);
	setClock("2026-03-05T10:20:00.000Z");
	const { status, body } = await home.ask(
		"POST",
		`/api/projects/${home.project}/batch_exports/${made.id}/restore/`,
	);
	const gap = {
		by: "arrival",
		start_at: "2026-03-01T10:00:00.000Z",
		end_at: "2026-03-05T10:00:00.000Z",
	};
	expect([status, body.gaps]).toEqual([200, [{ batch_export_id: made.id, windows: 96, ...gap }]]);
	const after = (await home.here("GET", at)).body;
	expect(after).toMatchObject({ id: made.id, destination: shown.destination, paused: false });
	// The run that the deletion cancelled wasn't delivered either.
	expect(after.undelivered).toMatchObject({
		windows: 97,
		start_at: "2026-03-01T09:00:00.000Z",
		end_at: gap.end_at,
	});
	const [schedule] = await db.select().from(batchExports).where(eq(batchExports.id, row));
	expect(schedule).toMatchObject({
		next_start_at: "2026-03-05T10:00:00.000Z",
		next_end_at: "2026-03-05T11:00:00.000Z",
	});
	expect(
		(await db.select().from(batchExportRanges).where(eq(batchExportRanges.batch_export_id, row)))
			.length,
	).toBe(1);
	// The gap is the body of a backfill.
	const { batch_export_id: _, windows: __, ...backfill } = body.gaps[0];
	expect((await home.here("POST", `${at}/backfill`, { body: backfill })).status).toBe(200);
	expect((await home.here("POST", `${at}/restore`)).status).toBe(404);
});

test("a project is restored with its exports; one that was deleted before stays deleted", async () => {
	const home = await furnished();
	const [kept, gone]: string[] = [
		(await home.here("POST", "/batch_exports", { body: EXPORT })).body.id,
		(await home.here("POST", "/batch_exports", { body: EXPORT })).body.id,
	];
	await home.here("DELETE", `/batch_exports/${gone}`);
	await home.here("DELETE", `/projects/${home.project}`);
	expect((await home.here("POST", `/batch_exports/${gone}/restore`)).status).toBe(409);
	expect((await home.here("POST", `/batch_exports/${kept}/restore`)).status).toBe(404);
	const { status } = await home.here("POST", `/projects/${home.project}/restore`);
	expect(status).toBe(200);
	const ids = async () =>
		(await home.here("GET", "/batch_exports")).body.results.map(({ id }: { id: string }) => id);
	expect((await ids()).sort()).toEqual([home.batch_export, kept].sort());
	expect((await home.here("POST", `/batch_exports/${gone}/restore`)).status).toBe(200);
	expect((await ids()).length).toBe(3);
});

test("configs whose plugin is gone stand in the way, by name, unless the restoration is partial", async () => {
	const home = await furnished();
	await home.here("DELETE", `/projects/${home.project}`);
	await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
	const at = `/projects/${home.project}/restore`;
	const refused = await home.here("POST", at);
	expect(refused).toMatchObject({
		status: 409,
		body: { code: "conflict", detail: expect.stringContaining(`plugin ${home.frontend} (Plugin)`) },
	});
	expect((await home.here("POST", at, { body: { partial: true } })).body.left_out).toEqual([
		{ type: "plugin", id: String(home.frontend), name: "Plugin", count: 1 },
	]);
	expect((await home.here("POST", `/plugins/${home.frontend}/restore`)).status).toBe(200);
	expect((await home.ask("GET", `/api/projects/${home.project}/plugin_configs`)).body.count).toBe(
		0,
	);
});

test("a config is restored in its place; without its plugin, it isn't", async () => {
	const home = await furnished();
	await equip(home);
	const at = `/api/projects/${home.project}/plugin_configs/${home.config}`;
	const shown = (await home.ask("GET", at)).body;
	await home.ask("DELETE", at);
	expect(
		(await home.ask("GET", `/api/projects/${home.project}/plugin_configs?deleted=true`)).body.count,
	).toBe(1);
	await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
	for (const partial of [false, true])
		expect((await home.ask("POST", `${at}/restore`, { body: { partial } })).status).toBe(409);
	await home.here("POST", `/plugins/${home.frontend}/restore`);
	expect((await home.ask("POST", `${at}/restore`)).status).toBe(200);
	expect((await home.ask("GET", at)).body).toEqual(shown);
	expect(await stored(pluginStorage, sql`plugin_config_id = ${home.config}`)).toHaveLength(1);
});

test("what takes the place of a plugin, or the last room, is a 409", async () => {
	const home = await furnished();
	const url = "https://www.npmjs.com/package/x";
	await db.update(plugins).set({ url }).where(eq(plugins.id, home.frontend));
	await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
	await db.update(plugins).set({ url }).where(eq(plugins.id, home.importer));
	const at = `/plugins/${home.frontend}/restore`;
	expect(await home.here("POST", at)).toMatchObject({
		status: 409,
		body: { detail: expect.stringContaining("URL") },
	});
	await db.update(plugins).set({ url: null }).where(eq(plugins.id, home.importer));
	expect(await home.here("POST", at, { env: { OBJECTS_PER_ORGANIZATION: "2" } })).toMatchObject({
		status: 409,
		body: { code: "limit_reached" },
	});
	expect((await home.here("POST", at)).status).toBe(200);
});

test("a column that was added meanwhile gets its default, a member who has left stays away", async () => {
	const home = await furnished();
	const timezone = "Europe/Berlin";
	await home.here("PATCH", `/projects/${home.project}`, { body: { timezone } });
	await home.here("DELETE", `/projects/${home.project}`);
	await home.here("DELETE", `/members/${home.member}`);
	await db.run(
		sql`update deletions set columns = replace(columns, '"timezone"', '"removed_meanwhile"')`,
	);
	const { status } = await home.here("POST", `/projects/${home.project}/restore`);
	expect(status).toBe(200);
	expect((await home.here("GET", `/projects/${home.project}`)).body.timezone).toBe("UTC");
	expect(await stored(projectMembers, sql`project_id = ${home.project}`)).toEqual([]);
});

test("a member who could delete an export restores it; one who may only view it doesn't", async () => {
	const home = await furnished();
	const member = await join(home.id, 1);
	const viewer = await join(home.id, 1);
	const given = { resource: "batch_export", member: viewer.uuid, access_level: "viewer" };
	expect((await home.here("POST", "/access_controls", { body: given })).status).toBe(201);
	const at = `/batch_exports/${home.batch_export}`;
	expect((await home.here("DELETE", at, { key: member.key })).status).toBe(204);
	expect((await home.here("POST", `${at}/restore`, { key: viewer.key })).status).toBe(403);
	expect((await home.here("POST", `${at}/restore`, { key: member.key })).status).toBe(200);
});

test("a member restores nothing in a project that became private, not even between the read and the write", async () => {
	const home = await furnished();
	const member = await join(home.id, 1);
	const at = `/batch_exports/${home.batch_export}`;
	const setPrivate = (access_control: boolean) =>
		db.update(projects).set({ access_control }).where(eq(projects.id, home.project));
	await setPrivate(false);
	expect((await home.here("DELETE", at, { key: member.key })).status).toBe(204);
	const restore = async (options: object = {}) =>
		(await home.here("POST", `${at}/restore`, { key: member.key, ...options })).status;
	await setPrivate(true);
	expect(await restore()).toBe(404);
	await setPrivate(false);
	expect(await restore({ env: racing(() => setPrivate(true)) })).toBe(404);
	expect((await home.here("GET", at)).status).toBe(404);
	await setPrivate(false);
	expect(await restore()).toBe(200);
});

test("an organization keeps only so many deleted objects of a type", async () => {
	const home = await furnished();
	await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
	await home.here("DELETE", `/pipeline_frontend_apps/${home.destination}`);
	await purgeDeleted(
		{ ...env, OBJECTS_PER_ORGANIZATION: "1" },
		Math.floor(Date.now() / HOUR_MS) * HOUR_MS,
	);
	expect((await home.here("POST", `/plugins/${home.frontend}/restore`)).status).toBe(404);
	expect((await home.here("POST", `/plugins/${home.destination}/restore`)).status).toBe(200);
});

test("nobody restores the rest of an object whose removal has begun", async () => {
	const home = await furnished();
	await db.run(sql`
		with recursive n as (select 1 as i union all select i + 1 from n where i < 6000)
		insert into plugin_storage (plugin_config_id, key, bytes, value) select ${home.config}, i, 1, '1' from n`);
	await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
	await purgeDeleted(
		{ ...env, OBJECTS_PER_ORGANIZATION: "0" },
		Math.floor(Date.now() / HOUR_MS) * HOUR_MS,
	);
	expect(await db.all(sql`select 1 from deletions`)).toHaveLength(1);
	expect((await home.here("POST", `/plugins/${home.frontend}/restore`)).status).toBe(404);
	await purgeDeleted(env, Date.now());
	expect(await db.all(sql`select 1 from deletions union select 1 from deleted_rows`)).toEqual([]);
});

test("a deleted project's events stay until it is removed for good", async () => {
	const home = await furnished();
	const { deleteOrphans } = await import("../../src/exports/ingestion/queries.ts");
	const events = [{ event: "signup", distinct_id: "planted-mark" }];
	expect(
		(await home.ask("POST", `/api/projects/${home.project}/events`, { body: events })).status,
	).toBe(200);
	const count = async () =>
		(await db.all(sql`select 1 from events where team_id = ${home.project}`)).length;
	await home.here("DELETE", `/projects/${home.project}`);
	await deleteOrphans(env);
	expect(await count()).toBe(1);
	setClock(iso(Date.now() + 30 * DAY_MS));
	await purgeDeleted(env, Date.now());
	await deleteOrphans(env);
	expect(await count()).toBe(0);
});

test("the path of a restoration takes no other method", async () => {
	const home = await furnished();
	expect(
		(await call("GET", `/api/organizations/${home.id}/webhooks/${home.webhook}/restore`)).status,
	).toBe(401);
	expect((await home.here("GET", `/webhooks/${home.webhook}/restore`)).status).toBe(405);
});

test("code stays an admin's while a deleted config, or that of a deleted project, has secrets", async () => {
	const home = await furnished();
	await equip(home);
	const member = await join(home.id, 1);
	const source = `/pipeline_frontend_apps/${home.frontend}/update_source`;
	const change = async (key: string) =>
		(await home.here("PATCH", source, { key, body: { "other.ts": "export {};" } })).status;
	const config = `/api/projects/${home.project}/plugin_configs/${home.config}`;
	expect(await change(member.key)).toBe(403);
	expect((await home.ask("DELETE", config)).status).toBe(204);
	expect(await change(member.key)).toBe(403);
	expect((await home.ask("POST", `${config}/restore`, { key: member.key })).status).toBe(200);
	await home.here("DELETE", `/projects/${home.project}`);
	expect(await change(member.key)).toBe(403);
	expect(await change(home.key)).toBe(200);
	setClock(iso(Date.now() + 30 * DAY_MS));
	await purgeDeleted(env, Date.now());
	expect(await change(member.key)).toBe(200);
});

test("auditors list what is deleted, and restore nothing", async () => {
	const home = await furnished();
	const { AUDITOR } = await import("../../src/db/schema/access.ts");
	const auditor = await join(home.id, 1);
	const member = await join(home.id, 1);
	const given = { resource: "webhook", member: member.uuid, access_level: "viewer" };
	await home.here("POST", "/access_controls", { body: given });
	await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: auditor.uuid } });
	const config = `/api/projects/${home.project}/plugin_configs`;
	await home.ask("DELETE", `${config}/${home.config}`);
	for (const path of [`/webhooks/${home.webhook}`, `/batch_exports/${home.batch_export}`])
		expect((await home.here("DELETE", path)).status).toBe(204);
	const list = async (path: string, key: string) => {
		const { status, body } = await home.ask("GET", `${path}?deleted=true`, { key });
		return status === 200 ? body.count : status;
	};
	const here = (path: string) => `/api/organizations/${home.id}/${path}`;
	for (const [path, id] of [
		[here("webhooks"), home.webhook],
		[here("batch_exports"), home.batch_export],
		[config, home.config],
	]) {
		expect(await list(`${path}`, auditor.key)).toBe(1);
		expect(await list(`${path}`, member.key)).toBe(403);
		expect((await home.ask("POST", `${path}/${id}/restore`, { key: auditor.key })).status).toBe(
			403,
		);
	}
});

test("access controls go and come back with their object, but not for who has left and come back", async () => {
	const home = await furnished();
	const [stays, leaves] = [await join(home.id, 1), await join(home.id, 1)];
	const resource_id = home.batch_export;
	const give = (member: string) =>
		home.here("POST", "/access_controls", {
			body: { resource: "batch_export", resource_id, member, access_level: "viewer" },
		});
	for (const { uuid } of [stays, leaves]) expect((await give(uuid)).status).toBe(201);
	const listed = async () =>
		(await home.here("GET", `/access_controls?resource_id=${resource_id}`)).body.results.map(
			({ member }: { member: { uuid: string } }) => member.uuid,
		);
	const at = `/batch_exports/${home.batch_export}`;
	await db.insert(projectMembers).values({
		project_id: home.project,
		organization_id: home.organization_id,
		user_id: leaves.id,
		level: 8,
	});
	await home.here("DELETE", `/projects/${home.project}`);
	expect(await listed()).toEqual([]);
	await db.delete(members).where(eq(members.user_id, leaves.id));
	stopClock();
	vi.setSystemTime(Date.now() + HOUR_MS);
	await db
		.insert(members)
		.values({ organization_id: home.organization_id, user_id: leaves.id, level: 1 });
	expect((await home.here("POST", `/projects/${home.project}/restore`)).status).toBe(200);
	expect(await listed()).toEqual([stays.uuid]);
	const remaining = await stored(projectMembers, sql`project_id = ${home.project}`);
	expect(remaining.map(({ user_id }) => user_id)).not.toContain(leaves.id);
	expect((await home.here("DELETE", at, { key: stays.key })).status).toBe(403);
	expect((await home.here("DELETE", at, { key: leaves.key })).status).toBe(204);
	expect(await listed()).toEqual([]);
});

test("who was removed from a group meanwhile doesn't get its access to a project back", async () => {
	const home = await furnished();
	await db.insert(scimUsers).values({
		domain_id: home.domain,
		user_id: sql`(select id from users where uuid = ${home.member})`,
		updated_at: iso(Date.now() - HOUR_MS),
	});
	const rows = () => stored(projectMembers, sql`project_id = ${home.project}`);
	const at = `/projects/${home.project}`;
	await home.here("DELETE", at);
	await home.here("POST", `${at}/restore`);
	expect(await rows()).toHaveLength(1);
	await home.here("DELETE", at);
	await db.update(scimUsers).set({ updated_at: iso(Date.now() + 1) });
	await home.here("POST", `${at}/restore`);
	expect(await rows()).toEqual([]);
});

test("a run that the deletion interrupted counts as undelivered with its error; one that a person cancelled doesn't", async () => {
	const home = await furnished();
	setClock("2026-03-01T10:20:00.000Z");
	const { body: made } = await home.here("POST", "/batch_exports", { body: EXPORT });
	const hour = (at: number) => ({
		data_interval_start: `2026-03-01T0${at}:00:00.000Z`,
		data_interval_end: `2026-03-01T0${at + 1}:00:00.000Z`,
	});
	await addRuns(made.id, { ...hour(7), latest_error: "The server is away." }, hour(8));
	const runs = `/batch_exports/${made.id}/runs`;
	const [newest] = (await home.here("GET", runs)).body.results;
	expect((await home.here("POST", `${runs}/${newest.id}/cancel`)).status).toBe(200);
	await home.here("DELETE", `/batch_exports/${made.id}`);
	await home.here("POST", `/batch_exports/${made.id}/restore`);
	expect((await home.here("GET", `/batch_exports/${made.id}`)).body.undelivered).toMatchObject({
		windows: 1,
		start_at: "2026-03-01T07:00:00.000Z",
		latest_error: "The server is away.",
	});
});

test("files in the service's own bucket go with what wrote them, others stay", async () => {
	const home = await furnished();
	const { markAs } = await import("../../src/exports/destinations/buckets/bucket.ts");
	const { metadata } = markAs({ export_id: "tenantry-export", upload: "tenantry-upload" });
	const destination = { type: "R2", config: { prefix: "events" } };
	const make = async () =>
		(await home.here("POST", "/batch_exports", { body: { ...EXPORT, destination } })).body.id;
	const [one, two] = [await make(), await make()];
	const put = (key: string, export_id: string) =>
		env.EXPORTS.put(key, "planted", { customMetadata: metadata({ export_id, upload: "1" }) });
	const root = `${home.project}/events`;
	await Promise.all([
		put(`${root}/1.jsonl`, one),
		put(`${root}/2.jsonl`, two),
		put(`${home.project}0/events/3.jsonl`, one),
	]);
	const keys = async () => (await env.EXPORTS.list()).objects.map(({ key }) => key);
	const others = (await keys()).filter((key) => !key.startsWith(`${home.project}/`));
	await home.here("DELETE", `/batch_exports/${one}`);
	await purgeDeleted(env, Date.now());
	expect(await keys()).toContain(`${root}/1.jsonl`);
	setClock(iso(Date.now() + 30 * DAY_MS));
	await purgeDeleted(env, Date.now());
	expect((await keys()).filter((key) => !others.includes(key))).toEqual([`${root}/2.jsonl`]);
	await home.here("DELETE", `/projects/${home.project}`);
	setClock(iso(Date.now() + 30 * DAY_MS));
	await purgeDeleted(env, Date.now());
	expect(await keys()).toEqual(others);
});
