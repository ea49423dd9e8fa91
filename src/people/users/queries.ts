import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import {
	currentOrganization,
	currentProject,
	isCaller,
	reachableOrganization,
	visibleProject,
} from "../../access/visible.ts";
import { changes } from "../../db/changes.ts";
import {
	organizationId,
	organizations,
	organizationUuid,
	projects,
} from "../../db/schema/organizations.ts";
import { members, users } from "../../db/schema/people.ts";
import { doesNotExist, forbidden, orNotFound } from "../../http/errors.ts";
import { projectColumns } from "./project.ts";
import { type Me, type Membership, type update as Update, userColumns } from "./shape.ts";

/** Selects the caller if `uuid` is `@me` or the caller's own uuid, otherwise no row. */
const select = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			...userColumns,
			is_service_account: users.is_service_account,
			organization_id: organizationUuid(currentOrganization(tenant.key.user_id)).as(
				"current_organization",
			),
			project: projectColumns,
			organizations: sql`(select json_group_array(json_object(
          'id', ${organizations.uuid}, 'name', ${organizations.name}, 'slug', ${organizations.slug},
          'membership_level', ${members.level}) order by ${members.id} desc)
        from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
        where ${members.user_id} = ${users.id} and ${reachableOrganization(tenant)})`
				.mapWith((json): Membership[] => JSON.parse(json))
				.as("organizations"),
		})
		.from(users)
		.leftJoin(
			projects,
			and(eq(projects.id, currentProject(tenant.key.user_id)), visibleProject(tenant)),
		)
		.where(isCaller(tenant, uuid));

type Row = Awaited<ReturnType<typeof select>>[number];

function toTeam(project: Row["project"]) {
	if (project === null) return null;
	const { access_control: _, created_at: __, ...team } = project;
	return team;
}

const toMe = ({ organization_id, ...row }: Row): z.infer<typeof Me> => ({
	...row,
	team: toTeam(row.project),
	organization: row.organizations.find(({ id }) => id === organization_id) ?? null,
});

export const find = async (tenant: Tenant, uuid: string) =>
	toMe(await tenant.find(select(tenant, uuid)));

/**
 * Changes the caller's names and current organization and project. Setting a project also sets its
 * organization. Setting another organization without a project resets the current project.
 * @throws 403 for a service account, 400 if the caller can't see the organization or the project,
 * 404 if `uuid` isn't the caller's
 */
export async function update(
	tenant: Tenant,
	uuid: string,
	{ organization, project, ...names }: z.infer<typeof Update>,
) {
	const selectProject = tenant.db
		.select({
			id: projects.id,
			organization_id: projects.organization_id,
			organization: organizationUuid(projects.organization_id).as("project_organization"),
		})
		.from(projects);
	const [[row], [chosen]] = await tenant.read(
		select(tenant, uuid),
		selectProject.where(and(eq(projects.id, project ?? 0), visibleProject(tenant))),
	);
	if (tenant.caller.is_service_account)
		throw forbidden("Only an admin of its organization can change a service account.");
	const me = toMe(orNotFound(row));
	const leaves = organization && organization !== me.organization?.id;
	if (organization && !me.organizations.some(({ id }) => id === organization))
		throw doesNotExist("organization", organization);
	if (project !== undefined && (!chosen || (organization && organization !== chosen.organization)))
		throw doesNotExist("project", project);
	const current = {
		organization: organization ?? chosen?.organization,
		project: project ?? (leaves ? null : undefined),
	};
	const changed = changes(
		{ ...me, organization: me.organization?.id, project: me.project?.id },
		{ ...names, ...current },
		// Masked, because the log of one organization must not show a person's other organizations.
		["organization", "project"],
	);
	if (changed.length === 0) return me;
	const organization_id = organization ? organizationId(organization) : chosen?.organization_id;
	const body = {
		...names,
		current_organization_id: organization_id,
		current_project_id: current.project,
	};
	const after = await tenant.write({
		changes: [tenant.db.update(users).set(body).where(eq(users.id, tenant.key.user_id))],
		entries: [
			{
				activity: "updated",
				scope: "User",
				item_id: me.uuid,
				name: me.email,
				changes: changed,
				organization: me.organization && organizationId(me.organization.id),
			},
		],
		answer: select(tenant, "@me"),
	});
	return toMe(after);
}
