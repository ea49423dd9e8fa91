/** Cuts a file into requests that a server accepts (docs/audit.md#servers). */
import * as z from "zod";
import { FORMAT, genesis } from "../chain.ts";
import type { File } from "./sink.ts";

/** A line of a file, which is an entry. */
export type Line = {
	number: number;
	/** The whole line, and before the first and after the last entry the file's other lines. */
	text: string;
	/** The entry as JSON, without its number and digests if it is OCSF. */
	entry: string;
};

/** What a server accepts in a request, in bytes before compression. */
export type Limits = { entries: number; bytes: number; entryBytes: number };

/** The items of a request, and the numbers of the first and last entry. */
export type Batch = { first: number; last: number; items: string[] };

/** The digests at the end of each line, which have a fixed length. */
const DIGESTS_LENGTH = `,"previous":"${genesis("")}","digest":"${genesis("")}"}`.length;

const isHeader = (line: string) => line.startsWith(`{"format":"${FORMAT}"`);

const isSignature = (line: string) => line.startsWith('{"signature":');

/** Returns the entry in a line: the event, with its number. OCSF has the number elsewhere. */
function entryIn(line: string, isOcsf: boolean) {
	const end = line.slice(0, -DIGESTS_LENGTH);
	return `${isOcsf ? `{${end.slice(end.indexOf(",") + 1)}` : end}}`;
}

/** Yields the lines of a compressed text. */
async function* linesIn(body: Uint8Array) {
	const text = new Blob([Uint8Array.from(body)])
		.stream()
		.pipeThrough(new DecompressionStream("gzip"))
		.pipeThrough(new TextDecoderStream());
	let rest = "";
	for await (const chunk of text) {
		const [first = "", ...others] = chunk.split("\n");
		const lines = [rest + first, ...others];
		rest = lines.pop() ?? "";
		yield* lines;
	}
}

/** Yields the entries of a file after a number. */
export async function* entriesOf({ body }: Pick<File, "body">, after: number, isOcsf: boolean) {
	let above = "";
	let last: Line | undefined;
	for await (const line of linesIn(body)) {
		if (isHeader(line)) {
			above = `${line}\n`;
			continue;
		}
		if (isSignature(line)) {
			if (last) last.text += `\n${line}`;
			continue;
		}
		if (last) yield last;
		const number = Number(/^\{"number":(\d+),/.exec(line)?.[1]);
		last =
			number > after ? { number, text: above + line, entry: entryIn(line, isOcsf) } : undefined;
		above = "";
	}
	if (last) yield last;
}

const Timed = z.union([z.object({ time: z.number() }), z.object({ created_at: z.string() })]);

/** Returns when an entry was created, in milliseconds since 1970. */
export function timeOf(entry: string) {
	const timed = Timed.parse(JSON.parse(entry));
	return "time" in timed ? timed.time : Date.parse(timed.created_at);
}

const Data = z.looseObject({ changes: z.unknown(), trigger: z.unknown() });

/** What can be long in an entry: in our format, and in OCSF. */
const Entry = z.looseObject({ data: Data.optional(), unmapped: Data.optional() });

/** The number of levels of an object that keep their form when it is cut. */
const MAX_DEPTH = 3;

/** Cuts each text in a value to `max` characters, and each list and object to `max` items. */
function cut(value: unknown, max: number, depth = 0): unknown {
	if (typeof value === "string") return value.length > max ? `${value.slice(0, max)}…` : value;
	if (typeof value !== "object" || value === null) return value;
	if (depth === MAX_DEPTH) {
		const json = JSON.stringify(value);
		return json.length > max ? `${json.slice(0, max)}…` : value;
	}
	if (Array.isArray(value)) return value.slice(0, max).map((one) => cut(one, max, depth + 1));
	return Object.fromEntries(
		Object.entries(value)
			.slice(0, max)
			.map(([name, one]) => [name.slice(0, max), cut(one, max, depth + 1)]),
	);
}

/** From how many characters of a text to how few: the last ones always fit. */
const LENGTHS = [16_384, 4096, 1024, 256, 64, 16];

/** Returns an entry with shorter values, and `truncated`, so that its item has at most `max` bytes. */
function shortened(entry: string, max: number, itemOf: (entry: string) => string) {
	const { data, unmapped, ...event } = Entry.parse(JSON.parse(entry));
	const part = (values: z.infer<typeof Data> | undefined, length: number) =>
		values && {
			...values,
			changes: cut(values.changes, length),
			trigger: cut(values.trigger, length),
			truncated: true,
		};
	let item = "";
	for (const length of LENGTHS) {
		item = itemOf(
			JSON.stringify({ ...event, data: part(data, length), unmapped: part(unmapped, length) }),
		);
		if (Buffer.byteLength(item) <= max) break;
	}
	return item;
}

/**
 * Yields the requests for a file's entries.
 * @param itemOf returns what a request has for an entry
 */
export async function* batchesOf(
	lines: AsyncIterable<Line>,
	{ entries, bytes, entryBytes }: Limits,
	itemOf: (entry: string, line: Line) => string,
): AsyncGenerator<Batch> {
	let batch: Batch | undefined;
	let size = 0;
	for await (const line of lines) {
		const whole = itemOf(line.entry, line);
		const isLarge = Buffer.byteLength(whole) > entryBytes;
		const item = isLarge
			? shortened(line.entry, entryBytes, (entry) => itemOf(entry, line))
			: whole;
		// With the character between two items.
		const added = Buffer.byteLength(item) + 1;
		if (batch && (batch.items.length === entries || size + added > bytes)) {
			yield batch;
			batch = undefined;
		}
		if (!batch) {
			batch = { first: line.number, last: line.number, items: [] };
			size = 0;
		}
		batch.items.push(item);
		batch.last = line.number;
		size += added;
	}
	if (batch) yield batch;
}
