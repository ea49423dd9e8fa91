import { sql } from "drizzle-orm";
import { v7 } from "uuid";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { db } from "../../support/world.ts";

const MINUTE = 60_000;

/**
 * Returns the last time, at most now, at which a tick folds the old runs of an export
 * (src/exports/engine/fold.ts).
 */
export async function turnOf(id: number) {
	const [{ most } = { most: 0 }] = await db
		.select({ most: sql<number>`max(${batchExports.id})` })
		.from(batchExports);
	let turn = 0;
	while ((most + 1) * ((turn + 1) / 1440) <= id) turn += 1;
	const minute = Math.floor(Date.now() / MINUTE);
	return (minute - ((((minute - turn) % 1440) + 1440) % 1440)) * MINUTE;
}

/**
 * Returns a time that is at least that of every id so far. Ids never go back, even if a test file
 * before this one set the clock to the future, and old runs are recognized by their ids.
 */
export const latestIdAt = () => Number.parseInt(v7().replace("-", "").slice(0, 12), 16);
