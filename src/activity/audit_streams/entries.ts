/** Reads the activity log entries that a stream hasn't delivered yet. */
import { and, asc, lte, sql } from "drizzle-orm";
import { type Database, inList } from "../../db/client.ts";
import { nextPositions } from "../../db/entries.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import type { AuditFile, auditStreams } from "../../db/schema/audit_streams.ts";
import { users } from "../../db/schema/people.ts";
import { eventColumns } from "../events/event.ts";

export type Stream = typeof auditStreams.$inferSelect;

/** The maximum number of entries in a file, and approximately of their bytes as text. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 8_000_000;

/** The maximum number of users in a file, whose plan is a D1 value of at most 2 MB. */
const MAX_USERS = 1000;

/** The size of a page of entries. */
const MAX_PAGE_ENTRIES = 1000;
const MAX_PAGE_BYTES = 1_000_000;

/** The approximate number of bytes in a line besides the texts that are counted. */
const FRAME_BYTES = 1000;

const { position, user_id, changes, trigger, name, created_at, scope, activity } = activityLog;

const size = sql<number>`(octet_length(${changes}) + coalesce(octet_length(${trigger}), 0) + coalesce(octet_length(${name}), 0))`;

const entriesAfter = ({ organization_id }: Stream, after: number, limit: number) =>
	nextPositions({ organization: sql`${organization_id}`, after: sql`${after}` }, limit);

/** SQL: whether the entry tells the head of a file. */
const is_head = sql`(${scope} = 'AuditStream' and ${activity} = 'delivered')`
	.mapWith(Boolean)
	.as("is_head");

/** Selects the positions, sizes and users of the entries after `after`, at most `limit`. */
const survey = (db: Database, stream: Stream, after: number, limit: number) =>
	db
		.select({ position, user_id, created_at, size, is_head })
		.from(activityLog)
		.where(sql`${position} in (${entriesAfter(stream, after, limit)})`)
		.orderBy(asc(position));

type Surveyed = Awaited<ReturnType<typeof survey>>[number];

/** Returns the entries created before `until` that fit into one file. */
function fitting(entries: Surveyed[], until: string) {
	const known = new Set<number>();
	let bytes = 0;
	const end = entries.findIndex((entry, i) => {
		if (entry.user_id !== null) known.add(entry.user_id);
		bytes += entry.size + FRAME_BYTES;
		const isFull = i > 0 && (bytes > MAX_BYTES || known.size > MAX_USERS);
		return entry.created_at >= until || isFull;
	});
	return end === -1 ? entries : entries.slice(0, end);
}

/** What is known about a file before it is built. */
export type Planned = Omit<AuditFile, "digest" | "signature">;

/** Plans the next file: which entries it has. Returns null if there are none before `until`. */
export async function planFile(
	db: Database,
	stream: Stream,
	until: string,
): Promise<Planned | null> {
	const entries = fitting(await survey(db, stream, stream.position, MAX_ENTRIES), until);
	const [first, last] = [entries[0], entries.at(-1)];
	if (!first || !last) return null;
	const { uuid, first_name, email, is_service_account } = users;
	const ids = [...new Set(entries.map((entry) => entry.user_id))];
	const known = await db
		.select({ id: users.id, uuid, first_name, email, is_service_account })
		.from(users)
		.where(inList(users.id, ids));
	return {
		sequence: stream.sequence + 1,
		after: stream.position,
		to: last.position,
		count: entries.length,
		first_at: first.created_at,
		missing: stream.missing_events,
		// Otherwise, each head would lead to another file, and that to another head.
		is_announced: entries.some((entry) => !entry.is_head),
		users: Object.fromEntries(known.map(({ id, ...user }) => [id, user])),
	};
}

/** Returns the last position of each page in which a file's entries are read. */
function pageEnds(entries: Surveyed[]) {
	const ends: number[] = [];
	let count = 0;
	let bytes = 0;
	for (const [i, entry] of entries.entries()) {
		count += 1;
		bytes += entry.size;
		const next = entries[i + 1];
		if (next && count < MAX_PAGE_ENTRIES && bytes + next.size <= MAX_PAGE_BYTES) continue;
		ends.push(entry.position);
		count = 0;
		bytes = 0;
	}
	return ends;
}

/** Yields the entries of a file in pages. The users are as they were when the file was planned. */
export async function* pagesOf(db: Database, stream: Stream, file: Planned) {
	const surveyed = await survey(db, stream, file.after, file.count);
	const { user: _, organization_id: __, ...columns } = eventColumns;
	let { after } = file;
	for (const end of pageEnds(surveyed.filter((entry) => entry.position <= file.to))) {
		const rows = await db
			.select({ ...columns, user_id })
			.from(activityLog)
			.where(
				and(
					sql`${position} in (${entriesAfter(stream, after, MAX_PAGE_ENTRIES)})`,
					lte(position, end),
				),
			)
			.orderBy(asc(position));
		yield rows.map((row) => ({
			...row,
			// The organization may have been deleted.
			organization_id: stream.organization_uuid,
			user: file.users[String(row.user_id)] ?? null,
		}));
		after = end;
	}
}
