/** The correct value of each counter of the database, as SQL over its table (docs/decisions/0005-counters-by-triggers.md). */
import { env } from "cloudflare:workers";

const count = (from: string) => `(select count(*) from ${from})`;

const runs = (status: string) =>
	count(`batch_export_runs where batch_export_id = it.id and status = '${status}'`);
const entries = (level: string) =>
	count(`batch_export_log_entries where batch_export_id = it.id and level = '${level}'`);
const lines = (type: string) =>
	count(`plugin_log_entries where plugin_config_id = it.id and type = '${type}'`);
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
		log_entries: count("batch_export_log_entries where batch_export_id = it.id"),
		debug_entries: entries("DEBUG"),
		info_entries: entries("INFO"),
		warning_entries: entries("WARNING"),
		error_entries: entries("ERROR"),
		backfills: count("batch_export_backfills where batch_export_id = it.id"),
		days: count("batch_export_days where batch_export_id = it.id"),
	},
	batch_export_runs: { log_entries: count("batch_export_log_entries where run_id = it.id") },
	plugin_configs: {
		log_entries: count("plugin_log_entries where plugin_config_id = it.id"),
		debug_entries: lines("DEBUG"),
		log_type_entries: lines("LOG"),
		info_entries: lines("INFO"),
		warn_entries: lines("WARN"),
		error_entries: lines("ERROR"),
	},
};

/** The length of each list of the activity log that its running totals say, with the number of its entries. */
const LISTS = (
	[
		["organization_id", "total", "true"],
		["organization_id", "total_without_project", "project_id is null"],
		["project_id", "project_total", "project_id is not null"],
	] as const
).map(
	([list, total, condition]) => `select 'activity_log.${total}' as counter,
		(select ${total} from activity_log where ${list} is it.${list} and not is_system order by position desc limit 1)
			- (select ${total} - (${condition}) from activity_log where ${list} is it.${list} and not is_system order by position limit 1) as says,
		sum(${condition}) as expected
		from activity_log as it where not is_system and ${list} is not null group by ${list} having says is not expected limit 1`,
);

/** Returns the counters with wrong values, with an example of each; none, if the triggers work. */
export async function wrongCounters() {
	const queries = [
		...LISTS,
		...Object.entries(COUNTERS).flatMap(([table, columns]) =>
			Object.entries(columns).map(
				([column, expected]) =>
					`select '${table}.${column}' as counter, it.${column} as says, ${expected} as expected
					from ${table} as it where says is not expected limit 1`,
			),
		),
	];
	const results = await env.DB.batch(queries.map((query) => env.DB.prepare(query)));
	return results.flatMap(({ results }) => results);
}
