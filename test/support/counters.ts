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
		plugin_configs: count("plugin_configs where project_id = it.id and not deleted"),
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
		families: "(select families from plugins where id = it.plugin_id)",
	},
	plugins: {
		is_used: `exists (select 1 from plugin_configs where plugin_id = it.id
			and organization_id = it.organization_id and enabled and not deleted)`,
		activity_entries: count(`activity_log where organization_id = it.organization_id
			and scope = 'Plugin' and item_id = cast(it.id as text) and not is_system`),
	},
	activity_counts: {
		entries: count(`activity_log where coalesce(organization_id, '') = it.organization_id
			and coalesce(project_id, 0) = it.project_id and not is_system`),
	},
	plugin_counts: {
		plugins: count(`plugins where (organization_id, is_global, families, is_used)
			= (it.organization_id, it.is_global, it.families, it.is_used)`),
	},
	plugin_activity: {
		// 8: the families must be read from `plugins`.
		families: "iif(it.families = 8, 8, (select families from plugins where id = it.plugin_id))",
	},
	plugin_config_counts: {
		enabled_configs: count(`plugin_configs where (organization_id, families)
			= (it.organization_id, it.families) and not deleted and enabled`),
	},
	plugin_uses: {
		configs: count(`plugin_configs where (organization_id, plugin_id)
			= (it.organization_id, it.plugin_id) and not deleted`),
		enabled_configs: count(`plugin_configs where (organization_id, plugin_id)
			= (it.organization_id, it.plugin_id) and not deleted and enabled`),
	},
};

/** Tables that triggers maintain, with queries for their actual and their correct content. */
const TABLES = {
	plugin_counts: [
		"select count(*) from plugin_counts",
		"select count(*) from (select distinct organization_id, is_global, families, is_used from plugins)",
	],
	plugin_count_entries: [
		"select sum(activity_entries) from plugin_counts",
		"select sum(activity_entries) from plugins",
	],
	plugin_activity: [
		`select json_group_array(json_array(position, it.organization_id, user_id, activity, it.created_at, it.id) order by position)
			from plugin_activity as it join plugins on plugins.id = it.plugin_id`,
		`select json_group_array(json_array(position, it.organization_id, user_id, activity, it.created_at, it.id) order by position)
			from activity_log as it join plugins on cast(plugins.id as text) = it.item_id and plugins.organization_id = it.organization_id
			where scope = 'Plugin' and not is_system`,
	],
	plugin_activity_to_change: [
		"select max(entries) from (select 0 as entries union all select count(*) from plugin_activity where families < 8 group by plugin_id having count(*) > 200)",
		"select 0",
	],
	plugin_config_counts: [
		"select count(*) from plugin_config_counts",
		"select count(*) from (select distinct organization_id, families from plugin_configs where enabled and not deleted and families & 1)",
	],
	plugin_uses: [
		"select count(*) from plugin_uses",
		"select count(*) from (select distinct organization_id, plugin_id from plugin_configs where not deleted)",
	],
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
