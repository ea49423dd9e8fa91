import { sql } from "drizzle-orm";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";

/** The number of stored attempts per webhook. */
const MAX_DELIVERIES = 100;

/** SQL for a webhook's deliveries after some attempts. `made` has these in their order. */
export const withDeliveries = (made: Delivery[]) => sql<string>`(
	select json_group_array(json(value)) from (
		select value from json_each(${JSON.stringify(made.toReversed())})
		union all select value from json_each(${webhooks.deliveries})
		limit ${MAX_DELIVERIES}))`;
