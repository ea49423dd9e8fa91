import { ADMIN, MEMBER, OWNER } from "../../db/schema/levels.ts";
import type { Operation } from "./operations.ts";

const BY_NAME = new Map<unknown, number>([
	["member", MEMBER],
	["admin", ADMIN],
	["owner", OWNER],
]);

/** Replaces names of levels by their numbers in a field, and in the fields below it. */
function replace(value: unknown, field = ""): unknown {
	if (Array.isArray(value)) return value.map((item) => replace(item, field));
	if (value instanceof Object)
		return Object.fromEntries(
			Object.entries(value).map(([name, inner]) => [name, replace(inner, name)]),
		);
	return field === "level" ? (BY_NAME.get(value) ?? value) : value;
}

/**
 * Replaces names of levels in a body by the numbers that the API takes. Other bodies have no field
 * `level`, except in what users write.
 */
export const numberLevels = ({ fields }: Operation, body: unknown): unknown =>
	fields.some((field) => field.split(".").at(-1) === "level") ? replace(body) : body;
