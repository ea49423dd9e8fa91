import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { now } from "../../lib/time.ts";
import { boolean, list, moment } from "./columns.ts";
import { origin } from "./origin.ts";
import { users } from "./people.ts";

/** One changed field in an entry of the activity log. */
export type Change = {
	field: string;
	action: "created" | "changed" | "deleted";
	before: unknown;
	after: unknown;
};

/** The number of random bits in the id of an entry. */
const RANDOM_BITS = 26;

const newNonce = () => Math.floor(Math.random() * 2 ** RANDOM_BITS);

/**
 * The activity log and the event feed. The only foreign key is the user's, because entries outlive
 * the objects that they are about. An entry has no column for its id, which is made of
 * `created_at`, `nonce` and `position` (src/db/entries.ts).
 *
 * SQLite adds the position to each index, so an index has the entries of an organization, project
 * or object in their order. Entries of people and of the system have separate indexes: each entry
 * is in one of them, and neither list reads the entries of the other.
 *
 * Trigger `activity_log_alert`, after an insert by the system, or of somebody who joined through an
 * invite or a provider: if the type is mailed, inserts a row of `alerts`, or updates the one that is
 * there. All joins of an organization share one, and it must be told of them. Without a row in `notifications`, types are mailed
 * that have default recipients (src/activity/notifications/types.ts).
 * Trigger `activity_log_webhooks`, after an insert: makes the organization's webhooks due that
 * subscribe to the type and have no other events to deliver, and moves them to the position before it.
 */
export const activityLog = sqliteTable(
	"activity_log",
	{
		/**
		 * The position in the feed. D1 runs one write at a time and assigns the position during the
		 * write. So positions are in the order in which writes became visible. None is used twice,
		 * because the newest entry is never deleted.
		 */
		position: integer().primaryKey(),
		organization_id: integer(),
		project_id: integer(),
		/** null: the operator, or nobody if `is_system`. */
		user_id: integer().references(() => users.id),
		activity: text().notNull(),
		scope: text().notNull(),
		item_id: text().notNull(),
		/** Whether it happened without a caller: then it is in the feed, not in the log's pages. */
		is_system: boolean().notNull().default(false),
		created_at: moment().notNull().$defaultFn(now),
		/** A random number. With `created_at`, a write recognizes its own entry. */
		nonce: integer().notNull().default(0).$defaultFn(newNonce),
		/**
		 * The number of entries of people up to and including this one, since the first: of the
		 * organization, of those without a project, and of the project. The difference between the
		 * newest and the oldest entry is the length of a list. null: an entry of the system.
		 */
		total: integer(),
		total_without_project: integer(),
		project_total: integer(),
		name: text(),
		changes: list<Change>(),
		trigger: text({ mode: "json" }).$type<Record<string, unknown>>(),
		/** With which key and from where; null for entries without a request, and for old ones. */
		origin: origin(),
	},
	(t) => [
		index("activity_log_organization").on(t.organization_id).where(sql`not is_system`),
		index("activity_log_system").on(t.organization_id).where(sql`is_system`),
		index("activity_log_project")
			.on(t.project_id)
			.where(sql`project_id is not null and not is_system`),
		index("activity_log_item").on(t.organization_id, t.item_id).where(sql`not is_system`),
	],
);
