import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { Tenant } from "../../access/tenant.ts";
import { serviceAccounts } from "../../db/schema/people.ts";
import type { App } from "../../env.ts";
import type { Owner, OwnerOf } from "../personal_api_keys/owner.ts";

/** The id of the service account in the path. */
export const idOf = (c: Context<App>) => (c.req.param("service_account_id") ?? "").toLowerCase();

/** A service account of the organization, as the owner of keys. */
export function ownerOf({ organization }: Pick<Tenant, "organization">, id: string): Owner {
	const isAccount = and(
		eq(serviceAccounts.id, id),
		eq(serviceAccounts.organization_id, organization),
	);
	return {
		user_id: sql`(select ${serviceAccounts.user_id} from ${serviceAccounts} where ${isAccount})`,
		isServiceAccount: true,
	};
}

/** The service account in the path. */
export const account: OwnerOf = (c) => ownerOf(c.var.tenant, idOf(c));
