/** Ids in paths: where things are is an option, what they are is an argument. */
import type { Values } from "./output.ts";
import type { Command, Field } from "./table.ts";
import { given } from "./values.ts";

/** Whether a parameter says in which organization or project something is. */
export const isScope = ({ name }: Field) => name === "organization" || name === "project";

/** Whether an id may be left out. Not where something changes: it might be the wrong one. */
export const takesAlias = ({ verb }: Command, { alias }: Field) =>
	alias !== undefined && verb === "GET";

/** The values of a path, from options and arguments. */
export function pathOf({ path }: Command, words: unknown[], options: Values): Values {
	const ids = path.filter((field) => !isScope(field));
	const scopes = path.filter(isScope);
	return {
		...Object.fromEntries(scopes.map(({ name, alias }) => [name, alias])),
		...given(scopes, options),
		...Object.fromEntries(ids.map(({ name, alias }, index) => [name, words[index] ?? alias])),
	};
}
