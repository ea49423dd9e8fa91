/** Who can do what, and who still does (docs/audit.md#what-your-auditor-will-ask). */
import { and, eq, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { readAll as readAllPages, readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { aliased } from "../../db/client.ts";
import { counter, countWhere } from "../../db/list.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { Download } from "../../http/download.ts";
import type { Page } from "../../http/page.ts";
import { ROLES_OF_MEMBER } from "../memberships.ts";
import { allowedScopes, getsInto } from "../personal_api_keys/reach.ts";
import type { AccessReview, reviewFilters } from "./shape.ts";

const { id, label, scopes, session, client_id, last_used_at, expires_at } = personalApiKeys;

type Reviewed = z.infer<typeof AccessReview>;

const NOW = sql`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

/** SQL condition on a key with its refresh token: it hasn't expired, or its app can still renew it. */
const isCurrent = sql`(${expires_at} is null or ${expires_at} > ${NOW} or ${oauthRefreshTokens.expires_at} > ${NOW})`;

/** SQL for a value of the user's keys that get into the organization and haven't expired. */
const ofKeys = (value: SQL, where = sql`true`) => sql`(
	select ${value} from ${personalApiKeys}
	left join ${oauthRefreshTokens} on ${oauthRefreshTokens.key_id} = ${id}
	where ${personalApiKeys.user_id} = ${users.id}
		and ${getsInto(members.organization_id)} and ${where} and ${isCurrent})`;

/** SQL for when the user last signed in, or used a key that reaches the organization; or null. */
export const lastActive = sql<
	string | null
>`nullif(max(coalesce(${users.last_sign_in_at}, ''), coalesce(${ofKeys(sql`max(${last_used_at})`)}, '')), '')`.as(
	"last_active_at",
);

/** SQL condition on `members` and `users`: the member hasn't been active since then. */
export const isInactiveSince = (since: string) =>
	sql`coalesce(${lastActive.sql}, ${members.joined_at}) < ${since}`;

const parsed = <T>(value: SQL, name: string) =>
	sql`coalesce(${value}, '[]')`.mapWith((json): T => JSON.parse(json)).as(name);

const isKey = sql`${session} is null and ${client_id} is null`;
const isApp = sql`${session} is null and ${client_id} is not null`;

/** The columns of a review, for `members` and `users`. */
export const columns = {
	id: aliased(members.id, "member_id"),
	uuid: users.uuid,
	first_name: users.first_name,
	last_name: users.last_name,
	email: users.email,
	is_service_account: users.is_service_account,
	level: members.level,
	roles: parsed<Reviewed["roles"]>(
		sql`(select json_group_array(json_object('id', r.id, 'name', r.name) order by r.name)
			from roles as r where r.id in (${ROLES_OF_MEMBER}))`,
		"role_list",
	),
	joined_at: members.joined_at,
	is_2fa_enabled: users.is_2fa_enabled,
	has_social_auth: users.has_social_auth,
	last_sign_in_at: users.last_sign_in_at,
	last_active_at: lastActive,
	keys: parsed<Reviewed["keys"]>(
		ofKeys(
			sql`json_group_array(json_object('id', ${id}, 'label', ${label}, 'scopes', json(${scopes}),
				'last_used_at', ${last_used_at}, 'expires_at', ${expires_at}) order by ${id})`,
			isKey,
		),
		"key_list",
	),
	apps: parsed<Reviewed["apps"]>(
		ofKeys(
			sql`json_group_array(json_object('id', ${id}, 'name', ${label}, 'scopes', json(${allowedScopes}),
				'last_used_at', ${last_used_at}) order by ${id})`,
			isApp,
		),
		"app_list",
	),
};

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
