import type { Context, HonoRequest } from "hono";
import type { App } from "../env.ts";
import { parseExact, parseUnrounded } from "../lib/lossless_json.ts";
import {
	ApiError,
	parseError,
	tooLarge,
	unsupportedEncoding,
	unsupportedMediaType,
} from "./errors.ts";

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/i;
const LINES_TYPE = /^application\/(x-ndjson|jsonl)$/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;

/** The bytes that are white space in JSON (RFC 8259, section 2). */
const WHITE_SPACE = [0x20, 0x09, 0x0a, 0x0d];

const MAX_BODY_BYTES = 2 ** 20;

/**
 * Returns the bytes of the body. It can be called several times: Hono's request keeps them.
 * @throws 413 if the body is too large; 400 if the client disconnected before it was complete
 */
export async function bytesOf({ req }: Context<App>): Promise<Uint8Array> {
	if (!req.bodyCache.arrayBuffer)
		Object.assign(req.bodyCache, { arrayBuffer: Promise.resolve(await readBytes(req)) });
	return req.bytes();
}

async function readBytes(req: HonoRequest): Promise<ArrayBuffer> {
	const length = Number(req.header("content-length"));
	if (length > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
	try {
		// The runtime limits the body to its stated length. Reading it in chunks takes longer.
		return length > 0 ? await req.raw.arrayBuffer() : await readChunks(req.raw);
	} catch (error) {
		throw error instanceof ApiError ? error : parseError("The body ended too early.");
	}
}

async function readChunks({ body }: Request): Promise<ArrayBuffer> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of body ?? []) {
		size += chunk.length;
		if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
		chunks.push(chunk);
	}
	return new Blob(chunks).arrayBuffer();
}

/** Decodes UTF-8 without a byte order mark. Throws 400 if the bytes aren't UTF-8. */
function decode(bytes: Uint8Array): string {
	try {
		const options = { fatal: true, ignoreBOM: false };
		return new TextDecoder("utf-8", options).decode(bytes);
	} catch {
		throw parseError("The body is not UTF-8.");
	}
}

type Read = typeof parseExact;

/** Parses JSON. Throws 400 with the parser's message, without what it quotes. */
function parse(json: string, read: Read, where = "") {
	try {
		return read(json);
	} catch (error) {
		const why = String(error instanceof Error ? error.message : error);
		throw parseError(`${where}${why.replace(/, (\.{3})?".*$/s, "")}`);
	}
}

/** Returns the lines of JSON Lines that aren't blank, with their numbers from 1. */
const linesIn = (text: string) =>
	text.split("\n").flatMap((line, i) => (line.trim() === "" ? [] : [{ line, number: i + 1 }]));

/** Parses JSON Lines into a list. */
const parseLines = (text: string, read: Read) =>
	linesIn(text).map(({ line, number }) => parse(line, read, `line ${number}: `));

const mediaTypeOf = (c: Context<App>) => c.req.header("content-type")?.split(";")[0]?.trim() ?? "";

/** Returns the number of the line with an item of the body; undefined if it isn't JSON Lines. */
export async function lineOf(c: Context<App>, { lines }: BodyOptions, item: PropertyKey) {
	if (!lines || !LINES_TYPE.test(mediaTypeOf(c)) || typeof item !== "number") return undefined;
	return linesIn(decode(await bytesOf(c)))[item]?.number;
}

export type BodyOptions = {
	/** Whether the body can also be JSON Lines, which are parsed into a list. */
	lines?: boolean;
	/** Whether numbers keep every digit (`parseExact`), or rounded ones are rejected. */
	exact?: boolean;
};

/** Parses the body. An empty one counts as `{}`, whatever its media type. */
export async function readValue(c: Context<App>, { lines, exact }: BodyOptions): Promise<unknown> {
	const type = mediaTypeOf(c);
	const bytes = await bytesOf(c);
	const isLines = lines && LINES_TYPE.test(type);
	const isBlank = bytes.every((byte) => WHITE_SPACE.includes(byte));
	if (!isLines && isBlank) return {};
	if (!isLines && !JSON_TYPE.test(type)) throw unsupportedMediaType(type);
	const encoding = c.req.header("content-encoding")?.trim() || "identity";
	if (encoding.toLowerCase() !== "identity") throw unsupportedEncoding(encoding);
	const [, charset = "utf-8"] = CHARSET.exec(c.req.header("content-type") ?? "") ?? [];
	if (!/^utf-?8$/i.test(charset)) throw parseError("The charset of the body must be UTF-8.");
	const read = exact ? parseExact : parseUnrounded;
	return isLines ? parseLines(decode(bytes), read) : parse(decode(bytes), read);
}
