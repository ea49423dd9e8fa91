import { and, eq, gt, is, lt, SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { activityLog } from "../db/schema/activity_log.ts";
import { users } from "../db/schema/users.ts";
import { userWith } from "../tenant/visible.ts";
import type { filters } from "./shape.ts";

export type Filters = z.infer<typeof filters>;

/**
 * The condition for the filters that compare for equality. If there are several, the most selective one uses its index: the
 * item, otherwise the user. The + prevents SQLite from using the indexes of the others.
 */
export function indexedFilter({ item_id, user, activity, scope }: Filters) {
	const [first, ...others] = [
		item_id && eq(activityLog.item_id, item_id),
		user && eq(activityLog.user_id, userWith(users.uuid, user)),
		activity && eq(activityLog.activity, activity),
		scope && eq(activityLog.scope, scope),
	].filter((condition) => is(condition, SQL));
	const isType = activity && scope && !item_id && !user;
	return first && and(first, ...others.map((other) => (isType ? other : sql`+${other}`)));
}

/**
 * The condition for entries of callers. It has no parameter, so that SQLite can use the partial indexes of these filters. A
 * filter by both scope and activity has a parameter, because it uses the index of the feed.
 */
const byCallers = ({ item_id, user, activity, scope }: Filters) =>
	activity && scope && !item_id && !user
		? eq(activityLog.is_system, false)
		: sql`not ${activityLog.is_system}`;

/** The condition for entries of callers that match the filters. The indexes for it begin with the organization. */
export const matchesFilters = (given: Filters) =>
	and(
		byCallers(given),
		indexedFilter(given),
		given.after ? gt(activityLog.created_at, given.after) : undefined,
		given.before ? lt(activityLog.created_at, given.before) : undefined,
	);
