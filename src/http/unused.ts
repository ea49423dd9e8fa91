import * as z from "zod";
import { nearest } from "../lib/nearest.ts";
import { shorten } from "../lib/text.ts";
import { type ApiError, invalid } from "./errors.ts";
import { PRETTY } from "./json.ts";
import { notApplied, type Operation, queryOf } from "./router.ts";

/** A field or parameter of a request that its operation doesn't use. */
export type Unused = {
	path: (string | number)[];
	/** The names that are used there. */
	known: readonly string[];
	/** Whether it is part of the interface, but this operation doesn't apply it. */
	isKnown: boolean;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Yields the fields of a value that its schema doesn't use, in the order of the value. What is in
 * fields with free content is used. A single item stands for a list of it (`ingestEvents`).
 */
export function* unusedFields(
	shape: z.core.$ZodType,
	value: unknown,
	path: Unused["path"] = [],
): Generator<Unused> {
	if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable)
		yield* unusedFields(shape.unwrap(), value, path);
	else if (shape instanceof z.ZodPipe) {
		yield* unusedFields(shape.in, value, path);
		yield* unusedFields(shape.out, value, path);
	} else if (shape instanceof z.ZodArray) {
		for (const [i, item] of [value].flat().entries())
			yield* unusedFields(shape.element, item, [...path, i]);
	} else if (!isObject(value)) return;
	else if (shape instanceof z.ZodUnion) yield* unusedInAll(shape, value, path);
	else if (shape instanceof z.ZodRecord) {
		for (const [name, inner] of Object.entries(value))
			yield* unusedFields(shape.valueType, inner, [...path, name]);
	} else if (shape instanceof z.ZodObject) yield* unusedOf(shape, value, path);
}

function* unusedOf(shape: z.ZodObject, value: object, path: Unused["path"]): Generator<Unused> {
	const ignored = notApplied(shape);
	const known = Object.keys(shape.shape).filter((name) => !ignored.includes(name));
	for (const [name, inner] of Object.entries(value)) {
		const field = known.includes(name) ? shape.shape[name] : undefined;
		if (field) yield* unusedFields(field, inner, [...path, name]);
		else yield { path: [...path, name], known, isKnown: ignored.includes(name) };
	}
}

/** Yields the fields that the alternative with the fewest of them doesn't use. */
function* unusedInAll(shape: z.ZodUnion, value: object, path: Unused["path"]): Generator<Unused> {
	const [fewest = []] = shape.options
		.map((option) => [...unusedFields(option, value, path)])
		.sort((a, b) => a.length - b.length);
	yield* fewest;
}

/** Yields the parameters of a query that an operation doesn't use. */
export function* unusedParameters(operation: Operation, names: string[]): Generator<Unused> {
	const known = [...Object.keys(queryOf(operation)?.shape ?? {}), PRETTY];
	for (const name of names)
		if (!known.includes(name)) yield { path: [name], known, isKnown: false };
}

/** How many names an error lists, and how many characters of each. */
const MAX_NAMES = 10;
const MAX_CHARACTERS = 100;

const nameOf = ({ path }: Unused) => shorten(path.join("__"), MAX_CHARACTERS);

function withNearest(unused: Unused) {
	const name = `${unused.path.at(-1)}`;
	const found = name.length > MAX_CHARACTERS ? undefined : nearest(name, unused.known);
	return found === undefined ? nameOf(unused) : `${nameOf(unused)} (did you mean ${found}?)`;
}

const listed = (unused: Unused[], inWords: (one: Unused) => string) =>
	[
		...unused.slice(0, MAX_NAMES).map(inWords),
		...(unused.length > MAX_NAMES ? [`${unused.length - MAX_NAMES} more`] : []),
	].join(", ");

/**
 * Returns the 400 for fields or parameters that a strict request has and its operation doesn't use;
 * undefined if there are none.
 * @param kind what they are, such as `field`
 */
export function unknownError(
	found: Unused[],
	kind: string,
	{ response }: Operation,
): ApiError | undefined {
	const [first] = found;
	if (!first) return undefined;
	const answered = response instanceof z.ZodObject ? Object.keys(response.shape) : [];
	const isReadOnly = ({ path, isKnown }: Unused) =>
		isKnown || (path.length === 1 && answered.includes(`${path[0]}`));
	const [readOnly, unknown] = [
		found.filter(isReadOnly),
		found.filter((unused) => !isReadOnly(unused)),
	];
	const plural = unknown.length === 1 ? "" : "s";
	const detail = [
		...(unknown.length > 0 ? [`Unknown ${kind}${plural}: ${listed(unknown, withNearest)}.`] : []),
		...(readOnly.length > 0 ? [`Not applied here: ${listed(readOnly, nameOf)}.`] : []),
	].join(" ");
	return invalid(nameOf(first), detail, "unknown_field");
}
