import { type SQL, sql } from "drizzle-orm";

/** SQL for the number of runs with these ids that an export has. `ids` is SQL for a JSON array. */
export const countInserted = (batch_export_id: SQL, ids: SQL) =>
	sql<number>`(select count(*) from json_each(${ids}) as inserted join batch_export_runs as run
		on run.batch_export_id = ${batch_export_id} and run.id = inserted.value)`;
