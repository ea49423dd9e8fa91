import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { wrongCounters } from "../support/counters.ts";

const AT = "'2026-01-01T00:00:00.000Z'";

/** Rows as they were after the first migration. */
const ROWS = [
	`insert into organizations (id, uuid, name, slug, plugins_access_level, created_at, updated_at) values
		(1, 'o1', 'A', 'a', 9, ${AT}, ${AT}), (2, 'o2', 'B', 'b', 9, ${AT}, ${AT})`,
	`insert into users (id, uuid, distinct_id, first_name, email, is_active, created_at) values
		(1, 'u1', 'd1', 'Özil', 'a@example.com', 1, ${AT}), (2, 'u2', 'd2', '', 'b@example.com', 0, ${AT})`,
	`insert into members (id, organization_id, user_id, level, joined_at, updated_at) values
		('m1', 1, 1, 15, ${AT}, ${AT}), ('m2', 1, 2, 1, ${AT}, ${AT}), ('m3', 2, 1, 8, ${AT}, ${AT})`,
	`insert into projects (id, uuid, organization_id, name, access_control, created_at) values
		(1, 'p1', 1, 'P', 0, ${AT}), (2, 'p2', 1, 'Q', 1, ${AT}), (3, 'p3', 2, 'R', 0, ${AT})`,
	`insert into project_members (id, project_id, organization_id, user_id, level, joined_at, updated_at) values
		('x1', 2, 1, 1, 1, ${AT}, ${AT}), ('x2', 2, 1, 2, 1, ${AT}, ${AT})`,
	`insert into personal_api_keys (id, user_id, label, hash, mask_value, created_at) values
		('k1', 1, 'K', 'h', 'x', ${AT})`,
	`insert into invites (id, organization_id, target_email, created_by, emailing_attempt_made, token_hash, created_at, updated_at)
		values ('i1', 1, 'c@example.com', 1, 0, 't', ${AT}, ${AT})`,
	`insert into domains (id, organization_id, domain, verification_challenge) values ('d1', 2, 'example.com', 'x')`,
	`insert into batch_exports (id, uuid, organization_id, project_id, name, destination, interval, created_at, last_updated_at, deleted, next_start_at, next_end_at, due_at, runs, backfills)
		values (1, 'e1', 1, 1, 'E', '{}', 'hour', ${AT}, ${AT}, 0, 'z', 'z', 'z', 1, 1), (2, 'e2', 1, 2, 'E', '{}', 'hour', ${AT}, ${AT}, 0, 'z', 'z', 'z', 1, 0),
		(3, 'e3', 1, 1, 'E', '{}', 'hour', ${AT}, ${AT}, 1, 'z', 'z', 'z', 0, 0)`,
	`insert into batch_export_backfills (id, batch_export_id, project_id, start_at, next_start_at, end_at, interval, total_runs, created_at, last_updated_at)
		values ('b1', 1, 1, ${AT}, ${AT}, ${AT}, 'hour', 1, ${AT}, ${AT})`,
	`insert into batch_export_runs (id, batch_export_id, status, data_interval_start, data_interval_end, created_at, last_updated_at) values
		('r1', 1, 'Failed', 0, 1, 1, 1), ('r2', 2, 'Starting', 0, 1, 1, 1)`,
	`insert into batch_export_logs (batch_export_id, position, total, run_id, id, entries) values
		(1, 1, 1, 'r1', 'l1', '[[1,"ERROR","x"]]'), (1, 2, 3, null, 'l2', '[[2,"INFO","x"],[2,"INFO","y"]]')`,
	"insert into batch_export_days (batch_export_id, day) values (1, '2026-01-01')",
	`insert into plugins (id, organization_id, plugin_type, capabilities, is_global, created_at, updated_at) values
		(1, 1, 'source', '{"methods":["onEvent"]}', 1, ${AT}, ${AT}), (2, 1, 'source', '{}', 0, ${AT}, ${AT})`,
	`insert into plugin_configs (id, uuid, project_id, organization_id, plugin_id, enabled, "order", deleted, created_at, updated_at) values
		(1, 'c1', 1, 1, 1, 1, 1, 0, ${AT}, ${AT}), (2, 'c2', 3, 2, 1, 1, 1, 0, ${AT}, ${AT}), (3, 'c3', 1, 1, 2, 1, 1, 1, ${AT}, ${AT})`,
	`insert into plugin_logs (plugin_config_id, position, total, id, entries) values (1, 1, 1, 'g1', '[[1,"LOG","x","SYSTEM"]]')`,
	`insert into activity_log (organization_id, project_id, user_id, activity, scope, item_id, created_at, total, total_without_project, project_total) values
		(1, null, 1, 'created', 'Plugin', '1', 0, 1, 1, null), (1, 1, 1, 'created', 'Project', '1', 0, 2, 1, 1)`,
	`with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 250)
		insert into activity_log (organization_id, user_id, activity, scope, item_id, created_at, total, total_without_project)
		select 1, 1, 'updated', 'Plugin', '2', 0, 2 + i, 1 + i from numbers`,
];

test("migrations keep the rows of a database that was filled after the first one, with right counters", async () => {
	await reset();
	await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, 1));
	await env.DB.batch(ROWS.map((row) => env.DB.prepare(row)));
	await applyD1Migrations(env.DB, env.MIGRATIONS);
	expect(await wrongCounters()).toEqual([]);
	const { results } = await env.DB.prepare(
		"select active_members, invites from organizations order by id",
	).all();
	expect(results).toEqual([
		{ active_members: 1, invites: 1 },
		{ active_members: 1, invites: 0 },
	]);
});
