import { and, eq, sql } from "drizzle-orm";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/levels.ts";
import { serviceAccounts } from "../../db/schema/service_accounts.ts";
import type { OwnerOf } from "../personal_api_keys/owner.ts";
import keysOf from "../personal_api_keys/routes.ts";

/** The service account in the path, as the owner of keys. */
const account: OwnerOf = (c) => {
	const id = c.req.param("service_account_id") ?? "";
	const isAccount = and(
		eq(serviceAccounts.id, id.toLowerCase()),
		eq(serviceAccounts.organization_id, c.var.tenant.organization),
	);
	return {
		user_id: sql`(select ${serviceAccounts.user_id} from ${serviceAccounts} where ${isAccount})`,
		isServiceAccount: true,
	};
};

/** docs/organizations.md#service-accounts */
export default keysOf(account, atLeast(ADMIN));
