import * as z from "zod";
import { bytesIn } from "../lib/bytes.ts";
import { readMoment, readRelativeMoment } from "../lib/moment.ts";
import { shorten } from "../lib/text.ts";
import type { ErrorCode } from "./codes.ts";

/** A zod issue whose code and message `http/valid.ts` uses unchanged. */
export const issue = (
	input: unknown,
	code: ErrorCode,
	message: string,
	choices?: readonly (string | number)[],
) => ({ code: "custom", input, message, params: { code, choices } }) as const;

/** Returns why this text can't be stored, or undefined if it can. */
export const whyUnstorable = (text: string) =>
	text.includes("\0")
		? "Null characters are not allowed."
		: text.isWellFormed()
			? undefined
			: "Lone surrogates are not allowed.";

/** The number of characters of a value that an error message quotes. */
const MAX_QUOTED_CHARACTERS = 100;

/** Whether a value stands for a number whose digits are lost (`parseUnrounded`). */
const isRounded = (value: unknown) =>
	typeof value === "number" && !(Math.abs(value) < Number.MAX_VALUE);

/** Returns the error message for a value that isn't one of the choices. */
export function notAChoice(value: unknown) {
	const written = typeof value === "object" ? JSON.stringify(value) : String(value);
	const quoted = isRounded(value)
		? "…"
		: written.length > MAX_QUOTED_CHARACTERS
			? `${written.slice(0, MAX_QUOTED_CHARACTERS).toWellFormed()}…`
			: written;
	return `"${quoted}" is not a valid choice.`;
}

/** Control characters, line separators and bidirectional control characters. */
const NOT_IN_ONE_LINE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;
/** Control characters other than tabs and line breaks. */
const NOT_IN_SEVERAL_LINES = /[^\P{Cc}\t\n\r]/u;

/** Text that can be stored, of at most `max` code points, without `excluded` characters. */
const bounded = (string: z.ZodString, max?: number, excluded?: RegExp) => {
	const shape = string.check(({ value, issues }) => {
		const why =
			whyUnstorable(value) ??
			(excluded?.test(value) ? "Control characters are not allowed." : undefined);
		if (why) issues.push(issue(value, "invalid_input", why));
		if (max !== undefined && value.length > max && [...value].length > max)
			issues.push(
				issue(value, "max_length", `Ensure this field has no more than ${max} characters.`),
			);
	});
	return max === undefined ? shape : shape.meta({ maxLength: max });
};

const trimmed = (max?: number, excluded?: RegExp) => bounded(z.string().trim(), max, excluded);

/** Text in one line: no control characters (docs/api.md#requests). */
export const text = (max?: number) => trimmed(max, NOT_IN_ONE_LINE);

/** Text that may have line breaks and tabs. */
export const multilineText = (max?: number) => trimmed(max, NOT_IN_SEVERAL_LINES);

/** For `check`: the text, or a value's JSON, has at most `max` bytes (docs/api.md#sizes). */
export const atMostBytes =
	(max: number): z.core.CheckFn<unknown> =>
	({ value, issues }) => {
		if (bytesIn(value) > max)
			issues.push(issue(value, "max_length", `Ensure this field has no more than ${max} bytes.`));
	};

/** Text of at most `max` bytes that may have line breaks and tabs. */
export const longText = (max: number) =>
	multilineText().check(atMostBytes(max)).meta({ maxLength: max });

/** Text with any characters, for data from other systems and what is compared with it. */
export const rawText = (max?: number) => trimmed(max);

/** Text of events, kept as sent, with white space around it. */
export const eventText = (max?: number) => bounded(z.string(), max);

/** A name in an event, or a name that is compared with it. */
export const eventName = (max: number) =>
	eventText(max)
		.min(1)
		.check(({ value, issues }) => {
			if (value.trim() === "") issues.push(issue(value, "blank", "This field may not be blank."));
		});

/** White space and characters that nobody can see, such as U+200B and U+2800. */
const INVISIBLE = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]+$/u;

/** Text in one line that isn't blank. */
export const name = (max: number) =>
	text(max)
		.min(1)
		.check(({ value, issues }) => {
			if (INVISIBLE.test(value)) issues.push(issue(value, "blank", "This field may not be blank."));
		});

/**
 * A name for display that an app or a service of others has chosen. It is never an error: what `text`
 * rejects is removed, and the rest is shortened.
 * @param replacement for a name that is missing or empty, or isn't a text
 */
export const displayName = (max: number, replacement: string) =>
	z
		.unknown()
		.optional()
		.transform((value) => {
			const shown = typeof value === "string" ? value.split(NOT_IN_ONE_LINE).join("").trim() : "";
			const isBlank = shown === "" || INVISIBLE.test(shown);
			return shorten(isBlank ? replacement : shown.toWellFormed(), max);
		});

/**
 * Before the `@`, a dot-atom (RFC 5322, section 3.2.3) of at most 64 characters (RFC 5321, section
 * 4.5.3.1.1). Labels start and end with a letter or digit. The last one has only letters, or is
 * internationalized (an A-label, RFC 5890, section 2.3.2.1). `.invalid` is rejected, since nobody
 * can have an address there (RFC 6761, section 6.4): service accounts have such addresses, and no
 * request must be able to name one.
 */
const EMAIL =
	/^(?!.*\.invalid$)(?=[^@]{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{0,58}[A-Za-z0-9])$/;

/** Whether addresses can have the domain. */
export const isEmailDomain = (name: string) => EMAIL.test(`x@${name}`);

/** The pattern of `isEmailDomain`, for the OpenAPI document. */
export const EMAIL_DOMAIN_PATTERN = `^${EMAIL.source.slice(EMAIL.source.lastIndexOf("@") + 1)}`;

/** Converts ASCII to lower case. Of Unicode, the Kelvin sign (U+212A) would become a `k`. */
export const lowerCaseAscii = (text: string) =>
	text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Returns an email address or its domain in lower case, without a dot at the end. */
export const normalizeAddress = (text: string) => lowerCaseAscii(text).replace(/\.$/, "");

/** An email address, normalized. */
export const email = () =>
	rawText(254)
		.min(1)
		.overwrite(normalizeAddress)
		.pipe(z.email({ pattern: EMAIL }))
		.meta({ maxLength: 254 });

/** Error messages for values that don't have a format, by zod's names of the formats. */
export const WRONG_FORMAT = {
	guid: "Must be a valid UUID.",
	url: "Enter a valid URL.",
	email: "Enter a valid email address.",
	datetime: "Datetime has wrong format. Use ISO 8601.",
};

/** An HTTP or HTTPS URL without credentials. */
export const url = () =>
	text(2048)
		.pipe(z.url({ protocol: /^https?$/ }))
		.meta({ maxLength: 2048 })
		.refine(
			(value) => {
				const { username = "", password = "" } = URL.parse(value) ?? {};
				return username === "" && password === "";
			},
			{ error: "A URL can't contain a user name or a password." },
		);

/** A UUID of any version, converted to lower case. */
export const uuid = () => z.string(WRONG_FORMAT.guid).trim().toLowerCase().pipe(z.guid());

/** A UUID or an alias such as `@me`, for a parameter of a path, in the OpenAPI document. */
export const uuidOr = (alias: string) =>
	z.string().meta({ anyOf: [{ format: "uuid" }, { const: alias }] });

/** A list of at most `max` values of `item`, from which duplicates are removed. */
export const set = <T extends z.ZodType>(item: T, max: number) =>
	z
		.array(item)
		.max(max)
		.overwrite((list) => [...new Set(list)]);

/** For `z.preprocess`: rejects the key `__proto__`, which zod would drop silently. */
export function refuseProto(value: unknown, { issues }: z.core.$RefinementCtx) {
	const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
	const key = keys.find((name) => name.trim() === "__proto__");
	if (key !== undefined)
		issues.push({
			...issue(value, "invalid_input", 'The name "__proto__" is not allowed.'),
			path: [key],
		});
	return value;
}

/** An object with free keys and values of the schema `value`. */
export const record = <V extends z.ZodType>(value: V, key: z.ZodString = z.string()) =>
	z.preprocess(
		(entries: Record<string, z.input<V>>, context) => refuseProto(entries, context),
		z.record(key, value),
	);

const words: Record<string, boolean> = {
	true: true,
	1: true,
	yes: true,
	on: true,
	false: false,
	0: false,
	no: false,
	off: false,
};

// The parameter types of the functions below are what typed clients may send. At runtime, values
// can have any type.

/** A boolean, or one of the strings for true and false (docs/api.md#requests). */
export const boolean = () =>
	z.preprocess(
		(value: boolean | string) =>
			typeof value === "string" ? (words[value.trim().toLowerCase()] ?? value) : value,
		z.boolean(),
	);

/** One of `values`, after trimming. */
export const choice = <const T extends string>(values: readonly T[]) =>
	z.preprocess((value: T) => (typeof value === "string" ? value.trim() : value), z.enum(values));

/**
 * One or more of `values` in a query string, in any case. The parameter can be repeated
 * (docs/api.md#requests). An issue contains the position of the invalid value only if the parameter
 * was repeated.
 */
export const choices = <const T extends string>(values: readonly T[]) => {
	const byLowerCase = new Map<unknown, T>(values.map((value) => [value.toLowerCase(), value]));
	return z.preprocess(
		(given: T | T[], { issues }) =>
			[given].flat().map((item, i) => {
				const value = typeof item === "string" && byLowerCase.get(item.trim().toLowerCase());
				if (value) return value;
				issues.push({
					...issue(item, "invalid_choice", notAChoice(item), values),
					path: Array.isArray(given) ? [i] : [],
				});
				return item;
			}),
		z.array(z.enum(values)),
	);
};

/** The values of a field with choices, or of the items of a list of them. */
type ValueOf<T> = T extends readonly (infer Item)[] ? Item : Exclude<T, null | undefined>;

/** Describes a field with choices: a sentence, then what each value means. */
export function explain<S extends z.ZodType>(
	field: S,
	sentence: string,
	meanings: { [Value in ValueOf<z.output<S>> & string]: string },
): S {
	const list = Object.entries(meanings).map(([value, meaning]) => `- \`${value}\`: ${meaning}`);
	return field.describe(`${sentence}\n\n${list.join("\n")}`);
}

const DECIMAL = /^-?\d+$/;

function fromDecimal(value: number | string) {
	if (typeof value === "string") return DECIMAL.test(value.trim()) ? Number(value) : value;
	// A long integer (`parseUnrounded`) is too large, not of a wrong type.
	if (value === Number.POSITIVE_INFINITY) return Number.MAX_VALUE;
	return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : value;
}

/** A 32-bit integer, or its decimal string (docs/api.md#requests). */
export const integer = (min = -(2 ** 31), max = 2 ** 31 - 1) =>
	z.preprocess(fromDecimal, z.int().min(min).max(max)).meta({
		type: ["integer", "string"],
		pattern: DECIMAL.source,
	});

/** One of `values`, or its decimal string. */
export const integerChoice = <const T extends number>(values: readonly T[]) =>
	z
		.preprocess((value: T | `${T}`) => fromDecimal(value), z.literal(values))
		.meta({
			type: ["integer", "string"],
			enum: [...values, ...values.map(String)],
		});

/** A time in a response, `YYYY-MM-DDTHH:MM:SS.sssZ`. */
export const timestamp = () => z.iso.datetime({ precision: 3 });

/** A time in a request (docs/api.md#requests), converted to the format of `timestamp`. */
export const moment = () =>
	z
		.string(WRONG_FORMAT.datetime)
		.trim()
		.transform((value, context) => {
			const at = readMoment(value);
			if (at !== undefined) return at;
			context.issues.push(issue(value, "invalid_input", WRONG_FORMAT.datetime));
			return z.NEVER;
		})
		.pipe(timestamp());

/** A time in a request at which something ends that now begins: not in the past. */
export const futureMoment = () =>
	moment().check(({ value, issues }) => {
		if (Date.parse(value) <= Date.now())
			issues.push(issue(value, "invalid_input", "Ensure this time is in the future."));
	});

/** A time in a query, with a space for `+`, or relative to now (docs/api.md#requests). */
export const queryMoment = () =>
	z.preprocess((value: string) => {
		if (typeof value !== "string") return value;
		const text = value.trim();
		return readRelativeMoment(text) ?? text.replace(/(:\d\d(?:\.\d+)?) (?=\d\d(:?\d\d)?$)/, "$1+");
	}, moment());
