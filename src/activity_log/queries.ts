import { and, type Column, eq, gt, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type * as z from "zod";
import { deleteOlderThan } from "../db/client.ts";
import { ADMIN } from "../db/levels.ts";
import { activityCounts, activityLog, members, projects, users } from "../db/schema.ts";
import type { Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { userWith, visibleTo } from "../tenant/visible.ts";
import { entryColumns, type filters } from "./shape.ts";

const select = ({ db }: Tenant) =>
	db.select(entryColumns).from(activityLog).leftJoin(users, eq(users.id, activityLog.user_id));

/**
 * WHERE clause: the entry (or count) belongs to a project that the caller may see, or to no
 * project.
 */
function visibleEntries(tenant: Tenant, project_id: Column) {
	const callerLevel = sql`select ${members.level} from ${members}
    where ${members.organization_id} = ${tenant.organization} and ${members.user_id} = ${tenant.key.user_id}`;
	const visibleProjects = sql`select ${projects.id} from ${projects}
    where ${projects.organization_id} = ${tenant.organization} and ${visibleTo(tenant.key.user_id)}`;
	return sql`(coalesce(${project_id}, 0) = 0 or ${project_id} in (${visibleProjects}) or (${callerLevel}) >= ${ADMIN})`;
}

/**
 * Newest first: the entries of the path's project if it names one, else those of the organization.
 */
export function list(
	tenant: Tenant,
	page: Page,
	{ user, after, before, ...equal }: z.infer<typeof filters>,
) {
	const ofTenant = <T extends typeof activityLog | typeof activityCounts>(table: T) =>
		tenant.kind === "project"
			? eq(table.project_id, tenant.project)
			: and(
					eq(table.organization_id, tenant.organization),
					visibleEntries(tenant, table.project_id),
				);
	// Literally, because the indexes of these pages are partial.
	const byCallers = sql`not ${activityLog.is_system}`;
	const filter = and(
		equal.scope ? eq(activityLog.scope, equal.scope) : undefined,
		equal.item_id ? eq(activityLog.item_id, equal.item_id) : undefined,
		equal.activity ? eq(activityLog.activity, equal.activity) : undefined,
		// The + keeps SQLite from using the index on users, whose reads would reveal if a user exists.
		user ? sql`+${activityLog.user_id} = ${userWith(users.uuid, user)}` : undefined,
		after ? gt(activityLog.created_at, after) : undefined,
		before ? lt(activityLog.created_at, before) : undefined,
	);
	return tenant.page(page, select(tenant).$dynamic(), {
		where: and(ofTenant(activityLog), byCallers, filter),
		by: [activityLog.created_at, activityLog.id],
		keys: ({ created_at, id }) => [created_at, id],
		...(filter
			? {}
			: {
					total: sql`(select coalesce(sum(${activityCounts.entries}), 0) from ${activityCounts} where ${ofTenant(activityCounts)})`,
				}),
	});
}

const RETENTION_MS = 365 * 86_400_000;

/** Deletes entries that are older than the retention period, ten thousand at most. */
export const deleteExpired = async ({ DB }: Env) =>
	deleteOlderThan(
		drizzle(DB),
		activityLog,
		activityLog.id,
		activityLog.created_at,
		new Date(Date.now() - RETENTION_MS).toISOString(),
	);
