import { and, getTableColumns, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { shorten } from "../lib/text.ts";
import type { Life } from "./event_types.ts";
import type { Change } from "./schema/activity_log.ts";

/** Replaces secret values in the activity log. */
const MASK = "********";

/**
 * Fields whose values no entry shows: secrets, and the restrictions of keys, because the log of one
 * organization must not show others of the key's owner.
 */
const MASKED = [
	...["oidc_client_secret", "saml_x509_cert", "routing_key", "private_token"],
	...["config", "scoped_organizations", "scoped_projects"],
];

/** The longest value of what was created or deleted, as JSON. Longer ones are cut. */
const MAX_VALUE_LENGTH = 500;

/** How the log shows the values of an object that begins or ends. */
export const LIFE: Record<Life, "created" | "deleted"> = {
	created: "created",
	deleted: "deleted",
	revoked: "deleted",
};

const isPresent = (value: unknown) => value !== undefined && value !== null;

/**
 * Compares `body` with `row`, for the activity log.
 * @param masked fields whose values must not appear in the log
 * @returns the fields that `body` would change; empty if there are none
 */
export function changes(row: object, body: object, masked: string[] = []): Change[] {
	const values = new Map<string, unknown>(Object.entries(row));
	const hidden = [...MASKED, ...masked];
	return Object.entries(body).flatMap(([field, after]) => {
		const before = values.get(field) ?? null;
		if (after === undefined || JSON.stringify(after) === JSON.stringify(before)) return [];
		const action = isPresent(before) ? (isPresent(after) ? "changed" : "deleted") : "created";
		const shown = (value: unknown) => (hidden.includes(field) && isPresent(value) ? MASK : value);
		return [{ field, action, before: shown(before), after: shown(after) }];
	});
}

function cut(value: unknown) {
	const json = JSON.stringify(value);
	if (json.length <= MAX_VALUE_LENGTH) return value;
	return shorten(typeof value === "string" ? value : json, MAX_VALUE_LENGTH);
}

/**
 * Returns the first values of what was created, or the last ones of what was deleted, for the
 * activity log. Those that are empty are left out, and long ones cut.
 */
export function valuesAs(action: "created" | "deleted", values: object): Change[] {
	const isEmpty = (value: unknown) =>
		!isPresent(value) || ['""', "[]", "{}"].includes(JSON.stringify(value));
	return Object.entries(values)
		.filter(([, value]) => !isEmpty(value))
		.map(([field, value]) => {
			const shown = MASKED.includes(field) ? MASK : cut(value);
			return action === "created"
				? { field, action, before: null, after: shown }
				: { field, action, before: shown, after: null };
		});
}

/** Returns the fields of a row that requests can set, which are what the log says of it. */
export const settable = ({ shape }: { shape: object }, row: object) =>
	Object.fromEntries(Object.entries(row).filter(([name]) => name in shape));

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
