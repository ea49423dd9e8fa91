/** Measures the size of rows in the project's tables, including index entries. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

const MIGRATIONS = `${import.meta.dirname}/../migrations`;

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
const NOW = "'2026-01-01T00:00:00.000Z'";

/** Statements that insert typical rows. `n` is the number of the row. */
const INSERTS: Record<string, string> = {
	organization: `insert into organizations (id, name, slug, plugins_access_level, created_at, updated_at)
		select ${UUID}, 'An organization ' || n, 'an-organization-' || n, 6, ${NOW}, ${NOW} from numbers`,
	members: `insert into members (id, organization_id, user_id, level, joined_at, updated_at)
		select ${UUID}, ${UUID}, n, 1, ${NOW}, ${NOW} from numbers`,
	keys: `insert into personal_api_keys (id, user_id, label, hash, mask_value, scopes, created_at, version)
		select ${UUID}, n, 'A key of the CI', hex(randomblob(32)), 'tnt_…abcd', '["organization:read","project:read"]', ${NOW}, '2026-11-21' from numbers`,
	runs: `insert into batch_export_runs (id, batch_export_id, status, data_interval_start, data_interval_end, fingerprint, created_at, started_at, finished_at, last_updated_at)
		select ${UUID}, '0b1fee40-0000-7000-8000-000000000000', 'Completed', ${NOW}, 'T' || n, hex(randomblob(16)), ${NOW}, ${NOW}, ${NOW}, ${NOW} from numbers`,
	key_days: `insert into personal_api_key_days (key_id, day, requests, refusals, last_address)
		select ${UUID}, '2026-01-01', n, 0, '203.0.113.7' from numbers`,
	jobs: `insert into plugins (id, organization_id, plugin_type, capabilities, created_at, updated_at)
			values (7, ${UUID}, 'source', '{}', ${NOW}, ${NOW});
		insert into plugin_configs (id, uuid, project_id, organization_id, plugin_id, "order", created_at, updated_at)
			values (7, ${UUID}, 7, ${UUID}, 7, 1, ${NOW}, ${NOW});
		insert into plugin_jobs (plugin_config_id, kind, name, status, payload, created_at, started_at, finished_at)
		select 7, 'job', 'sync', 'done', '{}', ${NOW}, ${NOW}, ${NOW} from numbers`,
	job_log_entries: `insert into plugin_log_entries (id, team_id, plugin_id, plugin_config_id, timestamp, source, type, message, instance_id)
		select ${UUID}, 7, 7, 7, ${NOW}, 'SYSTEM', 'INFO', 'The job sync number ' || n || ' is done.', ${UUID} from numbers`,
	run_log_entries: `insert into batch_export_log_entries (id, batch_export_id, run_id, timestamp, level, message)
		select ${UUID}, ${UUID}, ${UUID}, ${NOW}, 'INFO', 'Completed: exported ' || n || ' rows of the window from ' || ${NOW} || ' to ' || ${NOW} || ' in ' || n || ' files, as events/' || ${UUID} from numbers`,
	activity: `insert into activity_log (organization_id, project_id, user_id, activity, scope, item_id, name, changes, created_at, nonce, total, total_without_project, project_total)
		select ${UUID}, 7, n, 'updated', 'BatchExport', ${UUID}, 'Hourly events', printf('%.*c', 120, 'x'), 1767225600000 + n, random() & 67108863, 20000 + n, 5000 + n, 15000 + n from numbers`,
	event: `insert into events (team_id, uuid, event, distinct_id, person_id, properties, timestamp, created_at, _inserted_at)
		select 7, ${UUID}, 'page viewed', ${UUID}, ${UUID}, printf('%.*c', 400, 'x'), ${NOW}, ${NOW}, ${NOW} from numbers`,
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
