import { and, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { userWith } from "../../access/visible.ts";
import { contains } from "../../db/contains.ts";
import { positionFrom, positionUntil } from "../../db/entries.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { users } from "../../db/schema/people.ts";
import { normalizeAddress } from "../../http/fields.ts";
import { seesOriginsIn } from "./actor.ts";
import type { filters } from "./shape.ts";

export type Filters = z.infer<typeof filters>;

const { position, user_id, created_at } = activityLog;

/** SQL condition: the request came from the address, and the caller may see that. */
const isFrom = (tenant: Tenant, address: string) => sql`(
	substr(${activityLog.origin}, 1, ${address.length + 1}) = ${`${address}\t`}
	and (${seesOriginsIn(tenant)} or ${user_id} = ${tenant.key.user_id}))`;

const ACTOR_NAME = sql`actor.first_name || ' ' || actor.last_name || ' ' || iif(actor.is_service_account, '', actor.email)`;

/** SQL condition: the name or address of the user contains the text, also after they have left. */
const isBy = (text: string) => sql`exists (
	select 1 from ${users} as actor where actor.id = ${user_id} and ${contains(ACTOR_NAME, text)})`;

/** The condition for filters that no index serves; undefined if there are none. */
export const matches = (
	tenant: Tenant,
	{ user, email, person, address, name, activity, scope, after, before }: Filters,
): SQL | undefined =>
	and(
		address ? isFrom(tenant, address) : undefined,
		user ? eq(user_id, userWith(users.uuid, user)) : undefined,
		email ? eq(user_id, userWith(users.email, normalizeAddress(email))) : undefined,
		name ? eq(activityLog.name, name) : undefined,
		activity ? eq(activityLog.activity, activity) : undefined,
		scope ? eq(activityLog.scope, scope) : undefined,
		after ? gt(created_at, after) : undefined,
		before ? lt(created_at, before) : undefined,
		// The last, because it reads another row for each entry.
		person ? isBy(person) : undefined,
	);

/** The condition for the positions of entries between the times of the filters. */
export const between = (
	{ organization }: Pick<Tenant, "organization">,
	{ after, before }: Filters,
): SQL | undefined =>
	and(
		after ? sql`${position} >= ${positionFrom({ organization, of: "people" }, after)}` : undefined,
		before
			? sql`${position} < ${positionUntil({ organization, of: "people" }, before)}`
			: undefined,
	);
