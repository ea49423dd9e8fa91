import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { insertWhere } from "../db/client.ts";
import { ADMIN, insufficientLevel } from "../db/levels.ts";
import { members, organizations, projects } from "../db/schema.ts";
import { doesNotExist, found, invalid, notFound } from "../http/errors.ts";
import type { Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { reachableOrganization, visibleToMember } from "../tenant/visible.ts";
import { type create, projectColumns, type update as Update } from "./shape.ts";

const select = ({ db }: Tenant) => db.select(projectColumns).from(projects);

/** Those the caller can see, of the organization in the path if there is one: by organization, the newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	tenant.page(
		page,
		select(tenant)
			.innerJoin(members, eq(members.organization_id, projects.organization_id))
			.$dynamic(),
		{
			where: and(
				visibleToMember(tenant),
				tenant.kind === "organization"
					? eq(members.organization_id, tenant.organization)
					: undefined,
			),
			by: [members.organization_id, projects.id],
			keys: ({ organization, id }) => [organization, id],
			seek: ([home, id]) =>
				sql`${members.organization_id} <= ${home} and ${projects.id} < iif(${members.organization_id} = ${home}, ${id}, ${Number.MAX_SAFE_INTEGER})`,
		},
	);

export async function find(tenant: Tenant) {
	const [[row]] = await tenant.read(select(tenant).where(eq(projects.id, tenant.project)));
	return row;
}

/** In the organization of the path, else of the body, else in the caller's current one; for its admins. */
export async function insert(tenant: Tenant, { organization, ...body }: z.infer<typeof create>) {
	const wanted =
		tenant.kind === "organization"
			? tenant.organization
			: (organization ?? tenant.currentOrganization);
	const [[home]] = await tenant.read(
		tenant.db
			.select({ id: organizations.id, level: members.level })
			.from(organizations)
			.innerJoin(members, eq(members.organization_id, organizations.id))
			.where(
				and(
					eq(organizations.id, wanted),
					eq(members.user_id, tenant.key.user_id),
					reachableOrganization(tenant),
				),
			),
	);
	if (!home)
		throw organization
			? doesNotExist("organization", organization)
			: invalid("organization", "This field is required.", "required");
	if (home.level < ADMIN) throw insufficientLevel();
	const uuid = v7();
	const made = eq(projects.uuid, uuid);
	const id = sql<number>`(select ${projects.id} from ${projects} where ${made})`;
	const [row] = await tenant.write({
		entry: {
			activity: "created",
			scope: "Project",
			item_id: id,
			name: body.name,
			organization: sql`${home.id}`,
			project: id,
		},
		change: insertWhere(
			tenant.db,
			projects,
			{ ...body, uuid, organization_id: home.id },
			// Still, since the home was read.
			sql`exists (select 1 from ${members} where ${members.organization_id} = ${home.id} and ${members.user_id} = ${tenant.key.user_id} and ${members.level} >= ${ADMIN})`,
		),
		answer: select(tenant).where(made),
	});
	if (!row) throw insufficientLevel();
	return row;
}

export async function update(tenant: Tenant, body: z.infer<typeof Update>) {
	const row = found(await find(tenant));
	const one = eq(projects.id, row.id);
	const told = { scope: "Project", name: body.name ?? row.name };
	return tenant.patch(row, body, told, () => ({
		change: tenant.db.update(projects).set(body).where(one),
		answer: select(tenant).where(one),
	}));
}

export async function remove(tenant: Tenant) {
	const { id, name, organization } = found(await find(tenant));
	const removed = await tenant.remove(
		{
			scope: "Project",
			item_id: id,
			name,
			organization: sql`${organization}`,
			project: sql`${id}`,
		},
		tenant.db.delete(projects).where(eq(projects.id, id)).returning({ id: projects.id }),
	);
	if (!removed) throw notFound("Project not found.");
}
