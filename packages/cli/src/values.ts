/** Defines options for fields, and converts options to query parameters and bodies. */
import { readFileSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import { context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { isObject, type Values } from "./output.ts";
import type { Field } from "./table.ts";

/** Returns the option that sets a field, such as `--first-name`. */
export const flagOf = (name: string) => `--${name.replaceAll("_", "-")}`;

/** Returns the text itself, or the content of `@file` or stdin (`-`). */
function textOf(source: string) {
	if (source !== "-" && !source.startsWith("@")) return source;
	try {
		return source === "-" ? context().read() : readFileSync(source.slice(1), "utf8");
	} catch (error) {
		const { code = "" } = isObject(error) ? error : {};
		throw new UsageError(`Can't read ${source === "-" ? "stdin" : source.slice(1)}: ${code}.`);
	}
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(textOf(text));
	} catch (error) {
		throw new InvalidArgumentError(
			error instanceof UsageError
				? error.message
				: "It must be JSON, or @ and the name of a file with JSON.",
		);
	}
}

function numberOf(text: string, isInteger: boolean) {
	const value = Number(text);
	if (text.trim() === "" || !(isInteger ? Number.isSafeInteger(value) : Number.isFinite(value)))
		throw new InvalidArgumentError(`It must be ${isInteger ? "an integer" : "a number"}.`);
	return value;
}

const booleanOf = (text: string) => {
	if (text !== "true" && text !== "false")
		throw new InvalidArgumentError("It must be true or false.");
	return text === "true";
};

/** Parses an option that may be repeated. */
export const more = (value: unknown, before: unknown) => [
	...(Array.isArray(before) ? before : []),
	value,
];

const PARSERS: Record<Field["kind"], (text: string, before: unknown) => unknown> = {
	string: (text) => text,
	integer: (text) => numberOf(text, true),
	number: (text) => numberOf(text, false),
	boolean: booleanOf,
	strings: more,
	integers: (text, before) => more(numberOf(text, true), before),
	json: parseJson,
};

const HINTS: Record<Field["kind"], string> = {
	string: "text",
	integer: "number",
	number: "number",
	boolean: "true|false",
	strings: "text",
	integers: "number",
	json: "json",
};

export function optionOf({ name, kind, help, choices, words, alias }: Field) {
	const isList = kind === "strings" || kind === "integers";
	const notes = [
		alias && `default: ${alias}`,
		isList && !help.includes("repeated") && "may be repeated",
	].filter((note) => note !== undefined && note !== false);
	const text = notes.length > 0 ? `${help} (${notes.join("; ")})` : help;
	const hint = words ? Object.keys(words).join("|") : HINTS[kind];
	const option = new Option(`${flagOf(name)} <${hint}>`, text);
	option.argParser((value, before: unknown) => words?.[value] ?? PARSERS[kind](value, before));
	// For shell completion only. The service checks the value, because it may support more than this
	// program.
	if (choices) option.argChoices = choices;
	return option;
}

export function given(fields: Field[], options: Values): Values {
	const values = fields.map(({ name }) => [
		name,
		options[new Option(flagOf(name)).attributeName()],
	]);
	return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Returns the value of `--data`: JSON, `@file`, or `-` for stdin. */
export function dataOf(source: unknown): unknown {
	if (typeof source !== "string") return undefined;
	try {
		return JSON.parse(textOf(source));
	} catch (error) {
		if (error instanceof UsageError) throw error;
		throw new UsageError(
			"--data must be JSON, @ and the name of a file with JSON, or - for stdin.",
		);
	}
}

/** Returns the body of a request: `--data`, with fields overridden by options. */
export function bodyOf(fields: Field[], options: Values): unknown {
	const data = dataOf(options.data);
	const values = given(fields, options);
	if (Object.keys(values).length === 0) return data;
	if (data === undefined) return values;
	if (!isObject(data) || Array.isArray(data))
		throw new UsageError("--data must be an object, because options set its fields.");
	return { ...data, ...values };
}
