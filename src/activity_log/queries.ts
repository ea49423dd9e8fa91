import { and, type Column, eq, gt, is, lt, SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type * as z from "zod";
import { deleteOlderThan } from "../db/client.ts";
import { countWhere } from "../db/list.ts";
import { activityCounts, activityLog, projects, users } from "../db/schema.ts";
import type { Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { isAdmin, userWith, visibleTo } from "../tenant/visible.ts";
import { entryColumns, type filters } from "./shape.ts";

const select = ({ db }: Tenant) =>
	db.select(entryColumns).from(activityLog).leftJoin(users, eq(users.id, activityLog.user_id));

/**
 * WHERE clause: the entry (or count) belongs to a project that the caller may see, or to no
 * project.
 */
function visibleEntries(tenant: Tenant, project_id: Column) {
	const ofVisibleProject = sql`exists (select 1 from ${projects}
    where ${projects.id} = ${project_id} and ${projects.organization_id} = ${tenant.organization} and ${visibleTo(tenant.key.user_id)})`;
	return sql`(coalesce(${project_id}, 0) = 0 or ${isAdmin(tenant)} or ${ofVisibleProject})`;
}

/**
 * The filters for equal values, as a condition. Of several, the one with the fewest entries uses its index: an item's, else
 * a user's. The + keeps the others from using theirs.
 */
function indexedFilter({ item_id, user, activity, scope }: z.infer<typeof filters>) {
	const [first, ...others] = [
		item_id && eq(activityLog.item_id, item_id),
		user && eq(activityLog.user_id, userWith(users.uuid, user)),
		activity && eq(activityLog.activity, activity),
		scope && eq(activityLog.scope, scope),
	].filter((condition) => is(condition, SQL));
	const isType = activity && scope && !item_id && !user;
	return first && and(first, ...others.map((other) => (isType ? other : sql`+${other}`)));
}

/**
 * The condition for entries of callers. Literally, because the indexes of these pages are partial; but for the one of scope
 * and activity together, which is that of the feed.
 */
const byCallers = ({ item_id, user, activity, scope }: z.infer<typeof filters>) =>
	activity && scope && !item_id && !user
		? eq(activityLog.is_system, false)
		: sql`not ${activityLog.is_system}`;

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
	const { created_at, id } = activityLog;
	const indexed = indexedFilter({ user, ...equal });
	const where = and(
		// The indexes of filters are the organization's.
		indexed && tenant.kind === "project"
			? sql`${eq(activityLog.organization_id, tenant.organization)} and +${ofTenant(activityLog)}`
			: ofTenant(activityLog),
		byCallers({ user, ...equal }),
		indexed,
		after ? gt(created_at, after) : undefined,
		before ? lt(created_at, before) : undefined,
	);
	const isFiltered = indexed || after || before;
	return tenant.page(page, () => select(tenant).$dynamic(), {
		where,
		by: [created_at, id],
		keys: ({ created_at, id }) => [created_at, id],
		total: isFiltered
			? countWhere(activityLog, where)
			: sql`(select coalesce(sum(${activityCounts.entries}), 0) from ${activityCounts} where ${ofTenant(activityCounts)})`,
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
