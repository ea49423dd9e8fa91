import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { deliver } from "../../src/activity/webhooks/deliver.ts";
import {
	batchExportLogs,
	batchExportRuns,
	batchExports,
} from "../../src/db/schema/batch_exports.ts";
import { personalApiKeyDays } from "../../src/db/schema/personal_api_keys.ts";
import { pluginConfigs, pluginJobs, pluginLogs } from "../../src/db/schema/plugins.ts";
import { runSeries } from "../../src/exports/engine/run.ts";
import * as schedule from "../../src/exports/engine/schedule.ts";
import * as tasks from "../../src/plugins/jobs/tasks.ts";
import { work } from "../../src/plugins/jobs/work.ts";
import { fill, metered } from "../../test/support/events.ts";
import { eventually } from "../../test/support/time.ts";
import { change, hook, lossy } from "../../test/support/webhooks.ts";
import { cost, db, world } from "../../test/support/world.ts";
import { LOAD, type Operation, ROWS } from "./assumptions.ts";

const HOUR = 3_600_000;

type Rows = (typeof ROWS)[Operation];

const sum = (all: Rows[], times = 1) => ({
	read: all.reduce((sum, { read }) => sum + read, 0) / times,
	written: all.reduce((sum, { written }) => sum + written, 0) / times,
});

const costs = (answer: Parameters<typeof cost>[0] & { status: number }): Rows => {
	expect(answer.status).toBeLessThan(300);
	return cost(answer);
};

/**
 * Runs of twenty hourly exports, from the tick that inserts them to the one that deletes their
 * logs.
 */
async function runs(events = 0) {
	const N = 20;
	const before = await db.$count(batchExportRuns);
	const { spent, db: DB } = metered();
	const hour = Math.floor((Date.now() - HOUR / 10) / HOUR) * HOUR;
	const iso = (at: number) => new Date(at).toISOString();
	for (let i = 0; i < N; i += 1) {
		const home = await world();
		await fill(home.project, events, { start: iso(hour - HOUR), end: iso(hour) });
		const body = {
			name: "Export",
			interval: "hour",
			destination: { type: "R2", config: { prefix: "out" } },
		};
		expect((await home.here("POST", "/batch_exports", { body })).status).toBe(201);
	}
	await db
		.update(batchExports)
		.set({ next_start_at: iso(hour - HOUR), next_end_at: iso(hour), due_at: iso(hour) });
	const createBatch = async () => [];
	const EXPORT_RUNS = Object.assign(Object.create(env.EXPORT_RUNS), { createBatch });
	const bound = { ...env, DB, EXPORT_RUNS };
	await schedule.runDueExports(bound, hour + HOUR / 10);
	const waiting = await db.select().from(batchExportRuns).where(sql`finished_at is null`);
	for (const { batch_export_id, id, lease } of waiting)
		await runSeries(bound, { batch_export_id, run_id: id, lease });
	expect(await db.$count(batchExportRuns, sql`status = 'Completed'`)).toBe(before + N);
	await db.update(batchExports).set({ paused: true });
	await db
		.update(batchExportLogs)
		.set({ position: sql`${batchExportLogs.position} - 8 * 86400000` });
	await schedule.runDueExports(bound, Date.now());
	expect(await db.$count(batchExportLogs)).toBe(0);
	return sum([spent], N);
}

/**
 * Jobs of one config with one line in their logs, from the request that queues them to the tick
 * that deletes them.
 */
async function jobs() {
	const N = 20;
	const { here, ask, organization_id, project } = await world();
	const plugin = (await here("POST", "/pipeline_destinations", { body: {} })).body.id;
	await here("PATCH", `/pipeline_destinations/${plugin}/update_source`, {
		body: { "index.js": "exports.jobs = { go: () => console.log('Hello') }" },
	});
	const config = { project_id: project, organization_id, plugin_id: plugin, order: 1 };
	const [row] = await db.insert(pluginConfigs).values(config).returning();
	const { spent, db: DB } = metered();
	const bound = { ...env, DB, JOBS: lossy.DELIVERIES };
	const path = `/api/projects/${project}/plugin_configs/${row?.id}/job`;
	const queued: Rows[] = [];
	for (let i = 0; i < N; i += 1) {
		const answer = await ask("POST", path, {
			body: { job: { type: "go" } },
			env: { JOBS: lossy.DELIVERIES },
		});
		queued.push(costs(answer));
		await work(bound);
	}
	expect(await db.$count(pluginJobs)).toBe(0);
	await db.update(pluginLogs).set({ position: sql`${pluginLogs.position} - 8 * 86400000` });
	await tasks.runDueTasks(bound, Date.now());
	expect(await db.$count(pluginLogs)).toBe(0);
	return sum([...queued, spent], N);
}

/** One event to one webhook, with what the webhook adds to the write that caused it. */
async function deliveries() {
	const home = await world();
	const without = costs(await change(home, lossy));
	const { id, messages } = await hook(home);
	const after = costs(await change(home, lossy));
	const { spent, db: DB } = metered();
	await deliver({ ...env, DB }, { webhook: id });
	expect(await messages()).toHaveLength(1);
	return sum([spent, after, { read: -without.read, written: -without.written }]);
}

/**
 * Events that are sent a thousand at a time, and exported by runs that have as many each as a
 * typical one.
 */
async function events() {
	const { ask, project } = await world();
	const body = Array.from({ length: 1000 }, (_, i) => ({
		event: "page viewed",
		distinct_id: `${i}`,
		properties: {},
	}));
	const collected = costs(await ask("POST", `/api/projects/${project}/events`, { body }));
	const n = Math.round(LOAD.event / LOAD.run);
	const [full, empty] = [await runs(n), await runs()];
	return {
		read: collected.read / body.length + (full.read - empty.read) / n,
		written: collected.written / body.length,
	};
}

/** The row written after a response: how much the key was used. */
async function uses() {
	const { here, owner } = await world();
	await here("GET", "");
	const ofOwner = sql`key_id in (select id from personal_api_keys where user_id = ${owner.id})`;
	await eventually(async () => expect(await db.$count(personalApiKeyDays, ofOwner)).toBe(1));
	const { spent, db: DB } = metered();
	await here("GET", "", { env: { DB } });
	await eventually(async () => expect(spent.written).toBeGreaterThan(0));
	return spent;
}

test.each<[Operation, () => Promise<Rows>]>([
	["run", runs],
	["job", jobs],
	["delivery", deliveries],
	["use", uses],
	["event", events],
])("scale.md says what one %s costs in rows, within a tenth", async (operation, measure) => {
	const { read, written } = await measure();
	const said = ROWS[operation];
	const isRight = [read / said.read, written / said.written].every((it) => it > 0.9 && it < 1.1);
	expect({ read, written, said, isRight }).toMatchObject({ isRight: true });
});
