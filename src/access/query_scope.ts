import type { SQL } from "drizzle-orm";
import { placeholder } from "../db/cached_statements.ts";
import type { Database } from "../db/client.ts";

/** A tenant and its caller for SQL: the values of a request, or placeholders. */
export type QueryScope = {
	readonly db: Database;
	/** The routes' scope: an organization, a project, or only the caller. */
	readonly kind: "caller" | "organization" | "project";
	/** SQL for the id of the organization or project; null if there is none. */
	readonly organization: SQL<number>;
	readonly project: SQL<number>;
	/** SQL condition on `organizations`: it is the organization. */
	readonly isOrganization: SQL;
	/** The key in use. */
	readonly key: { id: string | SQL<string>; user_id: number | SQL<number> };
};

/** The values for cached statements, with the ids of the target or null. */
export type QueryValues = {
	hash: string;
	key_id: string;
	user_id: number;
	organization: string | number | null;
	project: string | number | null;
	object: string | null;
};

const param = <T>(name: keyof QueryValues) => placeholder<T>(name);

/** Placeholders for the values of the key in use. */
export const keyParams = {
	hash: param<string>("hash"),
	id: param<string>("key_id"),
	user_id: param<number>("user_id"),
};

/** Placeholders for the ids of the target. */
export const targetParams = {
	organization: param<string | number>("organization"),
	project: param<number>("project"),
	object: param<string>("object"),
};
