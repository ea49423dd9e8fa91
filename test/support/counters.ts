/** The correct value of each counter of the database, as SQL over its table (docs/decisions/0005-counters-by-triggers.md). */
import { env } from "cloudflare:workers";

const count = (from: string) => `(select count(*) from ${from})`;

const runs = (status: string) =>
	count(`batch_export_runs where batch_export_id = it.id and status = '${status}'`);
/** The running total of a row of a log: that of the row before, and its own entries. The oldest row has nothing to compare with. */
const total = (table: string, owner: string) => `coalesce((
	select before.total + json_array_length(it.entries) from ${table} as before
	where before.${owner} = it.${owner} and before.position < it.position order by before.position desc limit 1), it.total)`;
const exports = (condition: string) =>
	count(`batch_exports join projects on projects.id = project_id
		where projects.organization_id = it.id and not deleted and ${condition}`);

const COUNTERS = {
	organizations: {
		active_members: count(
			"members join users on users.id = user_id where organization_id = it.id and users.is_active and not is_service_account",
		),
		invites: count("invites where organization_id = it.id"),
		batch_exports: exports("true"),
		open_batch_exports: exports("not access_control"),
	},
	members: {
		is_active: "(select is_active and not is_service_account from users where id = it.user_id)",
	},
	projects: {
		batch_exports: count("batch_exports where project_id = it.id and not deleted"),
	},
	batch_exports: {
		runs: count("batch_export_runs where batch_export_id = it.id"),
		starting_runs: runs("Starting"),
		running_runs: runs("Running"),
		completed_runs: runs("Completed"),
		failed_runs: runs("Failed"),
		failed_retryable_runs: runs("FailedRetryable"),
		cancelled_runs: runs("Cancelled"),
		backfills: count("batch_export_backfills where batch_export_id = it.id"),
		days: count("batch_export_days where batch_export_id = it.id"),
	},
	batch_export_logs: { total: total("batch_export_logs", "batch_export_id") },
	plugin_logs: { total: total("plugin_logs", "plugin_config_id") },
	activity_counts: {
		entries: count(`activity_log where coalesce(organization_id, '') = it.organization_id
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
