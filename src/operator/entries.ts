import { type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { Database } from "../db/client.ts";
import type { Kind } from "../db/event_types.ts";
import { type Details, withEntry } from "../db/record.ts";

/** Marks log entries as the operator's, since they have no user. */
export const trigger = { job: "operator" };

type OperatorEntry = Kind &
	Omit<Details, "trigger" | "organization" | "project"> & {
		/** The id of the organization whose log has the entry; null: no log. */
		organization: number | SQL | null;
	};

/** Returns a change and its entry by the operator, which is written if the change changed a row. */
export const withOperatorEntry = <C extends BatchItem<"sqlite">>(
	db: Database,
	change: C,
	{ organization, ...entry }: OperatorEntry,
) =>
	withEntry(db, change, {
		...entry,
		trigger,
		user_id: null,
		organization: sql`${organization}`,
		project: sql`null`,
	});
