import type { Change } from "./schema.ts";

/** What the activity log says in place of a value that its readers are not to see. */
const MASK = "********";

const isPresent = (value: unknown) => value !== undefined && value !== null;

/**
 * The fields of `body` that say something else than `row` does, for the activity log. Empty: nothing to do.
 * @param masked fields whose values the log doesn't show
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
