/** Measures the size of rows in the project's tables, including index entries. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

const MIGRATIONS = `${import.meta.dirname}/../../migrations`;

/** Enough rows to make partially filled pages negligible. */
const ROWS = 5_000;

/** Creates the project's tables in a database, and returns it. */
export function migrated(db: DatabaseSync) {
	for (const file of readdirSync(MIGRATIONS).sort())
		if (file.endsWith(".sql")) db.exec(readFileSync(`${MIGRATIONS}/${file}`, "utf8"));
	// The rows that other rows refer to are missing.
	db.exec("pragma foreign_keys = off");
	// Migrations that drop tables leave free pages, which rows would fill first.
	db.exec("vacuum");
	return db;
}

const UUID =
	"lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-7' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6)))";
/** UUIDs that increase, because they begin with a time. */
const UUIDS_V7 = `printf('%08x', n) || substr(${UUID}, 9)`;
const NOW = "'2026-01-01T00:00:00.000Z'";
const MS = Date.UTC(2026);

/** Statements that insert typical rows. `n` is the number of the row. */
const INSERTS: Record<string, string> = {
	organization: `insert into organizations (uuid, name, slug, plugins_access_level, created_at, updated_at)
		select ${UUID}, 'An organization ' || n, 'an-organization-' || n, 6, ${NOW}, ${NOW} from numbers`,
	members: `insert into members (id, organization_id, user_id, level, joined_at, updated_at)
		select ${UUID}, n, n, 1, ${NOW}, ${NOW} from numbers`,
	keys: `insert into personal_api_keys (id, user_id, label, hash, mask_value, scopes, created_at, version)
		select ${UUID}, n, 'A key of the CI', hex(randomblob(32)), 'tnt_…abcd', '["organization:read","project:read"]', ${NOW}, '2026-11-21' from numbers`,
	runs: `insert into batch_export_runs (id, batch_export_id, status, records_completed, records_total_count, data_interval_start, data_interval_end, lease, bytes, created_at, finished_at, last_updated_at)
		select ${UUIDS_V7}, 1000, 'Completed', 140, 140, ${MS}, ${MS} + n, 1, 100000, ${MS}, ${MS}, ${MS} from numbers`,
	key_days: `insert into personal_api_key_days (key_id, day, requests, refusals, last_address)
		select ${UUID}, '2026-01-01', n, 0, '203.0.113.7' from numbers`,
	job_logs: `insert into plugin_logs (plugin_config_id, position, total, id, entries)
		select 7, unixepoch(${NOW}) * 1000 + n, 2 * n, ${UUID}, json_array(
			json_array(unixepoch(${NOW}) * 1000 + n, 'INFO', 'The job sync number ' || n || ' is done.', 'SYSTEM'),
			json_array(unixepoch(${NOW}) * 1000 + n, 'LOG', 'Imported the rows of page ' || n || ' for you.', 'CONSOLE')) from numbers`,
	run_logs: `insert into batch_export_logs (batch_export_id, position, total, run_id, id, entries)
		select 1000, unixepoch(${NOW}) * 1000 + n, n, ${UUID}, ${UUID}, json_array(json_array(unixepoch(${NOW}) * 1000 + n, 'INFO',
			'Completed: exported ' || n || ' rows of the window from ' || ${NOW} || ' to ' || ${NOW} || ' in ' || n || ' files, as events/' || ${UUID})) from numbers`,
	activity: `insert into activity_log (organization_id, project_id, user_id, activity, scope, item_id, name, changes, created_at, nonce, total, total_without_project, project_total)
		select 7, 7, n, 'updated', 'BatchExport', ${UUID}, 'Hourly events', printf('%.*c', 120, 'x'), 1767225600000 + n, random() & 67108863, 20000 + n, 5000 + n, 15000 + n from numbers`,
	events_of_the_system: `insert into activity_log (organization_id, project_id, activity, scope, item_id, is_system, name, "trigger", created_at, nonce)
		select 7, 7, 'completed', 'BatchExportRun', ${UUIDS_V7}, 1, 'Hourly events', json_object('run_id', ${UUID}, 'batch_export_id', ${UUID},
			'backfill_id', null, 'data_interval_start', ${NOW}, 'data_interval_end', ${NOW}, 'status', 'Completed', 'attempt', 1, 'rows', 140,
			'bytes', 100000, 'seconds', 1.234, 'error', null, 'next_step', null), ${MS} + n, random() & 67108863 from numbers`,
	event: `insert into events (id, team_id, uuid, event, distinct_id, properties, timestamp, _inserted_at)
		select (7 << 41) + n, 7, randomblob(16), 'page viewed', ${UUID}, printf('%.*c', 400, 'x'), ${MS}, ${MS} from numbers`,
};

/** Returns the bytes per row, by kind. */
export function sizes(db: DatabaseSync): Record<string, number> {
	const size = () =>
		Number(
			Object(
				db
					.prepare(
						"select page_count * page_size as bytes from pragma_page_count, pragma_page_size",
					)
					.get(),
			).bytes,
		);
	db.exec(
		`create temp view numbers as with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${ROWS}) select n from numbers`,
	);
	return Object.fromEntries(
		Object.entries(INSERTS).map(([name, insert]) => {
			const before = size();
			db.exec(insert);
			return [name, (size() - before) / ROWS];
		}),
	);
}
