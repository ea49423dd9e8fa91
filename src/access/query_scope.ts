import type { SQL } from "drizzle-orm";
import { placeholder } from "../db/cached_statements.ts";
import type { Database } from "../db/client.ts";

/** A tenant and its caller for SQL: the values of a request, or placeholders. */
export type TenantSql = {
	readonly db: Database;
	/** What the routes act in: an organization, a project, or only the caller. */
	readonly kind: "caller" | "organization" | "project";
	/** SQL for the id of the organization or project; null if there is none. */
	readonly organization: SQL<number>;
	readonly project: SQL<number>;
	/** The key in use. */
	readonly key: { id: string | SQL<string>; user_id: number | SQL<number> };
};

/** The values for cached statements, with the ids of the place or null. */
export type TenantValues = {
	hash: string;
	key_id: string;
	user_id: number;
	organization: string | number | null;
	project: string | number | null;
};

const given = <T>(name: keyof TenantValues) => placeholder<T>(name);

/** Placeholders for the values of the key in use. */
export const KEY = {
	hash: given<string>("hash"),
	id: given<string>("key_id"),
	user_id: given<number>("user_id"),
};

/** Placeholders for the ids of the place. */
export const IDS = {
	organization: given<string | number>("organization"),
	project: given<number>("project"),
};
