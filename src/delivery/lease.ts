/*
 * How a row whose work is due gets one worker at a time
 * (docs/internals/decisions/0014-delivery.md).
 *
 * The work is due at `next_attempt_at`; null if there is none. A worker takes a lease, which gets
 * the next number in `lease`. It may write as long as its lease `isHeld`, and then ends it. If it
 * is killed, the lease expires. A request that changes what the work is about ends the lease too.
 * `attempts` counts the attempts that failed, for the family's backoff.
 */
import { and, eq, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { notMoving } from "../db/schema/organizations.ts";
import { iso } from "../lib/time.ts";

type Leased = Record<"lease" | "lease_expires_at", SQLiteColumn>;

/** SQL condition: the work of an organization is due at this time, and no worker has a lease. */
export const isDue = (
	{
		organization_id,
		next_attempt_at,
		lease_expires_at,
	}: Record<"organization_id" | "next_attempt_at" | "lease_expires_at", SQLiteColumn>,
	at: number,
) =>
	and(
		lte(next_attempt_at, iso(at)),
		or(isNull(lease_expires_at), lte(lease_expires_at, iso(at))),
		notMoving(organization_id),
	);

/** Returns the columns of a row when a worker takes a lease. */
export const newLease = ({ lease }: Leased, lease_expires_at: string) => ({
	lease: sql`${lease} + 1`,
	lease_expires_at,
});

/** SQL condition for all that the holder of a lease writes: it is the latest, and wasn't ended. */
export const isHeld = (table: Leased, lease: number) =>
	and(eq(table.lease, lease), isNotNull(table.lease_expires_at));

/** The column of a row without a lease. */
export const NO_LEASE = { lease_expires_at: null };
