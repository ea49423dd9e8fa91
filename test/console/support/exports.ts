/** Exports and runs as the API returns them. */
import type { BatchExport, BatchExportRun } from "tenantry-client";

export const HOUR_MS = 3_600_000;

/** A moment on 10 March 2026. */
export const at = (hour: number) => new Date(Date.UTC(2026, 2, 10) + hour * HOUR_MS).toISOString();

export const exportWith = (more: Partial<BatchExport> = {}): BatchExport => ({
	id: "export",
	team_id: 1,
	name: "Hourly",
	model: "events",
	destination: { type: "NoOp", config: {} },
	interval: "hour",
	time_zone: null,
	hour: null,
	weekday: null,
	paused: false,
	created_at: at(1.2),
	last_updated_at: at(1.2),
	last_paused_at: null,
	pause_note: null,
	start_at: null,
	end_at: null,
	latest_runs: [],
	undelivered: null,
	xql_query: null,
	schema: null,
	expires_at: null,
	...more,
});

/** A run of the window that begins at this hour. */
export const runOf = (hour: number, more: Partial<BatchExportRun> = {}): BatchExportRun => ({
	id: `run-${hour}`,
	status: "Completed",
	records_completed: 1200,
	records_total_count: 1200,
	latest_error: null,
	data_interval_start: at(hour),
	data_interval_end: at(hour + 1),
	cursor: null,
	created_at: at(hour + 1.01),
	finished_at: at(hour + 1.02),
	last_updated_at: at(hour + 1.02),
	batch_export: "export",
	backfill_id: null,
	by: more.backfill_id ? "event" : "arrival",
	dismissed: false,
	attempt: 1,
	...more,
});
