import { eq, type SQL, sql } from "drizzle-orm";
import { organizations } from "../db/schema/organizations.ts";
import { members } from "../db/schema/people.ts";
import type { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { now } from "../lib/time.ts";

/* How long sessions last (docs/keys.md#how-long-a-session-lasts), as SQL. */

/** The user's id, or SQL for it. */
type User = number | SQL | typeof personalApiKeys.user_id;

type Column = typeof organizations.session_idle_minutes | typeof organizations.session_max_minutes;

/** SQL for the smallest value among the user's organizations, or the default without any. */
const strictest = (column: Column, user_id: User) => sql<number>`coalesce((
	select min(${column}) from ${members} join ${organizations} on ${eq(organizations.id, members.organization_id)}
	where ${members.user_id} = ${user_id}), ${sql.raw(String(column.default))})`;

/** SQL for the longest duration of the user's sessions, in minutes. */
export const maxMinutes = (user_id: User) => strictest(organizations.session_max_minutes, user_id);

const after = (at: SQL, minutes: SQL) =>
	sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', ${at}, '+' || ${minutes} || ' minutes')`;

/** SQL for the time when a session of the user expires that is used now. */
export const expiryOf = (user_id: User, created_at: SQL) =>
	sql<string>`min(${after(created_at, maxMinutes(user_id))}, ${after(
		sql`${now()}`,
		strictest(organizations.session_idle_minutes, user_id),
	)})`;
