import type { SQL } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import type { PathTenant } from "./permit.ts";

/** A tenant and its caller for SQL. A `Tenant` has the values of its request, a cached statement has placeholders. */
export type TenantSql = {
	readonly db: Database;
	readonly kind: PathTenant["kind"];
	/** SQL for the id of the organization or project; null if there is none. */
	readonly organization: SQL<number>;
	readonly project: SQL<number>;
	/** The key in use. */
	readonly key: { id: string | SQL<string>; user_id: number | SQL<number> };
	/** Whether the key is restricted to organizations, and to projects. */
	readonly restricted: { organizations: boolean; projects: boolean };
};
