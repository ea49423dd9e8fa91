import type { SQL } from "drizzle-orm";
import type { Kind } from "../db/event_types.ts";
import type { Details } from "../db/record.ts";

/** An entry without a user, in the log of an organization; null: in no log. */
type OperatorEntry = Kind &
	Omit<Details, "trigger" | "organization" | "project"> & { organization: number | SQL | null };

/** Returns an entry by the operator. */
export const byOperator = (entry: OperatorEntry) => ({
	...entry,
	trigger: { job: "operator" },
	user_id: null,
	project: null,
});
