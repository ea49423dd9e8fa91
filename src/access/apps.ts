import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { organizations } from "../db/schema/organizations.ts";

/**
 * SQL condition on `organizations`: it allows the app with this `client_id`, or there is none
 * because the key isn't an app's (docs/oauth.md#allowing-only-some-apps). Issuers that the
 * organization trusts aren't apps, but their ids are `client_id`s, too.
 */
export const allowsApp = (client_id: SQLWrapper): SQL => sql`(
  ${organizations.allowed_apps} is null or ${client_id} is null
  or exists (select 1 from json_each(${organizations.allowed_apps}) where value = ${client_id})
  or exists (select 1 from trusted_issuers as t where t.id = ${client_id} and t.organization_id = ${organizations.id}))`;
