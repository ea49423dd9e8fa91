import { kindsOf } from "../db/event_types.ts";

/**
 * What events of the types have, for a comparison in SQL: `member.updated` → `Member.updated`,
 * `member.*` → `Member`. A type that doesn't exist stays as it is, which no event has.
 */
export const selectorsOf = (types: string[]) =>
	types.map((type) => {
		const [kind] = kindsOf([type]);
		if (!kind) return type;
		return type.endsWith(".*") ? kind.scope : `${kind.scope}.${kind.activity}`;
	});
