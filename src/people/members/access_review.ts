/** Who can do what, and who still does (docs/audit.md#what-your-auditor-will-ask). */
import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { readAll as readAllPages, readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { counter, countWhere } from "../../db/list.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members, users } from "../../db/schema/people.ts";
import type { Download } from "../../http/download.ts";
import type { Page } from "../../http/page.ts";
import { columns, isInactiveSince } from "./columns.ts";
import type { AccessReview, reviewFilters } from "./shape.ts";

type Reviewed = z.infer<typeof AccessReview>;

const select = ({ db }: Tenant) =>
	db.select(columns).from(members).innerJoin(users, eq(users.id, members.user_id));

type Row = Awaited<ReturnType<typeof select>>[number];

/** The address of a service account doesn't exist. */
const toReview = ({ email, is_service_account, ...row }: Row): Reviewed => ({
	...row,
	is_service_account,
	email: is_service_account ? null : email,
});

/** Lists people and service accounts, the oldest member first. */
export function list(
	tenant: Tenant,
	page: Page,
	{ inactive_since }: z.infer<typeof reviewFilters>,
) {
	const { organization } = tenant;
	const ofOrganization = and(eq(members.organization_id, organization), eq(users.is_active, true));
	return readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		where: ofOrganization,
		...(inactive_since
			? {
					few: {
						id: members.user_id,
						from: sql`${members} join ${users} on ${users.id} = ${members.user_id}`,
						where: and(ofOrganization, isInactiveSince(inactive_since)),
					},
				}
			: {
					names: ["joined_at", "member_id"],
					parts: [eq(members.is_active, true), eq(members.is_active, false)],
					total: sql`${counter(organizations.active_members, organization)} + ${countWhere(
						sql`${members} join ${users} on ${users.id} = ${members.user_id}`,
						and(ofOrganization, eq(members.is_active, false)),
					)}`,
				}),
		by: [members.joined_at, members.id],
		keys: ({ joined_at, id }) => [joined_at, id],
		order: "asc",
		to: toReview,
	});
}

/** Yields all members, in groups. */
export const readAll = (tenant: Tenant, page: Page, filters: z.infer<typeof reviewFilters>) =>
	readAllPages(
		page,
		(part) => list(tenant, part, filters),
		({ joined_at, id }) => [joined_at, id],
	);

/** The columns of a CSV file. */
export const cells: Download<Reviewed>["columns"] = {
	uuid: (row) => row.uuid,
	first_name: (row) => row.first_name,
	last_name: (row) => row.last_name,
	email: (row) => row.email,
	is_service_account: (row) => String(row.is_service_account),
	level: (row) => row.level,
	roles: (row) => row.roles.map(({ name }) => name).join("; "),
	joined_at: (row) => row.joined_at,
	is_2fa_enabled: (row) => String(row.is_2fa_enabled),
	has_social_auth: (row) => String(row.has_social_auth),
	last_sign_in_at: (row) => row.last_sign_in_at,
	last_active_at: (row) => row.last_active_at,
	keys: (row) => JSON.stringify(row.keys),
	apps: (row) => JSON.stringify(row.apps),
};
