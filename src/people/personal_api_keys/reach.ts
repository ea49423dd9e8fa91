import { type Column, type SQL, sql } from "drizzle-orm";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";

const { scoped_organizations, scoped_projects } = personalApiKeys;

/** SQL condition on `personal_api_keys`: the key's restrictions include the organization. */
export const reaches = (organization: Column | SQL<number>) =>
	sql`(${scoped_organizations} = '[]' or ${organization} in
		(select o.id from json_each(${scoped_organizations}) join organizations as o on o.uuid = value))
	and (${scoped_projects} = '[]' or exists (select 1 from projects as p
		where p.organization_id = ${organization} and p.id in (select value from json_each(${scoped_projects}))))`;
