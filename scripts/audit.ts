/**
 * Checks files of audit streams (docs/audit.md#checking-the-files), without a server or a network.
 */
import { createHash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { createGunzip } from "node:zlib";
import * as z from "zod";
import { messageOf } from "../build/run.ts";
import { FORMATS, genesis } from "../src/activity/audit_streams/chain.ts";

/** Audit streams write no longer lines. Without a limit, a forged file could fill the memory. */
const MAX_LINE_BYTES = 32 * 2 ** 20;

/** The maximum number of problems in the result. */
const MAX_PROBLEMS = 100;

/** Each line ends with `,"digest":"<64 digits>"}`. */
const DIGEST_BYTES = 77;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const Link = z.object({
	previous: digest,
	digest,
	number: z.int().optional(),
	signature: z.string().optional(),
});
const Header = z.object({
	format: z.enum(FORMATS),
	stream: z.uuid(),
	sequence: z.int(),
	first: z.int(),
	last: z.int(),
	count: z.int(),
	missing: z.int(),
});

type File = { path: string; header: z.infer<typeof Header> };
type Problem = { file: string; line: number | null; problem: string };

export type Options = {
	/** A digest that the files must contain. */
	head?: string | undefined;
	/** The digest before the first line, if older files are elsewhere. */
	after?: string | undefined;
};

/** Reads the lines of a file, without line breaks. Only one line is in memory at a time. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
	const source = createReadStream(path);
	const content = path.endsWith(".gz") ? source.pipe(createGunzip()) : source;
	source.on("error", (error) => content.destroy(error));
	let parts: Buffer[] = [];
	let bytes = 0;
	try {
		for await (const chunk of content) {
			let rest: Buffer = chunk;
			for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
				yield Buffer.concat([...parts, rest.subarray(0, end)]);
				rest = rest.subarray(end + 1);
				parts = [];
				bytes = 0;
			}
			if (rest.length > 0) parts.push(rest);
			bytes += rest.length;
			if (bytes > MAX_LINE_BYTES) throw new Error("a line is too long");
		}
		if (bytes > 0) throw new Error("its end is missing");
	} finally {
		source.destroy();
		content.destroy();
	}
}

const parse = (line: Buffer): unknown => {
	try {
		return JSON.parse(line.toString());
	} catch {
		return undefined;
	}
};

/** Whether the digest at the end of a line is that of the rest of the line. */
function isIntact(line: Buffer, stated: string) {
	const end = `,"digest":"${stated}"}`;
	if (line.subarray(-DIGEST_BYTES).toString("latin1") !== end) return false;
	const hash = createHash("sha256").update(line.subarray(0, -DIGEST_BYTES)).update("}");
	return hash.digest("hex") === stated;
}

const range = (first: number, last: number) =>
	first === last ? `File ${first} is` : `Files ${first} to ${last} are`;

/** Collects the problems that are found. */
function findings(head: string | undefined) {
	const problems: Problem[] = [];
	let more_problems = 0;
	let isHeadFound = head === undefined;
	return {
		report(file: string, line: number | null, problem: string) {
			if (problems.length < MAX_PROBLEMS) problems.push({ file, line, problem });
			else more_problems += 1;
		},
		/** Compares a line's digest with `head`. */
		saw(digest: string | null) {
			isHeadFound ||= digest === head;
		},
		isHeadFound: () => isHeadFound,
		result: () => ({ problems, more_problems }),
	};
}

type Findings = ReturnType<typeof findings>;

/** Reads the first line of a file. Returns null if it isn't the first line of an audit file. */
async function headerOf({ report }: Findings, path: string): Promise<File | null> {
	try {
		for await (const line of linesOf(path)) {
			const header = Header.safeParse(parse(line)).data;
			if (header) return { path, header };
			break;
		}
		report(path, 1, "The first line isn't the first line of an audit file.");
	} catch (error) {
		report(path, null, `The file can't be read: ${messageOf(error)}.`);
	}
	return null;
}

/**
 * Returns the digest of a line, and its problem, if any. `number` is the expected number of its
 * entry; null for the first line.
 */
function problemOf(line: Buffer, previous: string | null, number: number | null) {
	const link = Link.safeParse(parse(line)).data;
	const digest = link?.digest ?? null;
	if (!link || !isIntact(line, link.digest))
		return { digest, problem: "The line was changed: its digest doesn't match its content." };
	if (previous !== null && link.previous !== previous)
		return {
			digest,
			problem:
				"The line doesn't follow the previous line: lines were removed, added or moved here.",
		};
	if (number !== null && link.signature === undefined && link.number !== number)
		return { digest, problem: `The entry should have the number ${number}.` };
	return { digest, problem: null, isSigned: link.signature !== undefined };
}

/**
 * Checks the lines of a file.
 * @param previous the digest that the first line must have as `previous`; null to skip this check
 * @returns the digest of the last line, and how many entries there are
 */
async function checkLines(found: Findings, { path, header }: File, previous: string | null) {
	let last = previous;
	let lines = 0;
	let signed = 0;
	try {
		for await (const line of linesOf(path)) {
			const {
				digest,
				problem,
				isSigned = false,
			} = problemOf(line, last, lines > 0 ? header.first + lines - 1 : null);
			lines += 1;
			if (isSigned) signed += 1;
			if (problem) found.report(path, lines, problem);
			last = digest;
			found.saw(digest);
		}
	} catch (error) {
		found.report(path, lines + 1, `The file can't be read: ${messageOf(error)}.`);
	}
	const entries = Math.max(lines - 1 - signed, 0);
	if (entries !== header.count || header.last !== header.first + header.count - 1)
		found.report(
			path,
			null,
			`The file has ${entries} entries. Its first line says ${header.count}.`,
		);
	return { digest: last, entries };
}

/** Checks the files of one stream, in the order of their numbers. */
async function checkStream(
	found: Findings,
	stream: string,
	files: File[],
	after: string | undefined,
) {
	let previous: string | null = after ?? genesis(stream);
	let sequence = after === undefined ? 0 : (files[0]?.header.sequence ?? 1) - 1;
	const total = { entries: 0, digest: previous, missing: 0 };
	for (const file of files) {
		const { path, header } = file;
		const named = /^(\d{10})-/.exec(basename(path))?.[1];
		if (named !== undefined && Number(named) !== header.sequence)
			found.report(
				path,
				1,
				`The name has the number ${Number(named)}, but the first line has ${header.sequence}.`,
			);
		if (header.sequence === sequence) {
			found.report(path, 1, `There is more than one file ${sequence}.`);
			continue;
		}
		if (header.sequence !== sequence + 1) {
			found.report(path, 1, `${range(sequence + 1, header.sequence - 1)} missing before this one.`);
			previous = null;
		}
		({ sequence } = header);
		const checked = await checkLines(found, file, previous);
		previous = checked.digest;
		total.entries += checked.entries;
		total.digest = checked.digest ?? total.digest;
		total.missing = header.missing;
	}
	return { stream, files: files.length, sequence, ...total };
}

/**
 * Checks all files of streams in a folder: the digests of their lines, that each line follows the
 * one before, and that no file is missing.
 * @throws if the folder can't be read
 */
export async function verify(folder: string, { head, after }: Options) {
	const found = findings(head);
	const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((name) => /\.ndjson(\.gz)?$/.test(name))
		.sort();
	if (names.length === 0)
		found.report(folder, null, "There are no files with names that end in .ndjson or .ndjson.gz.");
	const files: File[] = [];
	for (const name of names) {
		const file = await headerOf(found, join(folder, name));
		if (file) files.push(file);
	}
	const streams = [];
	for (const [stream, its] of Map.groupBy(files, ({ header }) => header.stream)) {
		const inOrder = its.sort((a, b) => a.header.sequence - b.header.sequence);
		streams.push(await checkStream(found, stream, inOrder, after));
	}
	if (!found.isHeadFound())
		found.report(
			folder,
			null,
			"None of the files has the digest of --head: files are missing at the end, or all files were replaced.",
		);
	const { problems, more_problems } = found.result();
	return { ok: problems.length === 0, streams, problems, more_problems };
}

const many = (n: number, noun: string, plural = `${noun}s`) =>
	`${n.toLocaleString("en")} ${n === 1 ? noun : plural}`;

/**
 * Control characters, with which a file could hide what is printed or write over it, and characters
 * that reorder a line.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const escaped = (text: string) =>
	text.replace(UNPRINTABLE, (character) =>
		character
			.split("")
			.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
			.join(""),
	);

type Result = Awaited<ReturnType<typeof verify>>;

export const toJson = (result: Result) => escaped(JSON.stringify(result));

/**
 * Formats the result as text. Names and contents of files were written by others, so nothing of
 * them is printed raw.
 */
export function describe({ ok, streams, problems, more_problems }: Result) {
	const lines = [
		...streams.map(({ stream, files, entries, sequence, digest, missing }) =>
			[
				`Stream ${stream}: ${many(files, "file")}, ${many(entries, "entry", "entries")}.`,
				`  The last file is ${sequence}, with the digest ${digest}.`,
				...(missing > 0
					? [
							`  Entries that were deleted before they could be delivered: ${missing.toLocaleString("en")}.`,
						]
					: []),
			].join("\n"),
		),
		...problems.map(({ file, line, problem }) =>
			escaped(`${file}${line ? `:${line}` : ""}: ${problem}`),
		),
		...(more_problems > 0 ? [`… and ${more_problems.toLocaleString("en")} more.`] : []),
		ok ? "The chain is intact." : many(problems.length + more_problems, "problem"),
	];
	return lines.join("\n");
}
