import { type Hook, zValidator } from "@hono/zod-validator";
import type { Context, MiddlewareHandler } from "hono";
import * as z from "zod";
import type { App } from "../env.ts";
import { lazy } from "../lib/lazy.ts";
import { type BodyOptions, lineOf, readValue } from "./body.ts";
import type { ErrorCode } from "./codes.ts";
import { ApiError, invalid } from "./errors.ts";
import { issue, notAChoice, WRONG_FORMAT } from "./fields.ts";
import { isRead } from "./methods.ts";
import { isPreview } from "./preview.ts";
import { describeRoute, type First, type Operation } from "./router.ts";
import { type Unused, unknownError, unusedFields, unusedParameters } from "./unused.ts";

const INTEGER = "A valid integer is required.";
const DICTIONARY = "Expected a dictionary of items.";

const wrongType: Record<string, string> = {
	string: "Not a valid string.",
	number: INTEGER,
	int: INTEGER,
	boolean: "Must be a valid boolean.",
	object: DICTIONARY,
	record: DICTIONARY,
};

const wrongFormat: Record<string, string> = WRONG_FORMAT;

/** Whether the error of the wrong type is that of the field's format. */
const namesFormat = ({ message }: z.core.$ZodIssue) => Object.values(wrongFormat).includes(message);

/** Returns the Python name of a JSON type, which a compatible API has in its errors. */
const nameOfType = (value: unknown) =>
	value === null
		? "NoneType"
		: typeof value === "number"
			? // A long integer is infinite (`parseUnrounded`).
				Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY
				? "int"
				: "float"
			: ({ string: "str", boolean: "bool" }[String(typeof value)] ??
				(Array.isArray(value) ? "list" : "dict"));

const choicesOf = (values: readonly z.core.util.Primitive[]) =>
	values.filter((value) => typeof value === "string" || typeof value === "number");

/** The detail, code and choices of an error. */
type Explanation = [detail: string, code?: ErrorCode, choices?: (string | number)[]];

/** Explains an issue with a value that has a wrong type, format or size. */
function explain(issue: z.core.$ZodIssue, input: unknown): Explanation {
	switch (issue.code) {
		case "invalid_type":
			if (issue.expected === "array")
				return [`Expected a list of items but got type "${nameOfType(input)}".`, "not_a_list"];
			return [namesFormat(issue) ? issue.message : (wrongType[issue.expected] ?? issue.message)];
		case "invalid_value":
			if (issue.values.every(Number.isInteger) && !Number.isInteger(input)) return [INTEGER];
			return [notAChoice(input), "invalid_choice", choicesOf(issue.values)];
		case "invalid_format":
			return [wrongFormat[issue.format] ?? issue.message];
		case "too_big": {
			const max = issue.origin === "int" ? 2 ** 31 - 1 : issue.maximum;
			return issue.origin === "array"
				? [`Ensure this field has no more than ${max} elements.`, "max_length"]
				: [`Ensure this value is less than or equal to ${max}.`, "max_value"];
		}
		case "too_small": {
			if (issue.origin === "string") return ["This field may not be blank.", "blank"];
			if (issue.origin === "array") return ["This list may not be empty.", "empty"];
			const min = issue.origin === "int" ? -(2 ** 31) : issue.minimum;
			return [`Ensure this value is greater than or equal to ${min}.`, "min_value"];
		}
		default:
			return [issue.message];
	}
}

/** Returns the error response for an issue that zod found (docs/api.md#errors). */
export function toApiError(
	issue: z.core.$ZodIssue,
	{ path, input }: { path: PropertyKey[]; input?: unknown } = issue,
): ApiError {
	const attr = path.length ? path.join("__") : null;
	if (issue.code === "custom")
		return invalid(attr, issue.message, issue.params?.code, issue.params?.choices);
	if (attr === null && issue.code === "invalid_type") {
		const isList = issue.expected === "array";
		return invalid(null, isList ? issue.message : "Invalid data. Expected a dictionary.");
	}
	if (input === undefined) return invalid(attr, "This field is required.", "required");
	if (input === null) return invalid(attr, "This field may not be null.", "null");
	const [key] = issue.code === "invalid_key" ? issue.issues : [];
	return key
		? toApiError(key, { path, input: path.at(-1) })
		: invalid(attr, ...explain(issue, input));
}

/** Returns a zod check that converts an `ApiError` of `check` to an issue. */
export const checkedBy =
	<T>(check: (value: T) => unknown): z.core.CheckFn<T> =>
	({ value, issues }) => {
		try {
			check(value);
		} catch (error) {
			if (!(error instanceof ApiError)) throw error;
			const { attr, code, detail, choices } = error.body;
			const path = attr?.split("__").slice(1) ?? [];
			issues.push({ ...issue(value, code, detail, choices), path });
		}
	};

type Target = "json" | "query";

/** The part of a request that typed clients send, and that the handler gets. */
type Input<T extends Target, S extends z.ZodType> = {
	in: Record<T, z.input<S>>;
	out: Record<T, z.output<S>>;
};

/** A middleware after which `c.req.valid(T)` returns that part of the request as parsed by `S`. */
type Validated<T extends Target, S extends z.ZodType> = MiddlewareHandler<App, string, Input<T, S>>;

/** Validates what `choose` returns. The first issue becomes an error response. */
function validator<T extends Target, S extends z.ZodType>(
	target: T,
	shape: S,
	first: First,
	{
		choose = (read) => read,
		...options
	}: BodyOptions & { choose?: (read: unknown) => unknown } = {},
): Validated<T, S> {
	const hook: Hook<unknown, App, string, T, object, z.ZodType> = async (result, c) => {
		const [issue] = result.success ? [] : result.error.issues;
		if (!issue) return;
		await first(c);
		throw inLine(toApiError(issue), await lineOf(c, options, issue.path[0] ?? ""));
	};
	return zValidator<z.ZodType, T, App, string, typeof hook, unknown, unknown, Input<T, S>>(
		target,
		shape,
		hook,
		{
			validationFunction: (shape, value) =>
				shape.safeParseAsync(choose(value), { reportInput: true }),
		},
	);
}

/** Throws the 400 for what a strict request has and its operation doesn't use, after `first`. */
async function rejectUnused(
	c: Context<App>,
	{ found, kind, first }: { found: Unused[]; kind: string; first: First },
	options: BodyOptions = {},
) {
	const error = unknownError(found, kind, c.get("strict") ?? {});
	if (!error) return;
	await first(c);
	throw inLine(error, await lineOf(c, options, found[0]?.path[0] ?? ""));
}

/** Returns an error of a body in JSON Lines with the number of its line. */
function inLine(error: ApiError, line: number | undefined) {
	if (line === undefined) return error;
	const { attr, detail, code, choices } = error.body;
	return invalid(attr, `Line ${line}: ${detail}`, code, choices);
}

/** Validates the body of a request; the handler reads it with `c.req.valid("json")`. */
export function body<S extends z.ZodType>(
	shape: S,
	first: First,
	options: BodyOptions = {},
): Validated<"json", S> {
	const parsed: Validated<"json", S> = async (c, next) => {
		const value = await readValue(c, options).catch(async (error: unknown) => {
			await first(c);
			throw error;
		});
		// Hono's validator would parse the text again. It refuses an empty body, rounds numbers, and
		// doesn't know JSON Lines.
		Object.assign(c.req, { json: async () => value });
		const choose = () => value;
		// Before the validation, because a misspelled field is also a missing one.
		const found = c.get("strict") ? [...unusedFields(shape, value)] : [];
		await rejectUnused(c, { found, kind: "field", first }, options);
		return validator("json", shape, first, { choose, ...options })(c, async () => {
			if (isPreview(c)) await first(c);
			await next();
		});
	};
	return describeRoute(parsed, { body: shape, lines: options.lines ?? false, first });
}

/** Validates the query of a request; the handler reads it with `c.req.valid("query")`. */
export const query = <S extends z.ZodObject>(shape: S, first: First): Validated<"query", S> =>
	describeRoute(validator("query", shape, first), { query: shape, first });

const NO_FIELDS = lazy(() => z.object({}));

/**
 * Checks what `body` and `query` don't see of a strict request: its parameters, and a body where the
 * operation takes none.
 * @param guard what to call before a 400, if the operation has neither a body nor a query
 */
export async function checkRest(c: Context<App>, operation: Operation, guard: First) {
	const { first = guard, body, form } = operation;
	const parameters = [...unusedParameters(operation, Object.keys(c.req.queries()))];
	await rejectUnused(c, { found: parameters, kind: "parameter", first });
	const takesNone = body === undefined && form === undefined && !isRead(c.req.method);
	// What isn't JSON has no fields.
	const value = takesNone ? await readValue(c, {}).catch(() => ({})) : {};
	const fields = [...unusedFields(NO_FIELDS(), value)];
	await rejectUnused(c, { found: fields, kind: "field", first });
}
