import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import {
	isActivePerson,
	isPerson,
	members,
	projectMembers,
	users,
} from "../../db/schema/people.ts";
import { doesNotExist, invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { joinProjects, leaveProjects, setProjectLevel } from "../memberships.ts";
import { userColumns } from "../users/shape.ts";
import type { create, update as Update } from "./shape.ts";

const select = ({ db }: Tenant) =>
	db
		.select({
			id: projectMembers.id,
			user: userColumns,
			level: projectMembers.level,
			joined_at: projectMembers.joined_at,
			updated_at: projectMembers.updated_at,
		})
		.from(projectMembers)
		.innerJoin(users, eq(users.id, projectMembers.user_id));

const byUser = (tenant: Tenant, uuid: string) =>
	select(tenant).where(
		and(
			eq(projectMembers.project_id, tenant.project),
			isPerson,
			eq(users.uuid, uuid.toLowerCase()),
		),
	);

/** Newest first. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where: and(eq(projectMembers.project_id, tenant.project), isActivePerson),
		by: [projectMembers.id],
		keys: ({ id }) => [id],
	});

/**
 * Adds a member of the organization to the project.
 * @throws 400 if the user isn't an active member of the organization, or is already a member of the
 * project
 */
export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(() => tryInsert(tenant, body));

async function tryInsert(tenant: Tenant, { user_uuid, level }: z.infer<typeof create>) {
	const { db } = tenant;
	const [[member], [existing]] = await tenant.read(
		db
			.select({ user_id: members.user_id, email: users.email })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(
				and(
					eq(members.organization_id, tenant.organization),
					eq(users.uuid, user_uuid),
					isActivePerson,
				),
			),
		byUser(tenant, user_uuid),
	);
	if (!member) throw doesNotExist("user_uuid", user_uuid);
	if (existing)
		throw invalid("user_uuid", "This user is already a member of the project.", "unique");
	const { email, user_id } = member;
	const { project, organization, caller } = tenant;
	const row = { id: v7(), project_id: orNotFound(caller.project_id), user_id, level };
	const isMember = sql`exists (select 1 from ${projectMembers}
		where ${projectMembers.project_id} = ${project} and ${projectMembers.user_id} = ${user_id})`;
	return tenant.write({
		checks: [assertThat(db, sql`not ${isMember}`, "is_current")],
		changes: joinProjects(db, [row], { organization }),
		entries: [
			{
				activity: "created",
				scope: "ProjectMember",
				item_id: row.id,
				name: email,
				values: { level },
			},
		],
		answer: select(tenant).where(byId(tenant, row.id)),
	});
}

const byId = ({ project }: Tenant, id: string) =>
	and(eq(projectMembers.project_id, project), eq(projectMembers.id, id));

export const find = (tenant: Tenant, uuid: string) => tenant.find(byUser(tenant, uuid));

export const update = (tenant: Tenant, uuid: string, body: z.infer<typeof Update>) =>
	retry(async () => {
		const row = await find(tenant, uuid);
		const { db } = tenant;
		const { level = row.level } = body;
		const isSame = and(byId(tenant, row.id), eq(projectMembers.level, row.level));
		const entry = { scope: "ProjectMember" as const, name: row.user.email };
		return tenant.patch(row, body, entry, () => ({
			checks: [assertExists(db, projectMembers, isSame)],
			changes: [setProjectLevel(db, byId(tenant, row.id), level)],
			answer: select(tenant).where(byId(tenant, row.id)),
		}));
	});

export async function remove(tenant: Tenant, uuid: string) {
	const { id, user, level } = await find(tenant, uuid);
	await tenant.write({
		checks: [assertExists(tenant.db, projectMembers, byId(tenant, id))],
		changes: [leaveProjects(tenant.db, byId(tenant, id))],
		entries: [
			{
				activity: "deleted",
				scope: "ProjectMember",
				item_id: id,
				name: user.email,
				values: { level },
			},
		],
	});
}
