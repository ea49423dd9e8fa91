import { and, eq, isNull, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import type * as z from "zod";
import { isObject } from "../../access/controlled_objects.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertNone } from "../../db/client.ts";
import { AUDITOR, accessControls, roles } from "../../db/schema/access.ts";
import {
	ACCESS_LEVELS,
	type AccessLevel,
	nameOfAccess,
	RESOURCES_WITH_OBJECTS,
	type Resource,
} from "../../db/schema/levels.ts";
import { users } from "../../db/schema/people.ts";
import { doesNotExist, invalid } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { applyAccess, usersWithRole } from "../memberships.ts";
import { selectMember, selectRole } from "../roles/queries.ts";
import { userColumnsOf } from "../users/shape.ts";
import type { AccessControl, create, filters, update as Update } from "./shape.ts";

const holders = alias(users, "holders");
const creators = alias(users, "creators");

const select = ({ db }: Tenant) =>
	db
		.select({
			id: accessControls.id,
			resource: accessControls.resource,
			resource_id: accessControls.resource_id,
			role_id: accessControls.role_id,
			role_name: sql<string | null>`${roles.name}`.as("role_name"),
			user_id: accessControls.user_id,
			member: userColumnsOf(holders, "holder"),
			access_level: accessControls.access_level,
			created_at: accessControls.created_at,
			creator_id: accessControls.created_by,
			created_by: userColumnsOf(creators, "creator"),
		})
		.from(accessControls)
		.leftJoin(roles, eq(roles.id, accessControls.role_id))
		.leftJoin(holders, eq(holders.id, accessControls.user_id))
		.leftJoin(creators, eq(creators.id, accessControls.created_by));

type Row = Awaited<ReturnType<typeof select>>[number];

function toAccessControl(row: Row): z.infer<typeof AccessControl> {
	const { id, resource, resource_id, role_id, role_name, created_at } = row;
	return {
		...{ id, resource, resource_id: resource_id === "" ? null : resource_id },
		role: role_id === null ? null : { id: role_id, name: role_name ?? "" },
		member: row.user_id === null ? null : row.member,
		access_level: nameOfAccess(row.access_level),
		...{ created_at, created_by: row.creator_id === null ? null : row.created_by },
	};
}

const ofOrganization = ({ organization }: Tenant) =>
	eq(accessControls.organization_id, organization);

const byId = (tenant: Tenant, id: string) =>
	and(ofOrganization(tenant), eq(accessControls.id, id.toLowerCase()));

/** Newest first. */
export const list = (tenant: Tenant, page: Page, filter: z.infer<typeof filters>) =>
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where: and(
			ofOrganization(tenant),
			filter.resource ? eq(accessControls.resource, filter.resource) : undefined,
			filter.resource_id
				? eq(accessControls.resource_id, filter.resource_id.toLowerCase())
				: undefined,
			filter.role ? eq(accessControls.role_id, filter.role) : undefined,
			filter.member
				? sql`${accessControls.user_id} = (select u.id from users as u where u.uuid = ${filter.member})`
				: undefined,
		),
		by: [accessControls.id],
		keys: ({ id }) => [id],
		to: toAccessControl,
	});

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

export const find = async (tenant: Tenant, id: string) => toAccessControl(await read(tenant, id));

/** Whether access to single objects of a resource can be given. */
export const hasObjects = (
	resource: Resource,
): resource is (typeof RESOURCES_WITH_OBJECTS)[number] =>
	RESOURCES_WITH_OBJECTS.some((one) => one === resource);

/** @throws 400 unless access to single objects of the resource can be given */
export function checkHasObjects(resource: Resource) {
	if (!hasObjects(resource))
		throw invalid("resource_id", `${resource} has no objects. Leave resource_id out.`);
}

/** What an entry says about an access control. */
function entryOf(
	row: Pick<Row, "id" | "resource" | "resource_id"> & Record<"role" | "member", string | null>,
	access_level: AccessLevel,
) {
	const { id, resource, resource_id, role, member } = row;
	const name = resource_id === "" ? resource : `${resource} ${resource_id}`;
	const of = { resource, ...(resource_id !== "" && { resource_id }), role, member };
	return {
		scope: "AccessControl" as const,
		item_id: id,
		name,
		values: { ...of, access_level },
	};
}

type Holder = { role_id: string | null; user_id: number | null };

/** Brings up to date what the access of the holder of an access control follows from. */
function applyTo({ db, organization }: Tenant, { role_id, user_id }: Holder) {
	if (role_id !== null)
		return applyAccess(db, organization, usersWithRole(organization, sql`${role_id}`));
	return applyAccess(db, organization, user_id === null ? undefined : sql`select ${user_id}`);
}

/** Gives access, or changes what was given to the same holder. */
export const put = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(() => tryPut(tenant, body));

async function tryPut(tenant: Tenant, body: z.infer<typeof create>) {
	const { db, organization } = tenant;
	const { resource, role, member } = body;
	const resource_id = body.resource_id?.toLowerCase() ?? "";
	const isHere =
		resource_id !== "" && hasObjects(resource)
			? isObject(resource, organization, resource_id)
			: sql`true`;
	const userId = sql`(select u.id from users as u where u.uuid = ${member ?? null})`;
	const isSame = and(
		ofOrganization(tenant),
		eq(accessControls.resource, resource),
		eq(accessControls.resource_id, resource_id),
		role ? eq(accessControls.role_id, role) : isNull(accessControls.role_id),
		member ? sql`${accessControls.user_id} = ${userId}` : isNull(accessControls.user_id),
	);
	const [[object], [foundRole], [foundMember], [existing]] = await tenant.read(
		db.select({ is_here: sql<number>`${isHere}`.as("is_here") }).from(sql`(select 1)`),
		selectRole(tenant, role ?? ""),
		selectMember(tenant, member ?? ""),
		select(tenant).where(isSame),
	);
	if (role && member)
		throw invalid("member", "Give the access to a role or to a member, not to both.");
	if (role === AUDITOR)
		throw invalid("role", "Auditor is a role of every organization. It can't be changed.");
	if (resource_id !== "") checkHasObjects(resource);
	if (!object?.is_here) throw doesNotExist("resource_id", body.resource_id);
	if (role && !foundRole) throw doesNotExist("role", role);
	if (member && !foundMember) throw doesNotExist("member", member);
	if (existing) return change(tenant, existing, body);
	const id = v7();
	const holder = { role_id: role ?? null, user_id: foundMember?.user_id ?? null };
	const names = { role: foundRole?.name ?? null, member: foundMember?.email ?? null };
	const access_level = ACCESS_LEVELS[body.access_level];
	const row = await tenant.write({
		checks: [
			assertNone(db, accessControls, isSame),
			assertRoom(tenant, accessControls, ofOrganization(tenant)),
		],
		changes: [
			db.insert(accessControls).values({
				...holder,
				id,
				resource,
				resource_id,
				access_level,
				organization_id: organization,
				created_by: tenant.key.user_id,
			}),
			...applyTo(tenant, holder),
		],
		entries: [
			{
				activity: "created",
				...entryOf({ id, resource, resource_id, ...names }, body.access_level),
			},
		],
		answer: select(tenant).where(byId(tenant, id)),
	});
	return toAccessControl(row);
}

/** Changes the level of an access control, unless another request has changed it since. */
async function change(tenant: Tenant, row: Row, { access_level }: z.infer<typeof Update>) {
	const before = toAccessControl(row);
	const names = { role: row.role_name, member: row.user_id === null ? null : row.member.email };
	const { values: _, ...entry } = entryOf({ ...row, ...names }, before.access_level);
	const isCurrent = and(byId(tenant, row.id), eq(accessControls.access_level, row.access_level));
	if (access_level === undefined || access_level === before.access_level) return before;
	const after = await tenant.write({
		checks: [assertExists(tenant.db, accessControls, isCurrent)],
		changes: [
			tenant.db
				.update(accessControls)
				.set({ access_level: ACCESS_LEVELS[access_level] })
				.where(byId(tenant, row.id)),
			...applyTo(tenant, row),
		],
		entries: [
			{
				activity: "updated",
				...entry,
				trigger: { role: names.role, member: names.member },
				changes: [
					{
						field: "access_level",
						action: "changed",
						before: before.access_level,
						after: access_level,
					},
				],
			},
		],
		answer: select(tenant).where(byId(tenant, row.id)),
	});
	return toAccessControl(after);
}

export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(async () => change(tenant, await read(tenant, id), body));

export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	const names = { role: row.role_name, member: row.user_id === null ? null : row.member.email };
	await tenant.write({
		checks: [assertExists(tenant.db, accessControls, byId(tenant, row.id))],
		changes: [
			tenant.db.delete(accessControls).where(byId(tenant, row.id)),
			...applyTo(tenant, row),
		],
		entries: [
			{ activity: "deleted", ...entryOf({ ...row, ...names }, nameOfAccess(row.access_level)) },
		],
	});
}
