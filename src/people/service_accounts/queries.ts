import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom, removeRow } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { selectVisibleProjects } from "../../access/visible.ts";
import { settable } from "../../db/changes.ts";
import { assertExists, inList } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import { MEMBER } from "../../db/schema/levels.ts";
import { trustedIssuers } from "../../db/schema/oauth.ts";
import { projects } from "../../db/schema/organizations.ts";
import { members, projectMembers, serviceAccounts, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { join, joinProjects, leaveProjects, setLevel } from "../memberships.ts";
import { checkRestrictions } from "../personal_api_keys/access.ts";
import { userColumns } from "../users/shape.ts";
import { create, type ServiceAccount, type update as Update } from "./shape.ts";

type Level = z.infer<typeof ServiceAccount>["level"];

const select = ({ db }: Tenant) =>
	db
		.select({
			id: serviceAccounts.id,
			name: serviceAccounts.name,
			level: sql<Level>`(select ${members.level} from ${members}
          where ${members.organization_id} = ${serviceAccounts.organization_id} and ${members.user_id} = ${serviceAccounts.user_id})`.as(
				"level",
			),
			projects:
				sql`(select json_group_array(${projectMembers.project_id} order by ${projectMembers.project_id}) from ${projectMembers}
          where ${projectMembers.organization_id} = ${serviceAccounts.organization_id} and ${projectMembers.user_id} = ${serviceAccounts.user_id})`
					.mapWith((json): number[] => JSON.parse(json))
					.as("projects"),
			created_at: serviceAccounts.created_at,
			created_by: userColumns,
			// The keys of trusted issuers are deleted soon.
			last_used_at: sql<string | null>`nullif(max(
				coalesce((select max(${personalApiKeys.last_used_at}) from ${personalApiKeys}
					where ${personalApiKeys.user_id} = ${serviceAccounts.user_id}), ''),
				coalesce((select max(${trustedIssuers.last_used_at}) from ${trustedIssuers}
					where ${trustedIssuers.organization_id} = ${serviceAccounts.organization_id}
					and ${trustedIssuers.service_account_id} = ${serviceAccounts.id}), '')), '')`.as(
				"last_used_at",
			),
		})
		.from(serviceAccounts)
		.innerJoin(users, eq(users.id, serviceAccounts.created_by));

/** WHERE clause: the organization's account with this id. */
const byId = (tenant: Tenant, id: string) =>
	and(
		eq(serviceAccounts.organization_id, tenant.organization),
		eq(serviceAccounts.id, id.toLowerCase()),
	);

/** Newest first. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where: eq(serviceAccounts.organization_id, tenant.organization),
		by: [serviceAccounts.id],
		keys: ({ id }) => [id],
		total: countWhere(serviceAccounts, eq(serviceAccounts.organization_id, tenant.organization)),
	});

export const find = (tenant: Tenant, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, id)));

/** SQL for the id of the account's user. */
const userOf = (id: string) =>
	sql<number>`(select ${users.id} from ${users} where ${users.uuid} = ${id} and ${users.is_service_account})`;

/** Adds the account to the projects that it isn't a member of, without those deleted meanwhile. */
function addTo({ db, organization }: Tenant, id: string, ids: number[] = []) {
	const user_id = userOf(id);
	const rows = ids.map((project_id) => ({ id: v7(), project_id, level: MEMBER }));
	const isMember = sql`exists (select 1 from ${projectMembers}
		where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${user_id})`;
	return joinProjects(db, rows, { organization, user_id, condition: sql`not ${isMember}` });
}

/** Creates an account: a user that isn't a person, with its membership. */
export async function insert(
	tenant: Tenant,
	{ name, level = MEMBER, projects: ids }: z.infer<typeof create>,
) {
	const [visible] = await tenant.read(selectVisibleProjects(tenant, ids));
	checkRestrictions("projects", ids, visible);
	const { db, organization } = tenant;
	const id = v7();
	const user_id = userOf(id);
	const joined = join(db, { organization, user_id, level, name, via: "service_account" });
	return tenant.write({
		checks: [
			assertRoom(tenant, serviceAccounts, eq(serviceAccounts.organization_id, organization)),
		],
		changes: [
			db
				.insert(users)
				.values({ uuid: id, email: addressOf(id), first_name: name, is_service_account: true }),
			db.insert(serviceAccounts).values({
				id,
				organization_id: organization,
				user_id,
				name,
				created_by: tenant.key.user_id,
			}),
			...joined.changes,
			...addTo(tenant, id, ids),
		],
		entries: [
			{
				activity: "created",
				scope: "ServiceAccount",
				item_id: id,
				name,
				values: { name, level, projects: ids },
			},
			...joined.entries,
		],
		answer: select(tenant).where(byId(tenant, id)),
	});
}

/** The email address of an account's user. No mail can be sent to it; no request can name it. */
const addressOf = (id: string) => `${id}@service-account.invalid`;

/** SQL condition on `project_members`: the project isn't one of these. */
const isLeft = (ids: number[]) => sql`not ${inList(projectMembers.project_id, ids)}`;

export async function update(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const { db } = tenant;
	const [[before], visible] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		selectVisibleProjects(tenant, body.projects),
	);
	const row = orNotFound(before);
	checkRestrictions("projects", body.projects, visible);
	const ids = body.projects?.toSorted((a, b) => a - b);
	const { name, level } = body;
	const user_id = userOf(row.id);
	const entry = { scope: "ServiceAccount" as const, name: name ?? row.name };
	return tenant.patch(row, { ...body, ...(ids && { projects: ids }) }, entry, () => ({
		checks: [assertExists(db, serviceAccounts, byId(tenant, row.id))],
		changes: [
			...(name
				? [
						db.update(serviceAccounts).set({ name }).where(byId(tenant, row.id)),
						db.update(users).set({ first_name: name }).where(eq(users.id, user_id)),
					]
				: []),
			...(level ? [setLevel(db, eq(members.user_id, user_id), level)] : []),
			...(ids
				? [
						leaveProjects(db, and(eq(projectMembers.user_id, user_id), isLeft(ids))),
						...addTo(tenant, row.id, ids),
					]
				: []),
		],
		answer: select(tenant).where(byId(tenant, row.id)),
	}));
}

/** Deletes an account. The trigger `service_accounts_delete` ends its keys and memberships. */
export async function remove(tenant: Tenant, id: string) {
	const row = await find(tenant, id);
	const entry = {
		scope: "ServiceAccount" as const,
		item_id: row.id,
		name: row.name,
		values: settable(create, row),
		revokes: { type: "service_account" as const, id: row.id, user: row.id },
	};
	await removeRow(tenant, entry, serviceAccounts, byId(tenant, row.id));
}
