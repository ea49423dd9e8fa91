import { kindsOf } from "../../db/event_types.ts";

/**
 * Converts event types for a comparison in SQL: `member.updated` → `Member.updated`, `member.*` →
 * `Member`. A type that doesn't exist remains unchanged, and matches no event.
 */
export const selectorsOf = (types: string[]) =>
	types.map((type) => {
		const [kind] = kindsOf([type]);
		if (!kind) return type;
		return type.endsWith(".*") ? kind.scope : `${kind.scope}.${kind.activity}`;
	});
