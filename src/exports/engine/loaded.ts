import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { batchExportRuns, batchExports } from "../../db/schema/batch_exports.ts";
import { organizationUuid } from "../../db/schema/organizations.ts";
import { isHeld } from "../../delivery/lease.ts";
import { digest } from "../../keys/keys.ts";
import type { Job } from "../destinations/destination.ts";
import { destinationOf, isDatabase } from "../destinations/index.ts";
import { exportSubject } from "../destinations/roles/subjects.ts";
import { exportCipher, opened, shown } from "../destinations/secrets.ts";
import { parse } from "../query/query.ts";
import { fieldsOf } from "../query/rows.ts";
import type { Selection } from "./sources/source.ts";
import type { RunLease } from "./start_runs.ts";

type RunRef = Pick<RunLease, "batch_export_id" | "run_id">;

export const isRun = ({ batch_export_id, run_id }: RunRef) =>
	and(eq(batchExportRuns.batch_export_id, batch_export_id), eq(batchExportRuns.id, run_id));

/** SQL condition: the run hasn't ended, and this attempt still has the lease. */
export const isCurrent = (ref: RunLease) =>
	and(isRun(ref), isHeld(batchExportRuns, ref.lease), isNull(batchExportRuns.finished_at));

export async function loadRun(db: Database, ref: RunRef) {
	const [row] = await db
		.select({
			run: batchExportRuns,
			batchExport: batchExports,
			organization: organizationUuid(batchExports.organization_id),
		})
		.from(batchExportRuns)
		.innerJoin(batchExports, eq(batchExports.id, batchExportRuns.batch_export_id))
		.where(isRun(ref));
	return row;
}

export type Loaded = NonNullable<Awaited<ReturnType<typeof loadRun>>>;

/** The columns that say how far a run has come, at its start. */
export const FROM_START = {
	records_completed: 0,
	records_total_count: null,
	bytes: 0,
	unfit_values: 0,
	cursor: null,
};

/** Whether the destination or the query has changed since the run began. */
export const hasChanged = (run: Loaded["run"], fingerprint: string) =>
	run.fingerprint !== null && run.fingerprint !== fingerprint;

export async function planTransfer(env: Env, { run, batchExport, organization }: Loaded) {
	const { type, config } = await opened(
		exportCipher(env, { id: batchExport.uuid }),
		batchExport.destination,
	);
	const destination = await destinationOf(env, type, config, {
		subject:
			organization &&
			exportSubject({ organization, project: batchExport.project_id, id: batchExport.uuid }),
	});
	const query = batchExport.xql_query === null ? null : parse(batchExport.xql_query);
	const where = query?.where ?? null;
	const fields = fieldsOf(batchExport.model, query?.fields ?? null, isDatabase(type));
	const range = {
		team_id: batchExport.project_id,
		model: batchExport.model,
		start: run.data_interval_start,
		end: run.data_interval_end,
	};
	const selection: Selection = {
		...range,
		fields,
		where,
		by: run.by,
		include_events: namesIn(config.include_events),
		exclude_events: namesIn(config.exclude_events),
	};
	const fingerprint = await digest(
		JSON.stringify(
			[
				shown(batchExport.destination),
				batchExport.model,
				fields,
				env.EVENT_SOURCE,
				...(where ? [where] : []),
			],
			(_, value) => (typeof value === "bigint" ? String(value) : value),
		),
	);
	const job: Job = {
		...range,
		run_id: run.id,
		export_id: batchExport.uuid,
		backfill: run.by === "event" && !batchExport.one_off,
		isOneOff: batchExport.one_off,
		columns: fields,
		isRepeat: run.backfill_id !== null || run.lease > 1 || hasChanged(run, fingerprint),
		hasUuid: fields.some(
			({ expression }) => expression.type === "column" && expression.name === "uuid",
		),
	};
	return { destination, selection, job, fingerprint };
}

const namesIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

export const logOf = ({ id: run_id, batch_export_id }: Loaded["run"]) => ({
	run_id,
	batch_export_id,
});
