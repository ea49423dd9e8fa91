/** What a member has and when they were last active, for the review, the list and a member's page. */
import { type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { aliased } from "../../db/client.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { ROLES_OF_MEMBER } from "../memberships.ts";
import { allowedScopes, getsInto } from "../personal_api_keys/reach.ts";
import type { AccessReview } from "./shape.ts";

type Reviewed = z.infer<typeof AccessReview>;

const { id, label, scopes, session, client_id, last_used_at, expires_at } = personalApiKeys;

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

/** The columns about a member, for `members` and `users`. */
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
