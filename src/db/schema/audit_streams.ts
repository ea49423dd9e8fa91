import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Destination } from "./batch_exports.ts";
import { boolean, created_at, id, map } from "./columns.ts";

/** The next file of an audit stream. It is stored before the file is written, so that each try writes the same bytes. */
export type AuditFile = {
	sequence: number;
	/** The position after which the file's entries begin, that of its last entry, and how many there are. */
	after: number;
	to: number;
	count: number;
	/** The `created_at` of its first entry. */
	first_at: string;
	/** `missing_events` of the stream. */
	missing: number;
	/** The users as they were when the file was planned, by id. */
	users: Record<
		string,
		{ uuid: string; first_name: string; email: string; is_service_account: boolean }
	>;
	/** The digest of its last line. */
	digest: string;
};

/**
 * Streams of the activity log to a bucket (docs/audit.md). No foreign key to the organization: what
 * led to its deletion is still delivered.
 */
export const auditStreams = sqliteTable(
	"audit_streams",
	{
		id: id(),
		organization_id: text().notNull(),
		name: text().notNull(),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		enabled: boolean().notNull().default(true),
		/** The position of the last entry that was delivered. */
		position: integer().notNull().default(0),
		/** The number of the last file, from 1; 0: there is none. */
		sequence: integer().notNull().default(0),
		/** The digest of the last line of that file. */
		digest: text().notNull(),
		delivered_events: integer().notNull().default(0),
		/** How many entries were deleted before they were delivered. */
		missing_events: integer().notNull().default(0),
		last_file: text(),
		last_delivered_at: text(),
		/** The end of the last hour of which everything is delivered. */
		delivered_until: text(),
		/** The file that is being written. */
		file: text({ mode: "json" }).$type<AuditFile>(),
		/** How many tries in a row failed, since when, why the last one did, and when an event last told of it. */
		tries: integer().notNull().default(0),
		failing_since: text(),
		latest_error: text(),
		told_at: text(),
		/** null: the stream is paused. */
		next_attempt_at: text(),
		/** Counts the claims. Only the latest may write to this row, and until then nobody else claims it. */
		claim: integer().notNull().default(0),
		claimed_until: text(),
		/** When the organization was deleted; set by a trigger. */
		organization_deleted_at: text(),
		created_at: created_at(),
	},
	(t) => [
		index("audit_streams_organization").on(t.organization_id, t.id),
		index("audit_streams_due").on(t.next_attempt_at).where(sql`next_attempt_at is not null`),
	],
);
