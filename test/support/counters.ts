/** The correct value of each counter of the database, as SQL over its table (docs/decisions/0005-counters-by-triggers.md). */
import { env } from "cloudflare:workers";

const count = (from: string) => `(select count(*) from ${from})`;

const entries = (level: string) =>
	count(`batch_export_log_entries where batch_export_id = it.id and level = '${level}'`);
const lines = (type: string) =>
	count(`plugin_log_entries where plugin_config_id = it.id and type = '${type}'`);
/** A deleted export's counters don't matter. */
const ofExport = (table: string, column: string) =>
	`iif(deleted, ${column}, ${count(`${table} where batch_export_id = it.id`)})`;

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
		log_entries: count("batch_export_log_entries where batch_export_id = it.id"),
		debug_entries: entries("DEBUG"),
		info_entries: entries("INFO"),
		warning_entries: entries("WARNING"),
		error_entries: entries("ERROR"),
	},
	batch_export_runs: {
		log_entries: count(
			"batch_export_log_entries where batch_export_id = it.batch_export_id and run_id = it.id",
		),
	},
	plugin_configs: {
		log_entries: count("plugin_log_entries where plugin_config_id = it.id"),
		debug_entries: lines("DEBUG"),
		log_type_entries: lines("LOG"),
		info_entries: lines("INFO"),
		warn_entries: lines("WARN"),
		error_entries: lines("ERROR"),
	},
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
