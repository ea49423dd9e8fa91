import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { beforeAll, expect, test, vi } from "vitest";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { projects } from "../../src/db/schema/organizations.ts";
import {
	pluginConfigs,
	pluginSourceFiles,
	pluginStorage,
	plugins,
} from "../../src/db/schema/plugins.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { purgeDeleted } from "../../src/deletions/purge.ts";
import { runDueExports } from "../../src/exports/engine/schedule.ts";
import { deleteOrphans } from "../../src/exports/ingestion/queries.ts";
import { DAY_MS } from "../../src/lib/time.ts";
import { address, guarded } from "../support/routes.ts";
import { stopClock } from "../support/time.ts";
import { addRuns, db, furnished, keyFor } from "../support/world.ts";

/*
 * Nothing that was deleted is shown anywhere but in lists of deleted objects and in the log, and
 * nothing is left of it once it is removed for good. Each object has this text in its name, or in
 * what belongs to it.
 */
let mark = "";

/** What tells of the past: who did what, and who was sent what. */
const LOGS = ["activity_log", "idempotency_keys"];

type Home = Awaited<ReturnType<typeof furnished>>;

/** Plants the mark in all that a project, a plugin and a webhook have. */
async function plant(home: Home) {
	await db.batch([
		db.update(projects).set({ name: mark }).where(eq(projects.id, home.project)),
		db.update(plugins).set({ name: mark, config_schema: [] }).where(eq(plugins.id, home.frontend)),
		db
			.update(pluginSourceFiles)
			.set({ source: mark })
			.where(eq(pluginSourceFiles.plugin_id, home.frontend)),
		db
			.update(pluginConfigs)
			.set({ name: mark, config: { text: mark } })
			.where(eq(pluginConfigs.id, home.config)),
		db
			.insert(pluginStorage)
			.values({ plugin_config_id: home.config, key: mark, bytes: 1, value: mark }),
		db.update(webhooks).set({ description: mark }).where(eq(webhooks.id, home.webhook)),
		db
			.update(batchExports)
			.set({ name: mark, paused: true, pause_note: mark })
			.where(eq(batchExports.uuid, home.batch_export)),
	]);
	await addRuns(home.batch_export, {
		data_interval_start: "2026-02-01T00:00:00.000Z",
		data_interval_end: "2026-02-01T01:00:00.000Z",
		status: "Failed",
		latest_error: mark,
		finished_at: "2026-02-01T01:00:00.000Z",
	});
	for (const [resource, resource_id] of [
		["batch_export", home.batch_export],
		["webhook", home.webhook],
		["plugin", `${home.frontend}`],
	]) {
		const body = { resource, resource_id, role: home.role, access_level: "viewer" };
		expect((await home.here("POST", "/access_controls", { body })).status).toBe(201);
	}
	const events = [{ event: mark, distinct_id: mark }];
	const sent = await home.ask("POST", `/api/projects/${home.project}/events`, { body: events });
	expect(sent.status).toBe(200);
	await env.EXPORTS.put(`${home.project}/${mark}.jsonl`, mark);
}

const DELETED: Record<string, (home: Home) => string[]> = {
	"an export": (home) => [`/batch_exports/${home.batch_export}`],
	"a project": (home) => [`/projects/${home.project}`],
	"a webhook": (home) => [`/webhooks/${home.webhook}`],
	"a plugin": (home) => [`/pipeline_frontend_apps/${home.frontend}`],
};

/** Returns what the answers of all GETs that find something say, by path. */
async function readAll(home: Home) {
	const said: Record<string, string> = {};
	// The rate of a key is limited.
	let key = home.key;
	for (const [i, { method, path }] of guarded.entries()) {
		if (method !== "GET" || /activity|\/events/.test(path)) continue;
		if (i % 100 === 0) key = await keyFor(home.owner.id);
		const { status, body } = await home.ask("GET", address(path, home), { key });
		if (status === 200) said[path] = JSON.stringify(body ?? null);
	}
	return said;
}

let tables: string[] = [];
beforeAll(async () => {
	const all: { name: string }[] = await db.all(
		sql`select name from sqlite_master where type = 'table'`,
	);
	tables = all.map(({ name }) => name).filter((name) => !/^(sqlite|_|d1)/.test(name));
	expect(tables).toContain("projects");
});

/** Returns the tables that have a text, in any column. */
async function tablesWith(text: string) {
	const found: string[] = [];
	for (const name of tables) {
		const table = sql.identifier(name);
		const columns: { name: string }[] = await db.all(
			sql`select name from pragma_table_info(${name})`,
		);
		const anywhere = sql.join(
			columns.map((column) => sql`instr(cast(${sql.identifier(column.name)} as text), ${text})`),
			sql` or `,
		);
		const rows = await db.all(sql`select 1 from ${table} where ${anywhere} limit 1`);
		if (rows.length > 0) found.push(name);
	}
	return found;
}

test.each(Object.keys(DELETED))(
	"what %s had is shown nowhere, and is gone for good later",
	async (what) => {
		const home = await furnished();
		mark = `planted-${home.id}`;
		await plant(home);
		const before = await readAll(home);
		const at = DELETED[what]?.(home) ?? [];
		for (const path of at) expect((await home.here("DELETE", path)).status).toBe(204);
		const id = `${at[0]?.split("/").at(-1)}`;
		const shows = (said: Record<string, string>) =>
			Object.keys(said).filter((path) => {
				const isNamed = id.length > 5 ? said[path]?.includes(id) : false;
				return isNamed || (what === "a project" && said[path]?.includes(mark));
			});
		const after = await readAll(home);
		if (id.length > 5) expect(shows(before).length).toBeGreaterThan(2);
		// The plugin and the webhook remain of a project.
		const rest =
			what === "a project" ? ["plugin", "webhook", "pipeline", "access", "credentials"] : [];
		expect(shows(after).filter((path) => !rest.some((one) => path.includes(one)))).toEqual([]);
		if (what === "a project") {
			await home.here("DELETE", `/pipeline_frontend_apps/${home.frontend}`);
			await home.here("DELETE", `/webhooks/${home.webhook}`);
			expect(shows(await readAll(home))).toEqual([]);
			expect(await tablesWith(mark)).toEqual(
				expect.arrayContaining(["deleted_rows", "deletions", "events", "batch_exports"]),
			);
			const later = Date.now() + 30 * DAY_MS;
			stopClock();
			vi.setSystemTime(later);
			await purgeDeleted(env, Date.now());
			expect(await db.all(sql`select type, item_id from deletions`)).toEqual([]);
			for (let i = 0; i < 3; i += 1) await runDueExports(env, Date.now());
			await deleteOrphans(env);
			const { objects } = await env.EXPORTS.list({ prefix: `${home.project}/` });
			expect(objects).toEqual([]);
			const { keys } = await env.KEYS.list();
			for (const { name } of keys)
				expect(`${name} ${await env.KEYS.get(name)}`).not.toContain(mark);
			const left = await tablesWith(mark);
			expect(left.filter((name) => !LOGS.includes(name))).toEqual([]);
		}
	},
);
