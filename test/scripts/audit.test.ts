import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { FORMAT, genesis, link } from "../../src/activity/audit_streams/chain.ts";
import { admin } from "../support/server.ts";

const STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab66";
const OTHER_STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab67";

/** The lines of files, each with so many entries, and the digest after them. */
function chained(counts: number[], { stream = STREAM, missing = 0, name = "Ü" } = {}) {
	let digest = genesis(stream);
	let number = 0;
	const add = (entry: object) => {
		const linked = link(entry, digest);
		({ digest } = linked);
		return linked.line;
	};
	const files = counts.map((count, i) => {
		const sequence = i + 1;
		const header = { format: FORMAT, stream, organization: "o", sequence, missing };
		return [
			add({ ...header, first: number + 1, last: number + count, count }),
			...Array.from({ length: count }, () => {
				number += 1;
				return add({ number, id: `entry-${number}`, data: { name } });
			}),
		];
	});
	return { files, digest };
}

let folder: string;

beforeEach(() => {
	const path = mkdtempSync(`${tmpdir()}/tenantry-audit-`);
	folder = path;
	onTestFinished(() => rmSync(path, { recursive: true }));
});

const fileName = (i: number) =>
	`2026/11/22/${String(i + 1).padStart(10, "0")}-20261122T100500Z.ndjson.gz`;

function save(name: string, bytes: string | Uint8Array) {
	mkdirSync(`${folder}/${name}`.replace(/\/[^/]+$/, ""), { recursive: true });
	writeFileSync(`${folder}/${name}`, bytes);
}

const saveAll = (files: string[][]) => {
	for (const [i, lines] of files.entries()) save(fileName(i), gzipSync(lines.join("")));
};

async function verify(...words: string[]) {
	const { code, out, err } = await admin(["audit", "verify", folder, ...words]);
	return { code, out: out.replaceAll(`${folder}/`, ""), err };
}

/** The problems that are found, as `file:line: problem`. */
async function problems(...words: string[]) {
	const { code, out } = await verify("--json", ...words);
	const result: { ok: boolean; problems: { file: string; line: number; problem: string }[] } =
		JSON.parse(out);
	expect(code).toBe(result.ok ? 0 : 1);
	return result.problems.map(
		({ file, line, problem }) => `${Number(/\d{10}/.exec(file)?.[0])}:${line}: ${problem}`,
	);
}

/** What the documentation's Python says. Null where there is no Python. */
async function python() {
	const page = readFileSync(`${import.meta.dirname}/../../docs/audit.md`, "utf8");
	const [, code = ""] = /```python\n([^`]+)```/.exec(page) ?? [];
	try {
		return (await promisify(execFile)("python3", ["-c", code, folder])).stdout;
	} catch (error) {
		const { code: exit, stderr = "" } = Object(error);
		return exit === "ENOENT" ? null : String(stderr).trim().split("\n").at(-1);
	}
}

test("files that nobody changed are accepted, packed or not, and the last digest is printed", async () => {
	const { files, digest } = chained([3, 2, 1]);
	saveAll(files);
	const said = `Stream ${STREAM}: 3 files, 6 entries.\n  The last file is 3, with the digest ${digest}.\nThe chain is intact.\n`;
	expect(await verify()).toEqual({ code: 0, out: said, err: "" });
	expect(await verify("--head", digest.toUpperCase())).toEqual({ code: 0, out: said, err: "" });
	expect([null, `${digest}\n`]).toContain(await python());
	rmSync(`${folder}/2026`, { recursive: true });
	for (const [i, lines] of files.entries()) save(`${i}.ndjson`, lines.join(""));
	expect((await verify("--json")).code).toBe(0);
});

const CHANGED = "The line was changed: its digest doesn't match its content.";
const BROKEN =
	"The line doesn't follow the previous line: lines were removed, added or moved here.";

describe("it is found when somebody", () => {
	/** What was done to the files of three, two and one entries, and what is said about it. */
	const tamperings: [string, (files: string[][]) => unknown, string[]][] = [
		[
			"changes an entry",
			([one]) => one?.splice(2, 1, String(one[2]).replace("Ü", "U")),
			[`1:3: ${CHANGED}`],
		],
		[
			"changes an entry and its digest",
			([one]) => {
				const entry = JSON.parse(String(one?.[2]));
				const { previous, digest: _, ...rest } = entry;
				one?.splice(2, 1, link({ ...rest, data: {} }, previous).line);
			},
			[`1:4: ${BROKEN}`],
		],
		[
			"removes an entry",
			([one]) => one?.splice(2, 1),
			[`1:3: ${BROKEN}`, "1:null: The file has 2 entries. Its first line says 3."],
		],
		[
			"adds an entry",
			([one]) => {
				const entry = JSON.parse(String(one?.[2]));
				one?.splice(3, 0, link({ number: 3, id: "forged" }, entry.digest).line);
			},
			[`1:5: ${BROKEN}`, "1:null: The file has 4 entries. Its first line says 3."],
		],
		[
			"moves an entry",
			([one]) => one?.splice(2, 2, String(one[3]), String(one[2])),
			[`1:3: ${BROKEN}`, `1:4: ${BROKEN}`, `2:1: ${BROKEN}`],
		],
		[
			"cuts off the end of a file",
			([one]) => one?.pop(),
			["1:null: The file has 2 entries. Its first line says 3.", `2:1: ${BROKEN}`],
		],
		[
			"says in the first line that there is less",
			([one]) => one?.splice(0, 1, String(one[0]).replace('"count":3', '"count":2')),
			[`1:1: ${CHANGED}`, "1:null: The file has 3 entries. Its first line says 2."],
		],
		[
			"removes a file",
			(files) => files.splice(1, 1, []),
			["3:1: File 2 is missing before this one."],
		],
		[
			"removes the first file",
			(files) => files.splice(0, 1, []),
			["2:1: File 1 is missing before this one."],
		],
		[
			"exchanges two files",
			(files) => files.splice(0, 2, files[1] ?? [], files[0] ?? []),
			[
				"2:1: The name has the number 2, but the first line has 1.",
				"1:1: The name has the number 1, but the first line has 2.",
			],
		],
	];

	test.each(tamperings)("%s", async (_, tamper, expected) => {
		const { files } = chained([3, 2, 1]);
		tamper(files);
		for (const [i, lines] of files.entries())
			if (lines.length > 0) save(fileName(i), gzipSync(lines.join("")));
		expect(await problems()).toEqual(expected);
		const said = await python();
		if (said !== null) expect(said).toMatch(/AssertionError: .*ndjson\.gz: a line/);
	});

	test("cuts off the newest files, with a digest that was kept elsewhere", async () => {
		const { files, digest } = chained([3, 2, 1]);
		saveAll(files.slice(0, 2));
		expect(await problems()).toEqual([]);
		expect(await problems("--head", digest)).toEqual([
			"NaN:null: None of the files has the digest of --head: files are missing at the end, or all files were replaced.",
		]);
		// A digest that was noted before the newest files came is in the middle.
		saveAll(files);
		const noted = JSON.parse(String(files[1]?.at(-1))).digest;
		expect(await problems("--head", noted)).toEqual([]);
	});

	test("writes the whole chain anew, with a digest that was kept elsewhere", async () => {
		const { digest } = chained([3, 2, 1]);
		saveAll(chained([3, 2, 1], { name: "forged" }).files);
		expect(await problems()).toEqual([]);
		expect(await problems("--head", digest)).toHaveLength(1);
	});

	test("puts in a copy, a file of another stream, one that is cut off, or one that is none", async () => {
		const { files } = chained([3, 2]);
		saveAll(files);
		save("copy.ndjson", String(files[1]?.join("")));
		expect(await problems()).toEqual(["NaN:1: There is more than one file 2."]);
		rmSync(`${folder}/copy.ndjson`);
		const other = chained([1, 1], { stream: OTHER_STREAM }).files;
		save("0000000002-x.ndjson", String(other[1]?.join("")));
		expect(await problems()).toEqual(["2:1: File 1 is missing before this one."]);
		rmSync(`${folder}/0000000002-x.ndjson`);
		save(fileName(1), gzipSync(String(files[1]?.join(""))).subarray(0, -12));
		expect((await problems())[0]).toMatch(
			/^2:\w+: The file can't be read: unexpected end of file\.$/,
		);
		save(fileName(1), gzipSync(String(files[1]?.join("")).slice(0, -20)));
		expect(await problems()).toContain("2:3: The file can't be read: its end is missing.");
		save(fileName(1), "Not gzip.");
		expect(await problems()).toEqual(["2:null: The file can't be read: incorrect header check."]);
		save(fileName(1), gzipSync("{}\n"));
		expect(await problems()).toEqual([
			"2:1: The first line isn't the first line of an audit file.",
		]);
	});
});

test("files whose predecessors are elsewhere are checked from a given digest on", async () => {
	const { files } = chained([3, 2, 1]);
	const after = JSON.parse(String(files[0]?.at(-1))).digest;
	for (const i of [1, 2]) save(fileName(i), gzipSync(String(files[i]?.join(""))));
	expect(await problems("--after", after)).toEqual([]);
	expect(await problems("--after", "0".repeat(64))).toEqual([`2:1: ${BROKEN}`]);
});

test("entries that were deleted before they could be delivered are reported", async () => {
	saveAll(chained([1], { missing: 1234 }).files);
	const { code, out } = await verify();
	expect(code).toBe(0);
	expect(out).toContain("Entries that were deleted before they could be delivered: 1,234.");
});

test("a folder without files, a missing one and a wrong digest have exit codes of their own", async () => {
	expect(await verify()).toMatchObject({
		code: 1,
		out: expect.stringContaining("There are no files"),
	});
	expect(await verify("--head", "12")).toMatchObject({
		code: 2,
		err: "Not a SHA-256 digest (64 hexadecimal digits): 12\n",
	});
	const missing = await admin(["audit", "verify", `${folder}/nowhere`]);
	expect(missing).toMatchObject({
		code: 2,
		err: expect.stringContaining("no such file or directory"),
	});
});

test("a forged file can't hide what is found, or print anything else", async () => {
	const hidden = "\u001b[8m\u009b8m\u202e\r\n\u{e0041}";
	const { files } = chained([1]);
	saveAll(files.map((lines) => lines.map((line) => line.replace("Ü", "U"))));
	const forged = chained([1], { stream: `${OTHER_STREAM}${hidden}` }).files;
	save(`${hidden}.ndjson`, String(forged[0]?.join("")));
	save(`real${hidden}.ndjson`, String(chained([1], { stream: OTHER_STREAM }).files[0]?.[0]));
	const name = "\\u001b[8m\\u009b8m\\u202e\\u000d\\u000a\\udb40\\udc41.ndjson";
	const { code, out } = await verify();
	expect(code).toBe(1);
	expect(out).toContain(`${name}:1: The first line isn't the first line of an audit file.\n`);
	expect(out).toContain(`real${name}: The file has 0 entries. Its first line says 1.\n`);
	expect(out).toContain(CHANGED);
	expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
	const { out: json } = await verify("--json");
	expect(json.trim()).not.toMatch(/\p{Cc}|\p{Cf}/u);
	const named = JSON.parse(json).problems.map(({ file }: { file: string }) => file);
	expect(named).toContain(`${hidden}.ndjson`);
});

test("many problems are counted, and the first hundred listed", async () => {
	const { files } = chained([1000]);
	save(
		fileName(0),
		gzipSync(
			files
				.flat()
				.map((line) => line.replace("Ü", "U"))
				.join(""),
		),
	);
	const { code, out } = await verify("--json");
	expect(code).toBe(1);
	expect(JSON.parse(out)).toMatchObject({ more_problems: 900 });
	expect((await verify()).out).toContain("… and 900 more.\n1,000 problems");
});

test("a file that is larger than the memory is checked", async () => {
	const { files } = chained([40_000], { name: "x".repeat(10_000) });
	save(
		fileName(0),
		gzipSync(Buffer.concat(files.flat().map((line) => Buffer.from(line))), { level: 1 }),
	);
	const script = `import("${import.meta.dirname}/../../scripts/audit.ts").then(async ({ verify }) => {
		let bytes = 0;
		setInterval(() => (bytes = Math.max(bytes, process.memoryUsage.rss())), 5).unref();
		const { ok, streams } = await verify(process.argv[1], {});
		console.log(JSON.stringify({ ok, entries: streams[0].entries, megabytes: bytes / 2 ** 20 }));
	})`;
	const { stdout } = await promisify(execFile)(process.execPath, ["-e", script, folder]);
	const { ok, entries, megabytes } = JSON.parse(stdout);
	expect({ ok, entries }).toEqual({ ok: true, entries: 40_000 });
	// The file has 400 MB of text.
	expect(megabytes).toBeLessThan(300);
});
