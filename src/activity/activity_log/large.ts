/** Reads entries with large changes, only a few of them at a time, to save memory. */
import { type Column, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { inList } from "../../db/client.ts";
import { activityLog, type Change } from "../../db/schema/activity_log.ts";
import { grouped } from "../../lib/groups.ts";

/** Larger changes, such as source code, are read apart from their entry. */
const MAX_SMALL_BYTES = 16_384;

/** How many bytes of changes are in memory at a time. One entry may have up to 2 MB. */
const MAX_BYTES = 4_000_000;

/** SQL for the changes of an entry; null if they are larger than `MAX_SMALL_BYTES`. */
export const smallChanges = (changes: Column) =>
	sql<
		Change[] | null
	>`iif(octet_length(${changes}) <= ${sql.raw(String(MAX_SMALL_BYTES))}, ${changes}, null)`;

/** The columns of a row that the functions below need. `changes` is null if they are large. */
type Row = { position: number; size: number; changes: Change[] | null };

/** Divides the rows into groups of at most `MAX_BYTES` of changes, or a single row. */
export const inGroups = <R extends Row>(rows: R[]) => grouped(rows, MAX_BYTES, ({ size }) => size);

/** Returns the rows with all changes, with a trip only if some are large. */
export async function complete<R extends Row>(tenant: Tenant, rows: R[]) {
	const large = rows.filter(({ changes }) => changes === null).map(({ position }) => position);
	const found = large.length > 0 ? await readChanges(tenant, large) : new Map<number, Change[]>();
	return rows.flatMap((row) => {
		const changes = row.changes ?? found.get(row.position);
		// The entry may have been deleted since, because it reached the retention period.
		return changes ? [{ ...row, changes }] : [];
	});
}

async function readChanges(tenant: Tenant, positions: number[]) {
	const { position, changes } = activityLog;
	const [rows] = await tenant.read(
		tenant.db.select({ position, changes }).from(activityLog).where(inList(position, positions)),
	);
	return new Map(rows.map((row) => [row.position, row.changes]));
}
