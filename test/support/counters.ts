/**
 * The correct value of each counter of the database, as SQL over its table
 * (docs/internals/decisions/0005-counters-by-triggers.md).
 */
import { env } from "cloudflare:workers";

const count = (from: string) => `(select count(*) from ${from})`;

/** A deleted export's counters don't matter. */
const ofExport = (table: string, column: string) =>
	`iif(deleted, ${column}, ${count(`${table} where batch_export_id = it.id`)})`;
/**
 * The running total of a row of a log: that of the row before, and its own entries. The oldest row
 * has nothing to compare with.
 */
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
};

/**
 * The length of each list of the activity log that its running totals say, with the number of its
 * entries.
 */
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
