import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { removeKept } from "../../access/deletions.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes, settable } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { largeRows, sizeOf } from "../../db/large.ts";
import { countWhere } from "../../db/list.ts";
import { batchExports, type Destination } from "../../db/schema/batch_exports.ts";
import { projects } from "../../db/schema/organizations.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { exportCipher, merged, removedSecrets, sealed, shown } from "../destinations/secrets.ts";
import { reschedule, resume, schedule } from "../engine/windows.ts";
import {
	checkGrid,
	checkModel,
	checkQuery,
	checkRange,
	parsedQuery,
	unusedClock,
} from "./rules.ts";
import { create, type filters, toBatchExport, type update as Update } from "./shape.ts";
import { warnOfSharedKeys } from "./shared_keys.ts";
import {
	activityOf,
	assertProject,
	counted,
	notDeleted,
	orNoProject,
	passPause,
	pausing,
	type Row,
	read,
	readScheduled,
	scheduleUnchanged,
	select,
	selectOne,
	selectProject,
	TIMING,
	visibleExports,
} from "./statements.ts";

const SIZE = sizeOf(batchExports.destination, batchExports.xql_query, batchExports.schema);
const EXPORTS = sql`${batchExports} join ${projects} on ${eq(projects.id, batchExports.project_id)}`;

/** Lists exports, newest first. */
export function list(tenant: Tenant, page: Page, { one_off = false }: z.infer<typeof filters>) {
	const where = and(visibleExports(tenant), eq(batchExports.one_off, one_off));
	return readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where,
		by: [batchExports.uuid],
		keys: ({ id }) => [id],
		total: countWhere(EXPORTS, where),
		// Measuring rows costs rows, and a short page can't be too large.
		large: page.limit > 100 ? largeRows(SIZE, EXPORTS) : undefined,
		to: toBatchExport,
	});
}

export const find = async (tenant: Tenant, id: string) => toBatchExport(await read(tenant, id));

/**
 * Inserts an export. Without a project in the path, it belongs to the oldest one that the caller may
 * change.
 */
export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(() => tryInsert(tenant, body));

async function tryInsert(tenant: Tenant, body: z.infer<typeof create>) {
	const { db, env } = tenant;
	const [[found]] = await tenant.read(selectProject(tenant));
	const project = orNoProject(found);
	const { destination, xql_query, ...rest } = body;
	const { start_at = null, end_at = null, paused = false } = rest;
	const { model = "events" } = rest;
	checkModel({ model, destination });
	const { interval, time_zone = null, hour = null, weekday = null } = rest;
	const grid = { interval, time_zone, hour, weekday };
	checkGrid(grid);
	checkRange(start_at, end_at);
	checkQuery({ model, xql_query: xql_query ?? null, destination });
	const { type, config = {} } = destination;
	const id = v7();
	const row = await tenant.write({
		checks: [assertRoom(tenant, batchExports, counted(tenant)), ...assertProject(tenant, project)],
		changes: [
			db.insert(batchExports).values({
				...rest,
				...(paused && { last_paused_at: rest.last_paused_at ?? now() }),
				...parsedQuery(xql_query ?? null),
				...schedule({ id, ...grid, start_at, end_at }, Date.now()),
				uuid: id,
				organization_id: tenant.organization,
				project_id: project.id,
				destination: await sealed(exportCipher(env, { id }), type, config),
			}),
		],
		entries: [
			{
				...activityOf({ id, name: body.name, team_id: project.id }),
				activity: "created",
				values: valuesOf({ ...body, destination: { type, config } }),
			},
		],
		answer: selectOne(tenant, id),
	});
	warnOfSharedKeys(tenant, row);
	return toBatchExport(row);
}

/** What the log says of an export: also where it goes, but not the secrets. */
export const valuesOf = (row: { destination: Destination }) =>
	settable(create, { ...row, destination: shown(row.destination) });

/** Updates an export. If another request changes it in the meantime, retries. */
export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const row = await readScheduled(tenant, id);
	const { destination, xql_query, ...rest } = body;
	const set = {
		...(rest.interval && rest.interval !== row.interval && unusedClock(rest.interval)),
		...rest,
		...(destination && {
			destination: await merged(exportCipher(tenant.env, row), row.destination, destination),
		}),
		...(xql_query !== undefined && parsedQuery(xql_query)),
		...(rest.paused === true && !row.paused && pausing(rest.last_paused_at)),
		...(rest.paused === false && row.paused && { pause_note: null }),
	};
	const after = {
		...row,
		name: set.name ?? row.name,
		model: set.model ?? row.model,
		xql_query: set.xql_query === undefined ? row.xql_query : set.xql_query,
		interval: set.interval ?? row.interval,
		time_zone: set.time_zone === undefined ? row.time_zone : set.time_zone,
		hour: set.hour === undefined ? row.hour : set.hour,
		weekday: set.weekday === undefined ? row.weekday : set.weekday,
		paused: set.paused ?? row.paused,
		start_at: set.start_at === undefined ? row.start_at : set.start_at,
		end_at: set.end_at === undefined ? row.end_at : set.end_at,
	};
	if (set.model) checkModel(after);
	checkGrid(after);
	checkRange(after.start_at, after.end_at);
	if (xql_query !== undefined || set.model) checkQuery(after);
	const resumed =
		row.paused && !after.paused
			? passPause(tenant, row, resume(row, after, Date.now()))
			: undefined;
	const timed = TIMING.some((field) => after[field] !== row[field]);
	const { scope, name, project } = activityOf(after);
	const removed = removedSecrets(row.destination, set.destination);
	const entry = { scope, name, project, masked: ["destination"], ...removed };
	const answer = await tenant.patch(row, set, entry, () => ({
		checks: [assertExists(tenant.db, batchExports, and(notDeleted(row.row_id), unchanged(row)))],
		changes: [
			...(resumed?.statements ?? []),
			tenant.db
				.update(batchExports)
				.set({
					...set,
					...(timed && reschedule(row, after, Date.now())),
					...resumed?.columns,
				})
				.where(eq(batchExports.id, row.row_id)),
		],
		answer: selectOne(tenant, id),
	}));
	const { destination: to, interval, model } = answer;
	if (changes(row, { destination: to, interval, model }).length > 0)
		warnOfSharedKeys(tenant, answer);
	return toBatchExport(answer);
}

/** SQL condition: the columns that the rules depend on haven't changed since they were read. */
const unchanged = (row: Row) =>
	and(
		eq(batchExports.destination, row.destination),
		eq(batchExports.model, row.model),
		sql`${batchExports.xql_query} is ${row.xql_query}`,
		eq(batchExports.paused, row.paused),
		scheduleUnchanged(row),
	);

/** Deletes a one-off export for good: it is there only for some days. */
const removeOneOff = (tenant: Tenant, row: Row) =>
	tenant.write({
		checks: [assertExists(tenant.db, batchExports, notDeleted(row.row_id))],
		changes: [
			tenant.db
				.update(batchExports)
				.set({ deleted: true, due_at: now() })
				.where(eq(batchExports.id, row.row_id)),
		],
		entries: [{ ...activityOf(row), activity: "deleted", values: valuesOf(row) }],
	});

/** Marks an export as deleted. The trigger `batch_exports_delete` cancels its runs. */
export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	if (row.expires_at !== null) {
		await removeOneOff(tenant, row);
		return;
	}
	const { scope: _, ...entry } = activityOf(row);
	await removeKept(
		tenant,
		{
			...entry,
			type: "batch_export",
			row: row.row_id,
			values: valuesOf(row),
			shown: toBatchExport(row),
		},
		{ table: batchExports, where: notDeleted(row.row_id), remove: [] },
	);
}
