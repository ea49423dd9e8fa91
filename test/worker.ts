import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { count, gte, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { expect } from "vitest";
import { deliverDue } from "../src/activity/audit_streams/deliver.ts";
import { countStatements, inList, insertEach } from "../src/db/client.ts";
import { activityLog } from "../src/db/schema/activity_log.ts";
import { auditStreams } from "../src/db/schema/audit_streams.ts";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../src/db/schema/batch_exports.ts";
import { alerts } from "../src/db/schema/notifications.ts";
import { domains, organizations } from "../src/db/schema/organizations.ts";
import { members } from "../src/db/schema/people.ts";
import { personalApiKeys } from "../src/db/schema/personal_api_keys.ts";
import { pluginConfigs, pluginJobs, plugins } from "../src/db/schema/plugins.ts";
import { signIns } from "../src/db/schema/sign_in.ts";
import { webhooks } from "../src/db/schema/webhooks.ts";
import worker from "../src/worker.ts";
import { outbox } from "./support/mail.ts";
import { db, join, rowIdOf, world } from "./support/world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const iso = (at: number) => new Date(at).toISOString();

/** Before everything that is due. */
const LONG_AGO = "2026-01-01T00:00:00.000Z";

/** Inserts `n` rows. */
async function fill<T extends SQLiteTable>(
	table: T,
	n: number,
	row: (i: number) => Partial<T["$inferInsert"]> & Record<string, unknown>,
) {
	const rows = Array.from({ length: n }, (_, i) => row(i));
	for (let i = 0; i < n; i += 1000) await insertEach(db, table, { rows: rows.slice(i, i + 1000) });
}

/** How many things are due. */
type Sizes = {
	/** Of most kinds. */
	most: number;
	streams: number;
	exports: number;
	/** How many of the exports have a window that is due: one each. The others have ended. */
	open: number;
	webhooks: number;
	links: number;
};

/** Deletes what slows other tests down. Entries outlive their organization. */
export async function deleteAll() {
	await db.delete(activityLog).where(gte(activityLog.organization_id, 1_000_000));
	await db.delete(batchExports);
	await db.delete(organizations);
}

/** Makes work for each part of a tick. */
export async function overload({ most, streams, exports, open, webhooks: hooks, links }: Sizes) {
	const { id, organization_id, project, owner } = await world();
	const member = await join(id, 1);
	const later = iso(Date.now() + 6 * DAY);
	const hourAgo = iso((Math.floor(Date.now() / HOUR) - 1) * HOUR);
	// Events of the system are deleted after 60 days.
	const hoursAgo = iso(Date.now() - 2 * HOUR);
	const home = { organization_id, project_id: project };
	const batchExport = {
		...home,
		name: "Export",
		destination: { type: "NoOp", config: {} },
		interval: "hour" as const,
		next_start_at: hourAgo,
		next_end_at: hourAgo,
		due_at: LONG_AGO,
	};
	const window = { data_interval_start: "2025-12-31T23:00:00.000Z", data_interval_end: LONG_AGO };
	await fill(batchExports, exports, (i) => ({
		...batchExport,
		uuid: v7(),
		end_at: i < open ? hourAgo : LONG_AGO,
	}));
	const uuid = v7();
	await db
		.insert(batchExports)
		.values({ ...batchExport, uuid, paused: true, runs: most, backfills: most });
	const paused = { batch_export_id: await rowIdOf(uuid) };
	await fill(batchExportBackfills, most, () => ({
		...paused,
		id: v7(),
		project_id: project,
		interval: "hour" as const,
		start_at: window.data_interval_start,
		next_start_at: window.data_interval_start,
		end_at: window.data_interval_end,
		total_runs: 1,
	}));
	await fill(batchExportRuns, most, (i) => ({
		...paused,
		id: v7(),
		data_interval_start: LONG_AGO,
		data_interval_end: iso(Date.parse(LONG_AGO) + i * HOUR),
		status: "Cancelled" as const,
		state: {},
		finished_at: LONG_AGO,
		last_updated_at: LONG_AGO,
	}));
	const [plugin] = await db
		.insert(plugins)
		.values({ organization_id, plugin_type: "source", capabilities: {} })
		.returning();
	const [config] = await db
		.insert(pluginConfigs)
		.values({ ...home, plugin_id: plugin?.id ?? 0, order: 1 })
		.returning();
	await fill(pluginJobs, most, (i) => ({
		turn: i,
		id: i,
		organization_id,
		plugin_config_id: config?.id ?? 0,
		kind: "job" as const,
		name: "sync",
		lease_expires_at: LONG_AGO,
	}));
	await fill(domains, most, () => ({
		id: v7(),
		organization_id,
		domain: `${v7()}.example.test`,
		verification_challenge: "x",
		verified_at: LONG_AGO,
		recheck_at: LONG_AGO,
	}));
	const other = (i: number) => ({ id: v7(), organization_id: 1_000_000 + i });
	await fill(organizations, streams, (i) => ({
		id: 1_000_000 + i,
		uuid: v7(),
		name: "Other",
		slug: v7(),
		plugins_access_level: 0,
	}));
	await fill(members, most, (i) => ({ ...other(i), user_id: owner.id, level: 15 }));
	await fill(activityLog, most, (i) => ({
		...other(i),
		is_system: true,
		activity: "failed",
		scope: "BatchExportRun",
		item_id: "1",
		name: "Orders",
		trigger: { batch_export_id: "1", error: "No." },
		created_at: hoursAgo,
	}));
	await fill(activityLog, streams - most, (i) => ({
		...other(most + i),
		activity: "created",
		scope: "Project",
		item_id: "1",
		created_at: hoursAgo,
		total: 1,
		total_without_project: 1,
	}));
	await fill(auditStreams, streams, (i) => ({
		...other(i),
		organization_uuid: v7(),
		name: "Archive",
		destination: { type: "R2", config: { prefix: "" } },
		digest: "x",
		next_attempt_at: LONG_AGO,
	}));
	await fill(personalApiKeys, most, () => ({
		id: v7(),
		user_id: member.id,
		label: "CI",
		hash: v7(),
		mask_value: "x",
		expires_at: later,
		created_at: LONG_AGO,
	}));
	await fill(webhooks, hooks, () => ({
		...other(0),
		url: "https://example.com",
		secret: "x",
		// Not the heads of the files that the streams write.
		selectors: ["Project"],
		position: 0,
		next_attempt_at: LONG_AGO,
	}));
	await fill(signIns, links, () => ({
		id: v7(),
		user_id: owner.id,
		token_hash: v7(),
		created_at: LONG_AGO,
		expires_at: LONG_AGO,
	}));
}

const rows = async (table: SQLiteTable, where: SQL) =>
	(await db.select({ n: count() }).from(table).where(where))[0]?.n ?? 0;

/** How much of everything is still to be done. */
export const left = async (): Promise<Record<string, number>> => ({
	"due exports": await rows(batchExports, sql`not paused and due_at = ${LONG_AGO}`),
	"stalled backfills": await rows(
		batchExportBackfills,
		sql`not exists (select 1 from batch_export_runs as r where r.backfill_id = batch_export_backfills.id)`,
	),
	leftovers: await rows(batchExportRuns, sql`finished_at is not null and state is not null`),
	"lost jobs": await rows(pluginJobs, sql`true`),
	domains: await rows(domains, sql`recheck_at = ${LONG_AGO}`),
	"audit streams": await rows(auditStreams, sql`sequence = 0`),
	digests: await rows(alerts, sql`scope = 'BatchExportRun' and position is not null`),
	keys: await rows(personalApiKeys, sql`label = 'CI' and expiry_notified_for is null`),
	webhooks: await rows(webhooks, sql`next_attempt_at is not null`),
	links: await rows(signIns, sql`true`),
});

/**
 * Bindings that start no instances, take webhooks as their workers do, and keep mails.
 * `deliverStreams` delivers the audit streams for which there is a message, and returns how many
 * statements that took.
 */
export function bindings() {
	const batches: string[][] = [];
	const messages: unknown[] = [];
	const mails = outbox();
	const EXPORT_RUNS: Workflow = Object.assign(Object.create(env.EXPORT_RUNS), {
		createBatch: async (batch: { id: string }[]) => {
			expect(batch.length).toBeLessThanOrEqual(100);
			batches.push(batch.map(({ id }) => id));
			return [];
		},
	});
	const DELIVERIES: Queue = Object.assign(Object.create(env.DELIVERIES), {
		sendBatch: (messages: { body: { webhook: string } }[]) => {
			const ids = messages.map(({ body }) => body.webhook);
			return db.update(webhooks).set({ next_attempt_at: null }).where(inList(webhooks.id, ids));
		},
		send: async (message: unknown) => messages.push(message),
	});
	const deliverStreams = async () => {
		const { DB, statements } = countStatements(env.DB);
		for (const message of messages.splice(0)) await deliverDue({ ...env, DB }, message);
		return statements();
	};
	return { batches, deliverStreams, mails, env: { ...env, ...mails.env, EXPORT_RUNS, DELIVERIES } };
}

/** Runs a tick. */
export const tick = (at: number, bindings: Env) =>
	worker.scheduled(
		createScheduledController({ cron: "* * * * *", scheduledTime: new Date(at) }),
		bindings,
	);
