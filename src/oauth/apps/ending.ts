import { eq, sql } from "drizzle-orm";
import { currentOrganization } from "../../access/visible.ts";
import type { Database } from "../../db/client.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { entryOf } from "../consents/grants.ts";

/*
 * The grants that end with their app.
 */

/** How many events are written when an app is deleted. Its other grants end without one. */
const MAX_EVENTS = 1_000;

const { id, user_id, label, client_id, scoped_organizations } = personalApiKeys;

/** The ids of the organizations that get an event about a grant, as in `entriesOf` of grants. */
const organizations =
	sql`iif(${scoped_organizations} = '[]', json_array(${currentOrganization(user_id)}),
  (select json_group_array(o.id) from json_each(${scoped_organizations}) join organizations as o on o.uuid = value))`
		.mapWith((json): number[] => JSON.parse(json))
		.as("organizations");

/** Selects the grants that end with the app. */
export const selectEnding = (db: Database, client: string) =>
	db
		.select({ id, user_id, label, client_id, organizations })
		.from(personalApiKeys)
		.where(eq(client_id, client))
		.orderBy(id)
		.limit(MAX_EVENTS);

type Ending = Awaited<ReturnType<typeof selectEnding>>;

/** Returns the entries of the grants for the log. */
export const entriesOf = (grants: Ending) =>
	grants
		.flatMap(({ organizations, ...grant }) =>
			organizations.map((organization) =>
				entryOf("revoked", grant, organization, { job: "app_deleted" }),
			),
		)
		.slice(0, MAX_EVENTS);
