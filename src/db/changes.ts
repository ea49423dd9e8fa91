import type { Change } from "./schema.ts";

const said = (value: unknown) => value !== undefined && value !== null;

/** The fields of `body` that say something else than `row` does, for the activity log. Empty: nothing to do. */
export function changes(row: object, body: object): Change[] {
	const before = new Map<string, unknown>(Object.entries(row));
	return Object.entries(body).flatMap(([field, after]) => {
		const old = before.get(field) ?? null;
		if (after === undefined || JSON.stringify(after) === JSON.stringify(old))
			return [];
		const action = said(old)
			? said(after)
				? "changed"
				: "deleted"
			: "created";
		return [{ field, action, before: old, after }];
	});
}
