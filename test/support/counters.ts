/** The correct value of each counter of the database, as SQL over its table (docs/decisions/0005-counters-by-triggers.md). */
import { env } from "cloudflare:workers";

const count = (from: string) => `(select count(*) from ${from})`;

/** A deleted export's counters don't matter. */
const ofExport = (table: string, column: string) =>
	`iif(deleted, ${column}, ${count(`${table} where batch_export_id = it.id`)})`;
/** The running total of a row of a log: that of the row before, and its own entries. The oldest row has nothing to compare with. */
const total = (table: string, owner: string) => `coalesce((
	select before.total + json_array_length(it.entries) from ${table} as before
	where before.${owner} = it.${owner} and before.position < it.position order by before.position desc limit 1), it.total)`;

const COUNTERS = {
	organizations: {
		active_members: count(
			"members join users on users.id = user_id where organization_id = it.id and users.is_active and not is_service_account",
		),
		invites: count("invites where organization_id = it.id"),
	},
	members: {
		is_active: "(select is_active and not is_service_account from users where id = it.user_id)",
	},
	batch_exports: {
		runs: ofExport("batch_export_runs", "runs"),
		backfills: ofExport("batch_export_backfills", "backfills"),
	},
	batch_export_logs: { total: total("batch_export_logs", "batch_export_id") },
	plugin_logs: { total: total("plugin_logs", "plugin_config_id") },
	activity_counts: {
		entries: count(`activity_log where coalesce(organization_id, 0) = it.organization_id
			and coalesce(project_id, 0) = it.project_id and not is_system`),
	},
};

/** Tables that triggers maintain, with queries for their actual and their correct content. */
const TABLES = {
	activity_counts: [
		"select count(*) from activity_counts",
		"select count(*) from (select distinct organization_id, project_id from activity_log where not is_system)",
	],
};

/** Returns the counters with wrong values, with an example of each; none, if the triggers work. */
export async function wrongCounters() {
	const queries = [
		...Object.entries(COUNTERS).flatMap(([table, columns]) =>
			Object.entries(columns).map(
				([column, expected]) =>
					`select '${table}.${column}' as counter, it.${column} as says, ${expected} as expected
					from ${table} as it where says is not expected limit 1`,
			),
		),
		...Object.entries(TABLES).map(
			([table, [says, expected]]) =>
				`select '${table}' as counter, (${says}) as says, (${expected}) as expected where says is not expected`,
		),
	];
	const results = await env.DB.batch(queries.map((query) => env.DB.prepare(query)));
	return results.flatMap(({ results }) => results);
}
