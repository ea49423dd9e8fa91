import { type Column, type SQL, sql } from "drizzle-orm";

/*
 * Rows refer to an organization by its integer. The API, events and restrictions of keys show its
 * UUID.
 */

/** SQL for the id of the organization with this UUID; null if there is none. */
export const organizationId = (uuid: string | SQL): SQL<number> =>
	sql`(select o.id from organizations as o where o.uuid = ${uuid})`;

/** SQL for the UUID of the organization with this id; null if it was deleted. */
export const organizationUuid = (id: Column | SQL<number>): SQL<string | null> =>
	sql`(select o.uuid from organizations as o where o.id = ${id})`;
