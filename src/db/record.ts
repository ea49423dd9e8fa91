import { is, SQL, sql } from "drizzle-orm";
import { type Database, insertWhere } from "./client.ts";
import { activityLog, type Change } from "./schema.ts";

/** What an entry of the activity log tells, but for who and when (docs/organizations.md#activity-log). */
export type Entry = {
	/** Made if absent. */
	id?: string;
	activity: string;
	scope: string;
	item_id: string | number | SQL;
	/** What people call the item. */
	name: string;
	changes?: Change[];
	/** What set it off, where that says more than the activity. */
	trigger?: Record<string, unknown>;
	/** Where it belongs; by default where the request went. */
	organization?: SQL;
	project?: SQL;
};

/** An entry with who and where. */
type Signed = Entry & {
	/** null: no user of the service, but the operator. */
	user_id: number | SQL<number> | null;
	organization: SQL;
	project: SQL;
};

/** The statement before this one in its batch changed at least one row. */
const CHANGED = sql`changes() > 0`;

/**
 * The statement that writes an entry.
 * @param condition what must hold then; by default, that the statement before it changed a row
 */
export function record(
	db: Database,
	{ organization, project, item_id, ...entry }: Signed,
	condition = CHANGED,
) {
	const row = {
		...entry,
		// A number is bound as a real one, whose text would be 7.0.
		item_id: is(item_id, SQL) ? sql`cast(${item_id} as text)` : String(item_id),
		organization_id: organization,
		project_id: project,
	};
	return insertWhere(db, activityLog, row, condition);
}
