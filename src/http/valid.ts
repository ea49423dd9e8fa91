import type { Context, MiddlewareHandler } from "hono";
import type * as z from "zod";
import type { App } from "../env.ts";
import {
	ApiError,
	invalid,
	parseError,
	tooLarge,
	unsupportedEncoding,
	unsupportedMediaType,
} from "./errors.ts";
import { parseExact, parseUnrounded } from "./exact.ts";
import { issue, notAChoice, WRONG_FORMAT } from "./fields.ts";
import { describeRoute } from "./router.ts";

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

/** Returns the Python name of a JSON value's type. The API that this one is compatible with uses it in its errors. */
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

/** Returns the error response for an issue that zod found (docs/api.md#errors). */
export function toApiError(
	issue: z.core.$ZodIssue,
	{ path, input }: { path: PropertyKey[]; input?: unknown } = issue,
): ApiError {
	if (path.length === 0 && issue.code === "invalid_type")
		return invalid(
			null,
			issue.expected === "array" ? issue.message : "Invalid data. Expected a dictionary.",
		);
	const attr = path.length ? path.join("__") : null;
	if (issue.code === "custom")
		return invalid(attr, issue.message, issue.params?.code, issue.params?.choices);
	if (input === undefined) return invalid(attr, "This field is required.", "required");
	if (input === null) return invalid(attr, "This field may not be null.", "null");
	switch (issue.code) {
		case "invalid_type":
			if (issue.expected === "array")
				return invalid(
					attr,
					`Expected a list of items but got type "${nameOfType(input)}".`,
					"not_a_list",
				);
			return invalid(
				attr,
				namesFormat(issue) ? issue.message : (wrongType[issue.expected] ?? issue.message),
			);
		case "invalid_value":
			return issue.values.every(Number.isInteger) && !Number.isInteger(input)
				? invalid(attr, INTEGER)
				: invalid(attr, notAChoice(input), "invalid_choice", choicesOf(issue.values));
		case "invalid_format":
			return invalid(attr, wrongFormat[issue.format] ?? issue.message);
		case "too_big":
			return issue.origin === "array"
				? invalid(
						attr,
						`Ensure this field has no more than ${issue.maximum} elements.`,
						"max_length",
					)
				: invalid(
						attr,
						`Ensure this value is less than or equal to ${issue.origin === "int" ? 2 ** 31 - 1 : issue.maximum}.`,
						"max_value",
					);
		case "too_small":
			if (issue.origin === "string") return invalid(attr, "This field may not be blank.", "blank");
			return issue.origin === "array"
				? invalid(attr, "This list may not be empty.", "empty")
				: invalid(
						attr,
						`Ensure this value is greater than or equal to ${issue.origin === "int" ? -(2 ** 31) : issue.minimum}.`,
						"min_value",
					);
		case "invalid_key": {
			const [first] = issue.issues;
			return first ? toApiError(first, { path, input: path.at(-1) }) : invalid(attr, issue.message);
		}
		default:
			return invalid(attr, issue.message);
	}
}

/** Runs before a malformed request gets a 400, and throws the errors that take precedence, such as 403 and 404. */
type First = (c: Context<App>) => Promise<unknown>;

/**
 * Returns a zod check that converts an `ApiError` to an issue.
 * @param check throws the `ApiError`; its `attr` is the field or one nested in it
 */
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

/**
 * Validates a part of the request. The first issue becomes an error response. (Hono's validator would read the body itself, and
 * its adapter for zod creates three more promises.)
 */
function validator<T extends Target, S extends z.ZodType>(
	target: T,
	shape: S,
	first: First,
	read: (c: Context<App>) => unknown,
): Validated<T, S> {
	return async (c, next) => {
		const result = await shape.safeParseAsync(await read(c), { reportInput: true });
		const [issue] = result.error?.issues ?? [];
		if (issue) {
			await first(c);
			throw toApiError(issue);
		}
		c.req.addValidatedData(target, Object(result.data));
		await next();
	};
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/i;
const LINES_TYPE = /^application\/(x-ndjson|jsonl)$/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;

/** The bytes that are white space in JSON (RFC 8259, section 2). */
const WHITE_SPACE = [0x20, 0x09, 0x0a, 0x0d];

const MAX_BODY_BYTES = 2 ** 20;

const bodies = new WeakMap<Request, Uint8Array>();

/**
 * Returns the bytes of the body. It can be called several times.
 * @throws 413 if the body is too large; 400 if the client disconnected before it was complete
 */
export async function bytesOf(c: Context<App>): Promise<Uint8Array> {
	const bytes = bodies.get(c.req.raw) ?? (await readBytes(c));
	bodies.set(c.req.raw, bytes);
	return bytes;
}

async function readBytes({ req }: Context<App>): Promise<Uint8Array> {
	const length = Number(req.header("content-length"));
	if (length > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
	try {
		// The runtime limits the body to its stated length. Reading it in chunks takes longer.
		return length > 0 ? await req.raw.bytes() : await readChunks(req.raw);
	} catch (error) {
		throw error instanceof ApiError ? error : parseError("The body ended too early.");
	}
}

async function readChunks({ body }: Request): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of body ?? []) {
		size += chunk.length;
		if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

/**
 * Decodes UTF-8 and skips a byte order mark.
 * @throws 400 if the bytes aren't UTF-8
 */
function decode(bytes: Uint8Array): string {
	try {
		const options = { fatal: true, ignoreBOM: false };
		return new TextDecoder("utf-8", options).decode(bytes);
	} catch {
		throw parseError("The body is not UTF-8.");
	}
}

type Read = typeof parseExact;

/**
 * Parses JSON.
 * @throws 400 with the parser's message, without the part that quotes the body
 */
function parse(json: string, read: Read, where = "") {
	try {
		return read(json);
	} catch (error) {
		const why = String(error instanceof Error ? error.message : error);
		throw parseError(`${where}${why.replace(/, (\.{3})?".*$/s, "")}`);
	}
}

/** Parses JSON Lines into a list. Blank lines are skipped. */
const parseLines = (text: string, read: Read) =>
	text
		.split("\n")
		.flatMap((line, i) => (line.trim() === "" ? [] : [parse(line, read, `line ${i + 1}: `)]));

export type BodyOptions = {
	/** Whether the body can also be JSON Lines, which are parsed into a list. */
	lines?: boolean;
	/** Whether numbers keep every digit (`parseExact`). Otherwise, numbers that would be rounded are rejected. */
	exact?: boolean;
};

/** Parses the body. An empty one counts as `{}`, whatever its media type. */
async function readValue(c: Context<App>, { lines, exact }: BodyOptions) {
	const header = c.req.header("content-type") ?? "";
	const type = header.split(";")[0]?.trim() ?? "";
	const bytes = await bytesOf(c);
	const isLines = lines && LINES_TYPE.test(type);
	const isBlank = bytes.every((byte) => WHITE_SPACE.includes(byte));
	if (!isLines && isBlank) return {};
	if (!isLines && !JSON_TYPE.test(type)) throw unsupportedMediaType(type);
	const encoding = c.req.header("content-encoding")?.trim() || "identity";
	if (encoding.toLowerCase() !== "identity") throw unsupportedEncoding(encoding);
	const [, charset = "utf-8"] = CHARSET.exec(header) ?? [];
	if (!/^utf-?8$/i.test(charset)) throw parseError("The charset of the body must be UTF-8.");
	const read = exact ? parseExact : parseUnrounded;
	return isLines ? parseLines(decode(bytes), read) : parse(decode(bytes), read);
}

/** Validates the body of a request; the handler reads it with `c.req.valid("json")`. */
export function body<S extends z.ZodType>(
	shape: S,
	first: First,
	options: BodyOptions = {},
): Validated<"json", S> {
	const read = (c: Context<App>) =>
		readValue(c, options).catch(async (error: unknown) => {
			await first(c);
			throw error;
		});
	const parsed = validator("json", shape, first, read);
	return describeRoute(parsed, { body: shape, lines: options.lines ?? false });
}

/** Returns the parameters of the query. A repeated parameter is a list. */
const readQuery = ({ req }: Context<App>) =>
	Object.fromEntries(
		Object.entries(req.queries()).map(([name, values]) => [
			name,
			values.length === 1 ? values[0] : values,
		]),
	);

/** Validates the query of a request; the handler reads it with `c.req.valid("query")`. */
export const query = <S extends z.ZodObject>(shape: S, first: First): Validated<"query", S> =>
	describeRoute(validator("query", shape, first, readQuery), { query: shape });
