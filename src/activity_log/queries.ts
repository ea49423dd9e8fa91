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

/** The project of an entry, or of a count, is one that the caller may know of, or none at all. */
function visibleEntries(tenant: Tenant, project_id: Column) {
	const mine = sql`select ${members.level} from ${members}
    where ${members.organization_id} = ${tenant.organization} and ${members.user_id} = ${tenant.key.user_id}`;
	const open = sql`select ${projects.id} from ${projects}
    where ${projects.organization_id} = ${tenant.organization} and ${visibleTo(tenant.key.user_id)}`;
	return sql`(coalesce(${project_id}, 0) = 0 or ${project_id} in (${open}) or (${mine}) >= ${ADMIN})`;
}

/** Newest first: the project's entries on a path below one, else the organization's. */
export function list(
	tenant: Tenant,
	page: Page,
	{ user, after, before, ...same }: z.infer<typeof filters>,
) {
	const here = <T extends typeof activityLog | typeof activityCounts>(table: T) =>
		tenant.kind === "project"
			? eq(table.project_id, tenant.project)
			: and(
					eq(table.organization_id, tenant.organization),
					visibleEntries(tenant, table.project_id),
				);
	const filter = and(
		same.scope ? eq(activityLog.scope, same.scope) : undefined,
		same.item_id ? eq(activityLog.item_id, same.item_id) : undefined,
		same.activity ? eq(activityLog.activity, same.activity) : undefined,
		// With the + SQLite doesn't begin with the user, of whom it would read more rows than of nobody.
		user ? sql`+${activityLog.user_id} = ${userWith(users.uuid, user)}` : undefined,
		after ? gt(activityLog.created_at, after) : undefined,
		before ? lt(activityLog.created_at, before) : undefined,
	);
	return tenant.page(page, select(tenant).$dynamic(), {
		where: and(here(activityLog), filter),
		by: [activityLog.created_at, activityLog.id],
		keys: ({ created_at, id }) => [created_at, id],
		...(filter
			? {}
			: {
					total: sql`(select coalesce(sum(${activityCounts.entries}), 0) from ${activityCounts} where ${here(activityCounts)})`,
				}),
	});
}

const RETENTION_MS = 365 * 86_400_000;

/** Removes what is older than it is kept. */
export const deleteExpired = async ({ DB }: Env) =>
	deleteOlderThan(
		drizzle(DB),
		activityLog,
		activityLog.id,
		activityLog.created_at,
		new Date(Date.now() - RETENTION_MS).toISOString(),
	);
