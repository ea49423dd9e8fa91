/** Path parameters: `--organization` and `--project` are options, other ids are arguments. */
import type { Values } from "./output.ts";
import type { Command, Field } from "./table.ts";
import { given } from "./values.ts";

/** Whether a parameter is the organization or project of an object. */
export const isScope = ({ name }: Field) => name === "organization" || name === "project";

/**
 * Whether an id may be omitted: the last one. Commands that change something require it, to prevent
 * mistakes.
 */
export const takesAlias = ({ verb, path }: Command, { alias, name }: Field) =>
	alias !== undefined && verb === "GET" && path.at(-1)?.name === name;

/** Returns the path parameters from options and arguments. */
export function pathOf({ path }: Command, words: unknown[], options: Values): Values {
	const ids = path.filter((field) => !isScope(field));
	const scopes = path.filter(isScope);
	return {
		...Object.fromEntries(scopes.map(({ name, alias }) => [name, alias])),
		...given(scopes, options),
		...Object.fromEntries(ids.map(({ name, alias }, index) => [name, words[index] ?? alias])),
	};
}
