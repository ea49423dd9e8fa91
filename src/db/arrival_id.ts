/**
 * The ids of events and persons. Their bits are the project (22), the minute of arrival (25) and a
 * number within the minute (16). So a project's rows are stored in the order in which they arrive,
 * and no index is needed to find them by their arrival
 * (docs/internals/decisions/0008-events-in-order-of-arrival.md).
 *
 * If more rows arrive in a minute than it has numbers, or the clock goes back, ids continue after
 * the last one. The arrival of a row is never before the minute of its id.
 */
import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { MINUTE_MS } from "../lib/time.ts";

const NUMBER_BITS = 16;
const MINUTE_BITS = 25;
/** The first minute is that of 2020, the last one is in 2083. */
const FIRST_MINUTE = Date.UTC(2020) / MINUTE_MS;

/**
 * Returns the first id of a project's rows that arrive in the minute of a time or later; as decimal
 * text, because a number would lose digits.
 * @param at in milliseconds since 1970
 */
export function firstId(team_id: number, at = 0) {
	const minute = Math.floor(at / MINUTE_MS) - FIRST_MINUTE;
	const clamped = Math.min(Math.max(minute, 0), 2 ** MINUTE_BITS);
	return String(
		((BigInt(team_id) << BigInt(MINUTE_BITS)) + BigInt(clamped)) << BigInt(NUMBER_BITS),
	);
}

/** Returns the first id after those of a project's rows that arrive before a time. */
export const endId = (team_id: number, before: number) => firstId(team_id, before + MINUTE_MS - 1);

/**
 * SQL for the time at which the statement runs. The time of the request would be too early: by the
 * time D1 runs the statement, the run of that window may have ended. D1 runs one batch at a time,
 * so any later read sees the row.
 */
const NOW = sql.raw("cast(round(unixepoch('subsec') * 1000) as integer)");

/** SQL for the first id of a project's rows that arrive in the minute of a time, given by SQL. */
export const idAt = (team_id: number, at: SQL) =>
	sql<number>`(cast(${firstId(team_id)} as integer) + ((${at} / ${sql.raw(`${MINUTE_MS} - ${FIRST_MINUTE}) << ${NUMBER_BITS}`)}))`;

/** SQL for the id of the first row that a statement adds to a project. */
export const nextId = (table: SQLiteTable, team_id: number) => sql<number>`(select max(
	coalesce((select max(id) from ${table} where id < cast(${firstId(team_id + 1)} as integer)), 0) + 1,
	${idAt(team_id, NOW)}
))`;

/** SQL for when a row arrives that gets an id now. */
export const arrivalOf = (id: SQL) =>
	sql<number>`max(${NOW}, ${sql.raw(`${MINUTE_MS} * (${FIRST_MINUTE} + ((`)}${id}${sql.raw(` >> ${NUMBER_BITS}) & ${2 ** MINUTE_BITS - 1}))`)})`;
