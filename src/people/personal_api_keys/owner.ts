import { type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { Tenant } from "../../access/tenant.ts";
import type { App } from "../../env.ts";

/** The owner of the keys in a request. */
export type Owner = {
	/** SQL for the id of the user that the keys act for; null if there is no such owner. */
	user_id: SQL<number>;
	/** Whether it is a service account. Its keys can access only the tenant's organization. */
	isServiceAccount: boolean;
};

export type OwnerOf = (c: Context<App>) => Owner;

/** The caller. */
export const caller: OwnerOf = ({ var: { key } }) => ({
	user_id: sql`${key.user_id}`,
	isServiceAccount: false,
});

/** Selects the user's id; null if the owner doesn't exist. */
export const selectOwner = ({ db }: Tenant, { user_id }: Owner) =>
	db.select({ id: sql<number | null>`${user_id}`.as("owner_id") }).from(sql`(select 1)`);
