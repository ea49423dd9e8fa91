import { type SQL, sql } from "drizzle-orm";
import { members } from "../../db/schema/members.ts";
import { organizations } from "../../db/schema/organizations.ts";
import type { users } from "../../db/schema/users.ts";

/** SQL condition: an organization of the user requires a second factor. */
export const isEnforced = (user_id: SQL | number | typeof users.id) => sql`exists (
	select 1 from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
	where ${members.user_id} = ${user_id} and ${organizations.enforce_2fa})`;
