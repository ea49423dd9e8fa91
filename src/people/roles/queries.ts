import { and, eq, isNull, or, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { settable } from "../../db/changes.ts";
import { aliased, assertExists, assertNone, assertThat, inList } from "../../db/client.ts";
import { AUDITOR, accessControls, roleMembers, roles } from "../../db/schema/access.ts";
import { members, users } from "../../db/schema/people.ts";
import { scimGroups } from "../../db/schema/scim.ts";
import { doesNotExist, invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { applyAccess, usersWithRole } from "../memberships.ts";
import { userColumns } from "../users/shape.ts";
import { type addMember, create, type Role, type update as Update } from "./shape.ts";

const select = ({ db, organization }: Tenant) =>
	db
		.select({
			id: roles.id,
			name: roles.name,
			description: roles.description,
			members: sql<number>`(select count(*) from (${usersWithRole(organization, roles.id)}))`.as(
				"members",
			),
			created_at: aliased(roles.created_at, "role_created_at"),
			created_by: userColumns,
		})
		.from(roles)
		.leftJoin(users, eq(users.id, roles.created_by));

type Row = Awaited<ReturnType<typeof select>>[number];

const toRole = (row: Row): z.infer<typeof Role> => ({ ...row, is_built_in: row.id === AUDITOR });

const ofOrganization = ({ organization }: Tenant) =>
	or(eq(roles.organization_id, organization), isNull(roles.organization_id));

const byId = (tenant: Tenant, id: string) =>
	and(ofOrganization(tenant), eq(roles.id, id.toLowerCase()));

/** Selects the role with this id, also the one that is built in. */
export const selectRole = (tenant: Tenant, id: string) =>
	tenant.db.select({ id: roles.id, name: roles.name }).from(roles).where(byId(tenant, id));

const among = (tenant: Tenant, ids: string[]) => and(ofOrganization(tenant), inList(roles.id, ids));

/** Selects those of these roles that the organization has. */
export const selectRoles = (tenant: Tenant, ids: string[]) =>
	tenant.db.select({ id: roles.id, name: roles.name }).from(roles).where(among(tenant, ids));

/** Returns a statement that makes its batch fail unless the organization still has all these roles. */
export const assertRoles = (tenant: Tenant, ids: string[]) =>
	assertThat(
		tenant.db,
		sql`(select count(*) from ${roles} where ${among(tenant, ids)}) = ${ids.length}`,
		"is_current",
	);

/** Newest first, so that the built-in one is the last. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where: ofOrganization(tenant),
		by: [roles.id],
		keys: ({ id }) => [id],
		to: toRole,
	});

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

export const find = async (tenant: Tenant, id: string) => toRole(await read(tenant, id));

/** @throws 400 for the role that is built in */
async function readEditable(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	if (row.id === AUDITOR)
		throw invalid(null, "Auditor is a role of every organization. It can't be changed.");
	return row;
}

export const findEditable = async (tenant: Tenant, id: string) =>
	toRole(await readEditable(tenant, id));

/** @throws 400 for the name of the role that is built in */
function checkName(name: string | undefined) {
	if (name?.toLowerCase() === "auditor")
		throw invalid("name", "role with this name already exists.", "unique");
}

export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	await tenant.read();
	checkName(body.name);
	const { db, organization } = tenant;
	const id = v7();
	const row = await tenant.write({
		checks: [assertRoom(tenant, roles, eq(roles.organization_id, organization))],
		changes: [
			db
				.insert(roles)
				.values({ ...body, id, organization_id: organization, created_by: tenant.key.user_id }),
		],
		entries: [{ activity: "created", scope: "Role", item_id: id, name: body.name, values: body }],
		answer: select(tenant).where(byId(tenant, id)),
	});
	return toRole(row);
}

export async function update(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const row = await readEditable(tenant, id);
	checkName(body.name);
	const entry = { scope: "Role" as const, name: body.name ?? row.name };
	const after = await tenant.patch(row, body, entry, () => ({
		checks: [assertExists(tenant.db, roles, byId(tenant, row.id))],
		changes: [tenant.db.update(roles).set(body).where(byId(tenant, row.id))],
		answer: select(tenant).where(byId(tenant, row.id)),
	}));
	return toRole(after);
}

/** Deletes a role with its access controls. What it gave its members ends in the same batch. */
export async function remove(tenant: Tenant, id: string) {
	const row = await readEditable(tenant, id);
	const { id: role_id, name } = row;
	const { db, organization } = tenant;
	await tenant.write({
		checks: [assertExists(db, roles, byId(tenant, role_id))],
		changes: [
			db
				.delete(accessControls)
				.where(
					and(
						eq(accessControls.organization_id, organization),
						eq(accessControls.role_id, role_id),
					),
				),
			...applyAccess(db, organization, usersWithRole(organization, sql`${role_id}`)),
			db
				.update(scimGroups)
				.set({
					roles: sql`(select json_group_array(value) from json_each(roles) where value <> ${role_id})`,
				})
				.where(
					sql`${scimGroups.domain_id} in (select d.id from domains as d where d.organization_id = ${organization})
						and exists (select 1 from json_each(${scimGroups.roles}) where value = ${role_id})`,
				),
			db.delete(roles).where(byId(tenant, role_id)),
			...applyAccess(db, organization),
		],
		entries: [
			{
				activity: "deleted",
				scope: "Role",
				item_id: role_id,
				name,
				values: settable(create, row),
			},
		],
	});
}

const isOf = ({ organization }: Tenant, role_id: string) =>
	and(eq(roleMembers.organization_id, organization), eq(roleMembers.role_id, role_id));

const selectMembers = ({ db }: Tenant, role_id: string) =>
	db
		.select({ id: members.id, user: userColumns, created_at: roleMembers.created_at })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.leftJoin(
			roleMembers,
			and(
				eq(roleMembers.organization_id, members.organization_id),
				eq(roleMembers.role_id, role_id),
				eq(roleMembers.user_id, members.user_id),
			),
		);

/** The members who have a role, the newest members of the organization first. */
export const listMembers = (tenant: Tenant, id: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectRole(tenant, id),
		select: () => selectMembers(tenant, id.toLowerCase()).$dynamic(),
		where: and(
			eq(members.organization_id, tenant.organization),
			sql`${members.user_id} in (${usersWithRole(tenant.organization, sql`${id.toLowerCase()}`)})`,
		),
		by: [members.id],
		keys: ({ id }) => [id],
		to: ({ user, created_at }) => ({ user, created_at }),
	});

/** Selects the member, a person or a service account, with this uuid. */
export const selectMember = ({ db, organization }: Tenant, uuid: string) =>
	db
		.select({ user_id: members.user_id, email: users.email })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.where(and(eq(members.organization_id, organization), eq(users.uuid, uuid.toLowerCase())));

/** Gives a role to a member. Throws 400 if the member has it. */
export const insertMember = (tenant: Tenant, id: string, { member }: z.infer<typeof addMember>) =>
	retry(async () => {
		const { db, organization } = tenant;
		const role_id = id.toLowerCase();
		const [[role], [user], [existing]] = await tenant.read(
			selectRole(tenant, id),
			selectMember(tenant, member),
			db
				.select({ user_id: roleMembers.user_id })
				.from(roleMembers)
				.innerJoin(users, eq(users.id, roleMembers.user_id))
				.where(and(isOf(tenant, role_id), eq(users.uuid, member))),
		);
		orNotFound(role);
		if (!user) throw doesNotExist("member", member);
		if (existing) throw invalid("member", "This member already has the role.", "unique");
		const { user_id, email } = user;
		const isMember = and(isOf(tenant, role_id), eq(roleMembers.user_id, user_id));
		const { id: _, ...row } = await tenant.write({
			checks: [
				assertNone(db, roleMembers, isMember),
				assertRoom(tenant, roleMembers, isOf(tenant, role_id)),
			],
			changes: [
				db.insert(roleMembers).values({ organization_id: organization, role_id, user_id }),
				...applyAccess(db, organization, sql`select ${user_id}`),
			],
			entries: [
				{
					activity: "created",
					scope: "RoleMember",
					item_id: role_id,
					name: email,
					values: { role: role?.name },
				},
			],
			answer: selectMembers(tenant, role_id).where(
				and(eq(members.organization_id, organization), eq(members.user_id, user_id)),
			),
		});
		return row;
	});

/** Takes a role from a member. Throws 400 if only SCIM groups give it. */
export async function removeMember(tenant: Tenant, id: string, uuid: string) {
	const { db, organization } = tenant;
	const role_id = id.toLowerCase();
	const [[role], [row]] = await tenant.read(
		selectRole(tenant, id),
		selectMembers(tenant, role_id).where(
			and(
				eq(members.organization_id, organization),
				eq(users.uuid, uuid.toLowerCase()),
				sql`${members.user_id} in (${usersWithRole(organization, sql`${role_id}`)})`,
			),
		),
	);
	orNotFound(role);
	const { user, created_at } = orNotFound(row);
	if (created_at === null)
		throw invalid(null, "SCIM groups give this role. Change the groups at the provider instead.");
	const isMember = and(isOf(tenant, role_id), eq(roleMembers.user_id, user.id));
	await tenant.write({
		checks: [assertExists(db, roleMembers, isMember)],
		changes: [
			db.delete(roleMembers).where(isMember),
			...applyAccess(db, organization, sql`select ${user.id}`),
		],
		entries: [
			{
				activity: "deleted",
				scope: "RoleMember",
				item_id: role_id,
				name: user.email,
				values: { role: role?.name },
			},
		],
	});
}
