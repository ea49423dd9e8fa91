import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { ADMIN } from "../auth/levels.ts";
import { changes } from "../db/changes.ts";
import { members, organizations, projects } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { reachableOrganization, visibleProject } from "../db/visible.ts";
import {
	forbidden,
	found,
	insufficient,
	invalid,
	unknown,
} from "../http/errors.ts";
import type { Page } from "../http/page.ts";
import { type create, projectColumns, type update as Update } from "./shape.ts";

const select = ({ db }: Tenant) => db.select(projectColumns).from(projects);

/** Those the caller can see, across organizations, newest first. */
export const list = (tenant: Tenant, page: Page) =>
	tenant.page(page, select(tenant).$dynamic(), {
		where: visibleProject(tenant),
		by: [projects.id],
		keys: ({ id }) => [id],
	});

export async function find(tenant: Tenant) {
	const [[row]] = await tenant.read(
		select(tenant).where(eq(projects.id, tenant.project)),
	);
	return row;
}

/** In the organization that the body names, else in the caller's current one; for its admins. */
export async function insert(
	tenant: Tenant,
	{ organization, ...body }: z.infer<typeof create>,
) {
	const [[home]] = await tenant.read(
		tenant.db
			.select({ id: organizations.id, level: members.level })
			.from(organizations)
			.innerJoin(members, eq(members.organization_id, organizations.id))
			.where(
				and(
					eq(
						organizations.id,
						organization?.toLowerCase() ?? tenant.currentOrganization,
					),
					eq(members.user_id, tenant.key.user_id),
					reachableOrganization(tenant),
				),
			),
	);
	if (tenant.caller.key.projects.length > 0)
		throw forbidden("API keys with scoped projects can't create projects.");
	if (!home)
		throw organization
			? unknown("organization", organization)
			: invalid("organization", "This field is required.", "required");
	if (home.level < ADMIN) throw insufficient();
	const uuid = v7();
	const made = eq(projects.uuid, uuid);
	const id = sql<number>`(select ${projects.id} from ${projects} where ${made})`;
	const [row] = await tenant.write(
		{
			activity: "created",
			scope: "Project",
			item_id: id,
			name: body.name,
			organization: sql`${home.id}`,
			project: id,
		},
		tenant.db
			.insert(projects)
			.values({ ...body, uuid, organization_id: home.id }),
		select(tenant).where(made),
	);
	return found(row);
}

export async function update(tenant: Tenant, body: z.infer<typeof Update>) {
	const row = found(await find(tenant));
	const changed = changes(row, body);
	if (changed.length === 0) return row;
	const [after] = await tenant.write(
		{
			activity: "updated",
			scope: "Project",
			item_id: row.id,
			name: body.name ?? row.name,
			changes: changed,
		},
		tenant.db.update(projects).set(body).where(eq(projects.id, row.id)),
		select(tenant).where(eq(projects.id, row.id)),
	);
	return found(after);
}

export async function remove(tenant: Tenant) {
	const { id, name, organization } = found(await find(tenant));
	await tenant.write(
		{
			activity: "deleted",
			scope: "Project",
			item_id: id,
			name,
			organization: sql`${organization}`,
			project: sql`${id}`,
		},
		tenant.db.delete(projects).where(eq(projects.id, id)),
	);
}
