/** The columns of responses, in statements over the tables of exports. */
import { desc, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type * as z from "zod";
import { aliased, type Database } from "../../db/client.ts";
import {
	batchExportBackfills,
	batchExportDays,
	batchExportRanges,
	batchExportRuns,
	batchExports,
} from "../../db/schema/batch_exports.ts";
import { undeliveredIn } from "../engine/undelivered.ts";
import {
	BatchExport,
	BatchExportBackfill,
	BatchExportDay,
	BatchExportRange,
	BatchExportRun,
} from "./shape.ts";

/** Returns the columns of a table that a response has under the same name. */
function columnsOf<T extends SQLiteTable, S extends z.ZodRawShape>(
	table: T,
	response: z.ZodObject<S>,
): Pick<T["_"]["columns"], keyof T["_"]["columns"] & keyof S>;
function columnsOf(table: SQLiteTable, { shape }: z.ZodObject) {
	const columns = getTableColumns(table);
	return Object.fromEntries(
		Object.keys(shape).flatMap((name) => (columns[name] ? [[name, columns[name]]] : [])),
	);
}

const ownRunColumns = {
	...columnsOf(batchExportRuns, BatchExportRun),
	attempt: batchExportRuns.lease,
};

/** The export's id in responses, in statements over its runs or backfills. */
const batchExport = (id: string) => sql<string>`${id.toLowerCase()}`.as("batch_export");

export const runColumns = (id: string) => ({ ...ownRunColumns, batch_export: batchExport(id) });

const LATEST_RUNS = 10;

type Run = z.infer<typeof BatchExportRun>;

const MOMENTS = [
	"data_interval_start",
	"data_interval_end",
	"created_at",
	"finished_at",
	"last_updated_at",
] as const;

/** Reads runs from JSON, in which moments and booleans are numbers. */
function readRuns(json: string): Run[] {
	const runs = JSON.parse(json);
	for (const run of runs) {
		for (const name of MOMENTS)
			if (run[name] !== null) run[name] = ownRunColumns[name].mapFromDriverValue(run[name]);
		run.dismissed = run.dismissed === 1;
	}
	return runs;
}

const latestRuns = (db: Database): SQL<Run[]> => {
	const latest = db
		.select()
		.from(batchExportRuns)
		.where(eq(batchExportRuns.batch_export_id, batchExports.id))
		.orderBy(desc(batchExportRuns.id))
		.limit(LATEST_RUNS);
	const fields = Object.entries(ownRunColumns).flatMap(([name, column]) => [
		sql`${name}`,
		sql`latest.${sql.identifier(column.name)}`,
	]);
	fields.push(sql`'batch_export'`, sql`${batchExports.uuid}`);
	return sql`(select json_group_array(json_object(${sql.join(fields, sql`, `)})) from ${latest} as latest)`.mapWith(
		readRuns,
	);
};

const ownExportColumns = columnsOf(
	batchExports,
	BatchExport.omit({ id: true, undelivered: true, expires_at: true }),
);

/** The columns of a `BatchExport`, the row's id and its next window, over `batch_exports`. */
export const exportColumns = (db: Database) => ({
	id: aliased(batchExports.uuid, "id"),
	row_id: aliased(batchExports.id, "row_id"),
	team_id: batchExports.project_id,
	...ownExportColumns,
	expires_at: sql<string | null>`iif(${batchExports.one_off}, ${batchExports.due_at}, null)`.as(
		"expires_at",
	),
	next_start_at: batchExports.next_start_at,
	next_end_at: batchExports.next_end_at,
	latest_runs: latestRuns(db).as("latest_runs"),
	undelivered: undeliveredIn(db, sql`${batchExports.id}`).as("undelivered"),
});

const ownBackfillColumns = columnsOf(batchExportBackfills, BatchExportBackfill);

export const backfillColumns = (id: string) => ({
	...ownBackfillColumns,
	batch_export: batchExport(id),
});

export const rangeColumns = columnsOf(batchExportRanges, BatchExportRange);

export const dayColumns = columnsOf(batchExportDays, BatchExportDay);
