import { parseType } from "../feed/event.ts";

/** `member.*`: all types that begin with `member.`. */
const ALL_OF = /^([a-z]+(?:_[a-z]+)*)\.\*$/;

/**
 * What events of a type or pattern have, for a comparison in SQL: `member.updated` → `Member.updated`,
 * `member.*` → `Member`. Undefined if it is neither a type nor a pattern.
 */
export function selectorOf(type: string) {
	const [, prefix] = ALL_OF.exec(type) ?? [];
	if (prefix) return parseType(`${prefix}.any`)?.scope;
	const parsed = parseType(type);
	return parsed && `${parsed.scope}.${parsed.activity}`;
}

/** The selectors of several types. */
export const selectorsOf = (types: string[]) => types.flatMap((type) => selectorOf(type) ?? []);
