import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import type { Database } from "../db/client.ts";
import { OWNER } from "../db/levels.ts";
import { members } from "../db/schema/members.ts";
import { organizations } from "../db/schema/organizations.ts";
import { projects } from "../db/schema/projects.ts";
import { users } from "../db/schema/users.ts";
import { found } from "../http/errors.ts";
import type { Page } from "../http/page.ts";
import { cacheList, cacheStatement } from "../tenant/cached_statements.ts";
import type { TenantSql } from "../tenant/sql.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { visibleOrganizations, visibleProject } from "../tenant/visible.ts";
import type { create, Team, update as Update } from "./shape.ts";
import { candidates } from "./slug.ts";

const {
	active_members,
	invites: _invites,
	domains: _domains,
	projects: _projects,
	open_projects: _openProjects,
	batch_exports: _batchExports,
	open_batch_exports: _openBatchExports,
	...columns
} = getTableColumns(organizations);

/** Selects the caller's organizations, with the projects that the caller can see. */
const select = (tenant: TenantSql) =>
	tenant.db
		.select({
			...columns,
			membership_level: members.level,
			teams: sql`(select json_group_array(json_object(
          'id', ${projects.id}, 'uuid', ${projects.uuid}, 'organization', ${projects.organization_id}, 'name', ${projects.name},
          'timezone', ${projects.timezone}, 'access_control', json(iif(${projects.access_control}, 'true', 'false'))) order by ${projects.id})
        from ${projects} where ${projects.organization_id} = ${organizations.id} and ${visibleProject(tenant)})`
				.mapWith((json): Team[] => JSON.parse(json))
				.as("teams"),
			member_count: sql<string>`cast(${active_members} as text)`.as("member_count"),
		})
		.from(organizations)
		.innerJoin(
			members,
			and(eq(members.organization_id, organizations.id), eq(members.user_id, tenant.key.user_id)),
		);

const newestFirst = cacheList(
	(tenant) => select(tenant).$dynamic(),
	(tenant) => ({
		...visibleOrganizations(tenant),
		by: [members.organization_id],
		keys: ({ id }) => [id],
	}),
);

/** Newest first. Ordered by a column of `members`, so that one index both filters and sorts. */
export const list = (tenant: Tenant, page: Page) => tenant.cachedPage(page, newestFirst);

const itself = cacheStatement([], (tenant) =>
	select(tenant).where(eq(organizations.id, tenant.organization)).$dynamic(),
);

export async function find(tenant: Tenant) {
	const [[row]] = await tenant.read(tenant.cached(itself, {}));
	return found(row);
}

type New = z.infer<typeof create> & {
	id: string;
	plugins_access_level: number;
};

/**
 * Statements that create an organization with its owner and a first project. Both become the
 * owner's current ones.
 * @param user_id the owner; may be SQL, for a user who is created earlier in the batch
 */
export function newOrganization(db: Database, user_id: number | SQL<number>, row: New) {
	const slug = sql`(select value from json_each(${JSON.stringify(candidates(row.name))})
    where not exists (select 1 from ${organizations} where ${organizations.slug} = value) order by key limit 1)`;
	return [
		db.insert(organizations).values({ ...row, slug }),
		db.insert(members).values({ organization_id: row.id, user_id, level: OWNER }),
		db.insert(projects).values({ organization_id: row.id, name: "Default project" }),
		db
			.update(users)
			.set({
				current_organization_id: row.id,
				current_project_id: sql`(select ${projects.id} from ${projects} where ${projects.organization_id} = ${row.id})`,
			})
			.where(eq(users.id, user_id)),
	] as const;
}

export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	// Runs only the guard.
	await tenant.read();
	const id = v7();
	const plugins_access_level = Number(tenant.env.DEFAULT_PLUGINS_ACCESS_LEVEL);
	const [insertOrganization, ...rest] = newOrganization(tenant.db, tenant.key.user_id, {
		...body,
		id,
		plugins_access_level,
	});
	const [row] = await tenant.write({
		entry: {
			activity: "created",
			scope: "Organization",
			item_id: id,
			name: body.name,
			organization: id,
		},
		change: insertOrganization,
		after: () => rest,
		answer: select(tenant).where(eq(organizations.id, id)),
	});
	return found(row);
}

export async function update(tenant: Tenant, body: z.infer<typeof Update>) {
	const row = await find(tenant);
	const byId = eq(organizations.id, row.id);
	const entry = { scope: "Organization" as const, name: body.name ?? row.name };
	return tenant.patch(row, body, entry, () => ({
		change: tenant.db.update(organizations).set(body).where(byId),
		answer: select(tenant).where(byId),
	}));
}

export async function remove(tenant: Tenant) {
	const { id, name } = await find(tenant);
	const removed = await tenant.remove(
		{
			scope: "Organization",
			item_id: id,
			name,
			organization: id,
		},
		tenant.db
			.delete(organizations)
			.where(eq(organizations.id, id))
			.returning({ id: organizations.id }),
	);
	found(removed);
}
