import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Destination } from "./batch_exports.ts";
import { boolean, created_at, id, lease, map } from "./columns.ts";

/** The next file of an audit stream, stored first so that each attempt writes the same bytes. */
export type AuditFile = {
	sequence: number;
	/** The positions before its first and of its last entry, and their number. */
	after: number;
	to: number;
	count: number;
	/** The `created_at` of its first entry. */
	first_at: string;
	/** The stream's `missing_events`. */
	missing: number;
	/** The users as they were when the file was planned, by id. */
	users: Record<
		string,
		{ uuid: string; first_name: string; email: string; is_service_account: boolean }
	>;
	/** Whether an event tells its head: all its entries are not such events themselves. */
	is_announced: boolean;
	/** The signed head in its last line; null if the service can't sign. */
	signature: string | null;
	/** The digest of its last line. */
	digest: string;
	/** How much of it a server has accepted in earlier attempts. */
	progress?:
		| {
				/** The number of the last entry. */
				sent: number;
				/** Entries up to `last` that were sent, but that the server hasn't acknowledged yet. */
				ack?: { id: number; last: number; at: number };
		  }
		| undefined;
};

/**
 * Audit streams, which write the activity log to a bucket or a server (docs/audit.md). No foreign key to the
 * organization, because the events up to its deletion are still delivered.
 */
export const auditStreams = sqliteTable(
	"audit_streams",
	{
		id: id(),
		organization_id: integer().notNull(),
		/** The organization's UUID, which is in each file, also after the organization is deleted. */
		organization_uuid: text().notNull(),
		name: text().notNull(),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		enabled: boolean().notNull().default(true),
		/** The position of the last delivered entry. */
		position: integer().notNull().default(0),
		/** The number of the last file, starting with 1; 0 if there is none. */
		sequence: integer().notNull().default(0),
		/** The digest of the last line of that file. */
		digest: text().notNull(),
		delivered_events: integer().notNull().default(0),
		/** The number of entries that were deleted before they were delivered. */
		missing_events: integer().notNull().default(0),
		last_file: text(),
		last_delivered_at: text(),
		/** The end of the last hour whose entries have all been delivered. */
		delivered_until: text(),
		/** The file that is being written. */
		file: text({ mode: "json" }).$type<AuditFile>(),
		/** Consecutive failed attempts, their begin, the last error, and when an event reported it. */
		attempts: integer().notNull().default(0),
		failing_since: text(),
		latest_error: text(),
		last_notified_at: text(),
		/** null: the stream is paused. */
		next_attempt_at: text(),
		...lease(),
		/** When the organization was deleted, by the trigger `audit_streams_organization_delete`. */
		organization_deleted_at: text(),
		created_at: created_at(),
	},
	(t) => [
		index("audit_streams_organization").on(t.organization_id, t.id),
		index("audit_streams_due").on(t.next_attempt_at).where(sql`next_attempt_at is not null`),
	],
);
