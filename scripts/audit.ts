/**
 * Checks files of audit streams (docs/audit.md#checking-the-files), without a server. Only public
 * keys and the files may come from the network.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { createGunzip } from "node:zlib";
import * as z from "zod";
import { messageOf } from "../build/run.ts";
import { FORMATS, genesis } from "../src/activity/audit_streams/chain.ts";
import { openPlace, type Place } from "./audit_places.ts";
import {
	checkHead,
	checkReceipt,
	contradicts,
	Facts,
	type Head,
	isBefore,
	type KeySet,
	mismatch,
	readKeys,
	signaturesIn,
	witnesses,
} from "./audit_signatures.ts";

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
const Header = z.object({ format: z.enum(FORMATS), ...Facts.shape, stream: z.uuid() });

/** When an entry was made, in our format and in OCSF. */
const Timed = z.union([
	z.object({ created_at: z.iso.datetime() }).transform((entry) => Date.parse(entry.created_at)),
	z.object({ time: z.number() }).transform((entry) => entry.time),
]);

type File = { path: string; header: z.infer<typeof Header> };
type Read = Place["read"];
type Problem = { file: string; line: number | null; problem: string };

export type Options = {
	/** A digest that the files must contain. */
	head?: string | undefined;
	/** The digest before the first line, if older files are elsewhere. */
	after?: string | undefined;
	/** The file or URL of the service's public keys. Without it, signatures aren't checked. */
	jwks?: string | undefined;
	/** The first file that must be signed, by its number; 1 by default. */
	signedFrom?: number | undefined;
	/** The organization whose files these must be. */
	organization?: string | undefined;
	/** Files with heads that were kept elsewhere: events, or requests to webhooks. */
	witness?: string[] | undefined;
	/** Whether a bucket of R2 is the deployed one. */
	remote?: boolean | undefined;
	/** Files with receipts of revocations. */
	receipt?: string[] | undefined;
};

/** What signatures are checked with. */
type Trust = {
	keys: KeySet;
	signedFrom: number;
	seen: ReturnType<typeof witnesses>;
	receipts: { path: string; isAgainst: (entry: unknown) => boolean }[];
};

/** Reads the lines of a file, without line breaks. Only one line is in memory at a time. */
async function* linesOf(path: string, read: Read): AsyncGenerator<Buffer> {
	const source = await read(path);
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
async function headerOf({ report }: Findings, path: string, read: Read): Promise<File | null> {
	try {
		for await (const line of linesOf(path, read)) {
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
	const jws = link?.signature;
	if (!link || !isIntact(line, link.digest))
		return { digest, jws, problem: "The line was changed: its digest doesn't match its content." };
	if (previous !== null && link.previous !== previous)
		return {
			digest,
			jws,
			problem:
				"The line doesn't follow the previous line: lines were removed, added or moved here.",
		};
	if (number !== null && jws === undefined && link.number !== number)
		return { digest, jws, problem: `The entry should have the number ${number}.` };
	return { digest, jws, problem: null };
}

/** What a file ended with. */
type Ending = {
	/** The digest of its last line; null if it isn't known. */
	digest: string | null;
	entries: number;
	/** Its signed head, if it is the service's. */
	head?: Head | undefined;
};

/** Checks an entry against receipts, and takes the signed heads in it as witnesses. */
async function checkEntry(
	found: Findings,
	at: [path: string, line: number],
	text: Buffer,
	trust: Trust,
) {
	const entry = parse(text);
	for (const { path, isAgainst } of trust.receipts)
		if (isAgainst(entry))
			found.report(...at, `The entry was made after the revocation of the receipt in ${path}.`);
	// Only those of the service count: anybody can write a text that looks like one.
	for (const jws of signaturesIn(text.toString())) {
		const { claims } = await checkHead(jws, trust.keys);
		if (claims) trust.seen.add(claims);
	}
	return Timed.safeParse(entry).data ?? null;
}

/** Checks the signed head of a file, and returns it if it is the service's. */
async function checkSignature(
	found: Findings,
	{ path, header }: File,
	jws: string | undefined,
	{ trust, ...last }: { trust: Trust; digest: string | null; at: number | null },
) {
	if (jws === undefined) {
		if (header.sequence >= trust.signedFrom) found.report(path, null, "The file isn't signed.");
		return undefined;
	}
	const { claims, problem } = await checkHead(jws, trust.keys);
	const wrong = problem ?? mismatch(claims, header, last);
	if (wrong) found.report(path, null, `The signature of the file ${wrong}.`);
	const other = claims && trust.seen.add(claims);
	if (other)
		found.report(path, null, `The service has signed two heads of file ${other.sequence}.`);
	return claims;
}

/**
 * Checks the lines of a file.
 * @param previous the digest that the first line must have as `previous`; null to skip this check
 */
async function checkLines(
	found: Findings,
	file: File,
	{ previous, trust, read }: { previous: string | null; trust: Trust | undefined; read: Read },
): Promise<Ending> {
	const { path, header } = file;
	let last = previous;
	let lines = 0;
	let signature: string | undefined;
	let signed: { digest: string | null; at: number | null } = { digest: previous, at: null };
	try {
		for await (const line of linesOf(path, read)) {
			const expected = lines > 0 ? header.first + lines - 1 : null;
			const { digest, problem, jws } = problemOf(line, last, expected);
			lines += 1;
			if (problem) found.report(path, lines, problem);
			if (signature !== undefined) found.report(path, lines, "A line follows the signature.");
			signature ??= jws;
			if (jws === undefined)
				signed = {
					digest,
					at: trust && lines > 1 ? await checkEntry(found, [path, lines], line, trust) : null,
				};
			last = digest;
			found.saw(digest);
		}
	} catch (error) {
		found.report(path, lines + 1, `The file can't be read: ${messageOf(error)}.`);
	}
	const entries = Math.max(lines - (signature === undefined ? 1 : 2), 0);
	if (entries !== header.count || header.last !== header.first + header.count - 1)
		found.report(
			path,
			null,
			`The file has ${entries} entries. Its first line says ${header.count}.`,
		);
	const head = trust && (await checkSignature(found, file, signature, { trust, ...signed }));
	return { digest: last, entries, head };
}

/** Checks that a file is where it belongs: its number, its folder and its organization. */
function checkPlace(found: Findings, { path, header }: File, organization: string | undefined) {
	const named = /^(\d{10})-/.exec(basename(path))?.[1];
	if (named !== undefined && Number(named) !== header.sequence)
		found.report(
			path,
			1,
			`The name has the number ${Number(named)}, but the first line has ${header.sequence}.`,
		);
	const folder = /([0-9a-f-]{36})[/\\]\d{4}[/\\]\d\d[/\\]\d\d[/\\][^/\\]+$/.exec(path)?.[1];
	if (folder !== undefined && folder !== header.stream)
		found.report(path, 1, `The file is in the folder of stream ${folder}.`);
	if (organization !== undefined && organization.toLowerCase() !== header.organization)
		found.report(path, 1, `The file is of the organization ${header.organization}.`);
}

/** Checks the files of one stream, in the order of their numbers. */
async function checkStream(
	found: Findings,
	[stream, files]: [string, File[]],
	{ after, organization, trust, read }: Options & { trust: Trust | undefined; read: Read },
) {
	let previous: string | null = after ?? genesis(stream);
	let sequence = after === undefined ? 0 : (files[0]?.header.sequence ?? 1) - 1;
	let signed: Head | undefined;
	const total = { entries: 0, digest: previous, missing: 0 };
	for (const file of files) {
		const { path, header } = file;
		checkPlace(found, file, organization);
		if (header.sequence === sequence) {
			found.report(path, 1, `There is more than one file ${sequence}.`);
			continue;
		}
		if (header.sequence !== sequence + 1) {
			found.report(path, 1, `${range(sequence + 1, header.sequence - 1)} missing before this one.`);
			previous = null;
		}
		({ sequence } = header);
		const checked = await checkLines(found, file, { previous, trust, read });
		if (signed && checked.head && isBefore(checked.head.iat, signed.iat))
			found.report(path, null, "The file was signed before the one before it.");
		signed = checked.head ?? signed;
		previous = checked.digest;
		total.entries += checked.entries;
		total.digest = checked.digest ?? total.digest;
		total.missing = header.missing;
	}
	const signed_at = signed ? new Date(signed.iat * 1000).toISOString() : null;
	return { stream, files: files.length, sequence, ...total, signed_at };
}

/** Reads what signatures are checked with; undefined without public keys. */
async function readTrust(found: Findings, options: Options): Promise<Trust | undefined> {
	const { jwks, signedFrom = 1, witness = [], receipt = [] } = options;
	if (jwks === undefined) return undefined;
	const trust: Trust = { keys: await readKeys(jwks), signedFrom, seen: witnesses(), receipts: [] };
	for (const path of witness) {
		const heads = signaturesIn(readFileSync(path, "utf8"));
		if (heads.length === 0) found.report(path, null, "The file has no signed heads.");
		for (const jws of heads) {
			const { claims, problem } = await checkHead(jws, trust.keys);
			if (!claims) found.report(path, null, `A signature in the file ${problem}.`);
			else if (trust.seen.add(claims))
				found.report(path, null, `The service has signed two heads of file ${claims.sequence}.`);
		}
	}
	for (const path of receipt) {
		const signatures = signaturesIn(readFileSync(path, "utf8"));
		if (signatures.length === 0) found.report(path, null, "The file has no receipt.");
		for (const jws of signatures) {
			const { claims, problem } = await checkReceipt(jws, trust.keys);
			if (!claims) found.report(path, null, `The receipt's signature ${problem}.`);
			else trust.receipts.push({ path, isAgainst: contradicts(claims) });
		}
	}
	return trust;
}

/** Compares the files with the heads that were kept elsewhere or are events in other files. */
function checkWitnesses(
	found: Findings,
	folder: string,
	streams: Map<string, File[]>,
	trust: Trust,
) {
	for (const [stream, files] of streams) {
		const last = Math.max(...files.map(({ header }) => header.sequence));
		for (const { sequence, iat } of trust.seen.of(stream))
			if (sequence > last)
				found.report(
					folder,
					null,
					`File ${sequence} of stream ${stream} is missing at the end. The service signed it at ${new Date(iat * 1000).toISOString()}.`,
				);
	}
}

/** Finds the files, by their streams, in the order of their numbers. */
async function findFiles(found: Findings, folder: string, { paths, read }: Place) {
	const names: string[] = [];
	for await (const path of paths()) if (/\.ndjson(\.gz)?$/.test(path)) names.push(path);
	if (names.length === 0)
		found.report(folder, null, "There are no files with names that end in .ndjson or .ndjson.gz.");
	const files: File[] = [];
	for (const path of names.sort()) {
		const file = await headerOf(found, path, read);
		if (file) files.push(file);
	}
	files.sort((a, b) => a.header.sequence - b.header.sequence);
	return Map.groupBy(files, ({ header }) => header.stream);
}

/**
 * Checks all files of streams in a folder or bucket: the digests of their lines, that each line follows the
 * one before, that no file is missing and, with public keys, that the service has signed each file
 * and those that were kept elsewhere.
 * @param folder its path, or the URL of a bucket (`openPlace`)
 * @throws if the folder, the keys or another file can't be read
 */
export async function verify(folder: string, { remote, ...options }: Options) {
	const place = await openPlace(folder, remote);
	try {
		return await verifyIn(place, folder, options);
	} finally {
		await place.close();
	}
}

async function verifyIn(place: Place, folder: string, options: Options) {
	const found = findings(options.head);
	const trust = await readTrust(found, options);
	const known = trust?.seen.streams() ?? [];
	const files = await findFiles(found, folder, place);
	const streams = [];
	const checking = { ...options, trust, read: place.read };
	for (const each of files) streams.push(await checkStream(found, each, checking));
	if (trust) checkWitnesses(found, folder, files, trust);
	for (const stream of known)
		if (!files.has(stream)) found.report(folder, null, `There are no files of stream ${stream}.`);
	if (!found.isHeadFound())
		found.report(
			folder,
			null,
			"None of the files has the digest of --head: files are missing at the end, or all files were replaced.",
		);
	const { problems, more_problems } = found.result();
	const ok = problems.length === 0;
	return { ok, signatures: trust !== undefined, streams, problems, more_problems };
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
export function describe({ ok, signatures, streams, problems, more_problems }: Result) {
	const lines = [
		...streams.map(({ stream, files, entries, sequence, digest, missing, signed_at }) =>
			[
				`Stream ${stream}: ${many(files, "file")}, ${many(entries, "entry", "entries")}.`,
				`  The last file is ${sequence}, with the digest ${digest}.`,
				...(signed_at ? [`  It was signed at ${signed_at}.`] : []),
				...(missing > 0
					? [
							`  Entries that were deleted before they could be delivered: ${missing.toLocaleString("en")}.`,
						]
					: []),
			].join("\n"),
		),
		...(signatures ? [] : ["Signatures weren't checked: that needs --jwks."]),
		...problems.map(({ file, line, problem }) =>
			escaped(`${file}${line ? `:${line}` : ""}: ${problem}`),
		),
		...(more_problems > 0 ? [`… and ${more_problems.toLocaleString("en")} more.`] : []),
		ok ? "The chain is intact." : many(problems.length + more_problems, "problem"),
	];
	return lines.join("\n");
}
