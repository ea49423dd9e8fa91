import { and, eq, gte, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { removeKept } from "../../access/deletions.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import {
	currentOrganization,
	reachableOrganization,
	visibleProjects,
} from "../../access/visible.ts";
import { settable } from "../../db/changes.ts";
import { aliased, assertExists } from "../../db/client.ts";
import { ADMIN, insufficientLevel } from "../../db/schema/levels.ts";
import { organizationId, organizations, projects } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { doesNotExist, invalid, notFound } from "../../http/errors.ts";
import type { Key, Page } from "../../http/page.ts";
import { type Project, projectColumns } from "../../people/users/project.ts";
import { create, type filters, type update as Update } from "./shape.ts";

const select = ({ db }: Tenant) => db.select(projectColumns).from(projects);

/** Selects projects joined with the caller's memberships. */
const selectJoined = ({ db }: Tenant, join: SQL | undefined) =>
	db
		.select({
			...projectColumns,
			organization_id: aliased(members.organization_id, "project_organization_id"),
		})
		.from(projects)
		.innerJoin(members, join)
		.$dynamic();

type Row = Awaited<ReturnType<typeof selectJoined>>[number];

const toProject = ({ organization_id: _, ...row }: Row): z.infer<typeof Project> => row;

/** By organization, then newest first. */
const SORTED = {
	by: [members.organization_id, projects.id],
	names: ["project_organization_id", "project_id"],
	keys: ({ organization_id, id }: Row) => [organization_id, id],
	seek: ([organization, id]: Key[]) =>
		sql`${members.organization_id} <= ${organization} and ${projects.id} < iif(${members.organization_id} = ${organization}, ${id}, ${Number.MAX_SAFE_INTEGER})`,
};

/** Lists the caller's projects, or those of the organization in the path. */
export function list(tenant: Tenant, page: Page, { search }: z.infer<typeof filters>) {
	const within =
		tenant.kind === "organization" ? eq(members.organization_id, tenant.organization) : undefined;
	const { join, ...visible } = visibleProjects(tenant, within, search);
	return readPage(tenant, page, {
		select: () => selectJoined(tenant, join),
		...visible,
		...SORTED,
		to: toProject,
	});
}

export const find = (tenant: Tenant) =>
	tenant.find(select(tenant).where(eq(projects.id, tenant.project)));

/**
 * Creates a project in the organization of the path, otherwise of the body, otherwise in the
 * caller's current one.
 * @throws 400 if the caller isn't a member of that organization, 403 unless the caller is one of
 * its admins
 */
export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(() => tryInsert(tenant, body));

async function tryInsert(tenant: Tenant, { organization, ...body }: z.infer<typeof create>) {
	const parentId =
		tenant.kind === "organization"
			? tenant.organization
			: organization
				? organizationId(organization)
				: currentOrganization(tenant.key.user_id);
	const [[parent]] = await tenant.read(
		tenant.db
			.select({ id: organizations.id, level: members.level })
			.from(organizations)
			.innerJoin(members, eq(members.organization_id, organizations.id))
			.where(
				and(
					eq(organizations.id, parentId),
					eq(members.user_id, tenant.key.user_id),
					reachableOrganization(tenant),
				),
			),
	);
	if (!parent)
		throw organization
			? doesNotExist("organization", organization)
			: invalid("organization", "This field is required.", "required");
	if (parent.level < ADMIN) throw insufficientLevel();
	const uuid = v7();
	const isInParent = eq(projects.organization_id, parent.id);
	// It is the organization's newest project, so that no index of UUIDs is needed.
	const id = sql<number>`(select ${projects.id} from ${projects} where ${and(isInParent, eq(projects.uuid, uuid))} order by ${projects.id} desc limit 1)`;
	const isAdmin = and(
		eq(members.organization_id, parent.id),
		eq(members.user_id, tenant.key.user_id),
		gte(members.level, ADMIN),
	);
	const of = { organization: parent.id, project: id };
	return tenant.write({
		checks: [assertExists(tenant.db, members, isAdmin), assertRoom(tenant, projects, isInParent)],
		changes: [tenant.db.insert(projects).values({ ...body, uuid, organization_id: parent.id })],
		entries: [
			{ activity: "created", scope: "Project", item_id: id, name: body.name, values: body, ...of },
		],
		answer: select(tenant).where(eq(projects.id, id)),
	});
}

export async function update(tenant: Tenant, body: z.infer<typeof Update>) {
	const row = await find(tenant);
	const byId = eq(projects.id, row.id);
	const entry = { scope: "Project" as const, name: body.name ?? row.name };
	return tenant.patch(row, body, entry, () => ({
		checks: [assertExists(tenant.db, projects, byId)],
		changes: [tenant.db.update(projects).set(body).where(byId)],
		answer: select(tenant).where(byId),
	}));
}

export async function remove(tenant: Tenant) {
	const row = await find(tenant);
	const { id, name } = row;
	const values = settable(create, row);
	const removal = { type: "project" as const, item_id: id, name, project: id, values, shown: row };
	const error = () => notFound("Project not found.");
	const rows = { table: projects, where: eq(projects.id, id) };
	await retry(() => removeKept(tenant, removal, rows), { retries: 0, error });
}
