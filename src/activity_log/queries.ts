import { and, type Column, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { largeRows, sizeOf } from "../db/large.ts";
import { countWhere, paged } from "../db/list.ts";
import { iso } from "../db/now.ts";
import { activityCounts, activityLog } from "../db/schema/activity_log.ts";
import { auditStreams } from "../db/schema/audit_streams.ts";
import { projects } from "../db/schema/projects.ts";
import { users } from "../db/schema/users.ts";
import { DAY_MS } from "../http/durations.ts";
import type { Key, Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { isAdmin, visibleTo } from "../tenant/visible.ts";
import { type Filters, indexedFilter, matchesFilters } from "./filters.ts";
import { complete, grouped, smallChanges } from "./large.ts";
import { entryColumns } from "./shape.ts";

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

/** Lists entries, newest first: those of the project if the path names one, otherwise those of the organization. */
export const list = (tenant: Tenant, page: Page, given: Filters) =>
	tenant.page(page, () => select(tenant).$dynamic(), selection(tenant, given));

/** The conditions and the order of `list`. */
function selection(tenant: Tenant, given: Filters) {
	const ofTenant = <T extends typeof activityLog | typeof activityCounts>(table: T) =>
		tenant.kind === "project"
			? eq(table.project_id, tenant.project)
			: and(
					eq(table.organization_id, tenant.organization),
					visibleEntries(tenant, table.project_id),
				);
	const { created_at, id } = activityLog;
	const indexed = indexedFilter(given);
	const where = and(
		// The indexes for filters begin with the organization.
		indexed && tenant.kind === "project"
			? sql`${eq(activityLog.organization_id, tenant.organization)} and +${ofTenant(activityLog)}`
			: ofTenant(activityLog),
		matchesFilters(given),
	);
	const isFiltered = indexed || given.after || given.before;
	return {
		where,
		by: [created_at, id],
		keys: ({ created_at, id }: { created_at: string; id: string }): Key[] => [created_at, id],
		total: isFiltered
			? countWhere(activityLog, where)
			: sql`(select coalesce(sum(${activityCounts.entries}), 0) from ${activityCounts} where ${ofTenant(activityCounts)})`,
		large: largeRows(sizeOf(activityLog.changes), activityLog),
	};
}

/** How many entries a download reads at a time. */
const DOWNLOAD_LIMIT = 1000;

/**
 * Reads all entries of `list`, in groups. It doesn't return entries that are written meanwhile, because they are newer than the
 * first one.
 */
export async function* readAll(tenant: Tenant, given: Filters) {
	// Groups are limited by `grouped`.
	const { large: _, ...chosen } = selection(tenant, given);
	let keys: Key[] | undefined;
	do {
		const after = keys && { count: 0, keys };
		const page = { limit: DOWNLOAD_LIMIT - 1, offset: 0, after };
		const [statement] = paged(tenant.db, page, () => selectSmall(tenant).$dynamic(), chosen);
		const [rows] = await tenant.read(statement);
		for (const group of grouped(rows)) yield await complete(tenant, group);
		const last = rows.length === DOWNLOAD_LIMIT ? rows.at(-1) : undefined;
		keys = last && chosen.keys(last);
	} while (keys);
}

const {
	detail: { changes: _, ...detailColumns },
	...otherColumns
} = entryColumns;

/** Selects entries without their large changes. */
const selectSmall = ({ db }: Tenant) =>
	db
		.select({
			...otherColumns,
			detail: detailColumns,
			changes: smallChanges(activityLog.changes).mapWith(activityLog.changes),
			size: sql<number>`octet_length(${activityLog.changes})`,
		})
		.from(activityLog)
		.leftJoin(users, eq(users.id, activityLog.user_id));

const RETENTION_MS = 365 * DAY_MS;

/** Entries that an enabled audit stream has not delivered are kept for longer (docs/audit.md#what-is-kept). */
const UNDELIVERED_RETENTION_MS = 395 * DAY_MS;

/**
 * Deletes entries that are older than the retention period, at most ten thousand. Audit streams count entries that were deleted
 * before their delivery.
 */
export async function deleteExpired({ DB }: Env) {
	const db = drizzle(DB);
	const expired = sql`select e.position, e.organization_id from activity_log as e
		where e.created_at < ${iso(Date.now() - RETENTION_MS)} and (e.created_at < ${iso(Date.now() - UNDELIVERED_RETENTION_MS)}
			or not exists (select 1 from audit_streams as s
				where s.organization_id = e.organization_id and s.enabled and s.position < e.position))
		order by e.created_at, e.position limit 10000`;
	const lost = sql`(select s.id, count(*) as entries from (${expired}) as e
		join audit_streams as s on s.organization_id = e.organization_id and s.position < e.position
		group by s.id) as lost`;
	await db.batch([
		db
			.update(auditStreams)
			.set({ missing_events: sql`${auditStreams.missing_events} + lost.entries` })
			.from(lost)
			.where(sql`${auditStreams.id} = lost.id`),
		db
			.delete(activityLog)
			.where(sql`${activityLog.position} in (select position from (${expired}))`),
	]);
}
