import { type Column, type SQL, sql } from "drizzle-orm";
import { allowsApp } from "../../access/visible.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { Key } from "../../keys/keys.ts";

const { client_id, scopes, scoped_organizations, scoped_projects } = personalApiKeys;

/** SQL condition on `personal_api_keys`: the key's restrictions include the organization. */
export const reaches = (organization: Column | SQL<number>) =>
	sql`(${scoped_organizations} = '[]' or ${organization} in
		(select o.id from json_each(${scoped_organizations}) join organizations as o on o.uuid = value))
	and (${scoped_projects} = '[]' or exists (select 1 from projects as p
		where p.organization_id = ${organization} and p.id in (select value from json_each(${scoped_projects}))))`;

/** SQL condition on `personal_api_keys`: like `reaches`, and the organization allows the app, if it is one's. */
export const getsInto = (organization: Column | SQL<number>) =>
	sql`(${reaches(organization)} and (${client_id} is null or exists (
		select 1 from ${organizations} where ${organizations.id} = ${organization} and ${allowsApp(client_id)})))`;

/** SQL condition on `members`: the key in use gets into the member's organization. */
export const reachedBy = (key: Pick<Key, "id">) => sql`exists (
	select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id} and ${getsInto(members.organization_id)})`;

/**
 * SQL for the scopes of a key, joined with its refresh token: of an app, those that the person has
 * allowed. Its current token can have fewer.
 */
export const allowedScopes = sql`coalesce(${oauthRefreshTokens.scopes}, ${scopes})`;
