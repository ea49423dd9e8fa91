/** One-off exports (docs/exports.md#one-off-exports). */
import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { aliased } from "../../db/client.ts";
import { batchExportRuns, batchExports } from "../../db/schema/batch_exports.ts";
import { invalid } from "../../http/errors.ts";
import { DAY_MS, now } from "../../lib/time.ts";
import { normalized } from "../destinations/secrets.ts";
import { checkRunning, insertBackfill, selectRunning } from "../engine/backfill_runs.ts";
import { inUtc } from "../engine/grid.ts";
import { expiryFrom, folderOf } from "../engine/one_offs.ts";
import { runColumns } from "./columns.ts";
import { valuesOf } from "./queries.ts";
import { checkPast, checkQuery, parsedQuery } from "./rules.ts";
import type { once as Once, OneOffRun } from "./shape.ts";
import {
	activityOf,
	assertProject,
	counted,
	launchRuns,
	orNoProject,
	rowIdOf,
	selectProject,
} from "./statements.ts";

/** How long a range of events can be. Persons are few. */
const MAX_DAYS = 366;

/** Has no meaning, because there is one window. */
const GRID = inUtc("day");

type Body = z.infer<typeof Once>;

/** Returns the export that is stored: its range, and the files in the service's own bucket. */
function planOf({ model = "events", start_at, end_at = now(), xql_query = null, ...files }: Body) {
	checkPast(start_at, end_at);
	if (model === "events" && Date.parse(end_at) - Date.parse(start_at) > MAX_DAYS * DAY_MS)
		throw invalid("start_at", `The range of events can have at most ${MAX_DAYS} days.`);
	const uuid = v7();
	const prefix = `${folderOf(uuid)}/{table}_{window}`;
	const destination = { type: "R2", config: normalized("R2", { prefix, ...files }) };
	checkQuery({ model, xql_query, destination });
	const name = `${model} from ${start_at} to ${end_at}`;
	return { uuid, name, model, start_at, end_at, destination, ...parsedQuery(xql_query) };
}

/**
 * Starts the run of a one-off export: a paused export with one backfill of one window.
 * @throws 400 for an invalid range, 409 if there are too many, 429 if too many are running
 */
export const start = (tenant: Tenant, body: Body) => retry(() => tryStart(tenant, body));

async function tryStart(tenant: Tenant, body: Body): Promise<z.infer<typeof OneOffRun>> {
	const { db, organization } = tenant;
	const inProject = selectProject(tenant);
	const [[found], running] = await tenant.read(inProject, selectRunning(db, sql`${inProject}`));
	const { id: project_id } = orNoProject(found);
	const plan = planOf(body);
	const { uuid, start_at, end_at, name } = plan;
	const window = { start: start_at, end: end_at };
	checkRunning({ row_id: 0, ...GRID }, { ...window, by: "event" }, running);
	const begun = insertBackfill(
		db,
		{
			...{ batch_export_id: rowIdOf(tenant, uuid), project_id, ...GRID },
			...{ ...window, by: "event", total_runs: 1, first: window },
			message: `The one-off export of ${name} was started.`,
		},
		running,
	);
	const expires_at = expiryFrom(Date.now());
	const { row_id, ...run } = await tenant.write({
		checks: [
			assertRoom(tenant, batchExports, counted(tenant, true)),
			...assertProject(tenant, { id: project_id }),
			...begun.checks,
		],
		changes: [
			db.insert(batchExports).values({
				...plan,
				...{ organization_id: organization, project_id, ...GRID },
				...{ one_off: true, paused: true, due_at: expires_at },
				...{ next_start_at: end_at, next_end_at: end_at },
			}),
			...begun.changes,
		],
		entries: [
			{
				...activityOf({ id: uuid, name, team_id: project_id }),
				activity: "created",
				values: valuesOf(plan),
				trigger: { one_off: true, run_id: begun.run_id },
			},
		],
		answer: db
			.select({ ...runColumns(uuid), row_id: aliased(batchExportRuns.batch_export_id, "row_id") })
			.from(batchExportRuns)
			.where(
				sql`${eq(batchExportRuns.batch_export_id, rowIdOf(tenant, uuid))} and ${eq(batchExportRuns.id, begun.run_id)}`,
			),
	});
	// If this fails, the next tick does it.
	tenant.later(() => launchRuns(tenant, row_id));
	return { ...run, expires_at };
}
