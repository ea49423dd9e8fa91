import { type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { App } from "../env.ts";
import type { Tenant } from "../tenant/tenant.ts";

/** Whose keys a request is about. */
export type Owner = {
	/** SQL for the id of the user that the keys act for; null if there is no such owner. */
	user_id: SQL<number>;
	/** Whether it is a service account, whose keys reach the tenant's organization only. */
	isServiceAccount: boolean;
};

export type OwnerOf = (c: Context<App>) => Owner;

/** The caller. */
export const caller: OwnerOf = ({ var: { key } }) => ({
	user_id: sql`${key.user_id}`,
	isServiceAccount: false,
});

/** Selects the user's id, null if there is no such owner. */
export const selectOwner = ({ db }: Tenant, { user_id }: Owner) =>
	db.select({ id: sql<number | null>`${user_id}`.as("owner_id") }).from(sql`(select 1)`);
