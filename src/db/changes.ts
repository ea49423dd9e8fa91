import { and, getTableColumns, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Change } from "./schema/activity_log.ts";

/** Replaces secret values in the activity log. */
const MASK = "********";

const isPresent = (value: unknown) => value !== undefined && value !== null;

/**
 * Compares `body` with `row`, for the activity log.
 * @param masked fields whose values must not appear in the log
 * @returns the fields that `body` would change; empty if there are none
 */
export function changes(row: object, body: object, masked: string[] = []): Change[] {
	const values = new Map<string, unknown>(Object.entries(row));
	return Object.entries(body).flatMap(([field, after]) => {
		const before = values.get(field) ?? null;
		if (after === undefined || JSON.stringify(after) === JSON.stringify(before)) return [];
		const action = isPresent(before) ? (isPresent(after) ? "changed" : "deleted") : "created";
		const shown = (value: unknown) => (masked.includes(field) && isPresent(value) ? MASK : value);
		return [{ field, action, before: shown(before), after: shown(after) }];
	});
}

/** SQL condition: the columns `names`, by default all of `row`, still have its values. */
export function isUnchanged<R extends object>(table: SQLiteTable, row: R, names?: (keyof R)[]) {
	const columns = getTableColumns(table);
	const values = Object.entries(row).filter(
		([name]) => names === undefined || names.some((each) => each === name),
	);
	return and(
		...values.map(([name, value]) => sql`${columns[name]} is ${sql.param(value, columns[name])}`),
	);
}
