import { rmSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import * as audit from "../../scripts/audit.ts";
import {
	BROKEN,
	CHANGED,
	chained,
	fileName,
	folder,
	OTHER_STREAM,
	STREAM,
	save,
	saveAll,
	TAMPERINGS,
	useFolder,
} from "./audit_files.ts";

useFolder();

const verify = (options: audit.Options = {}) => audit.verify(folder, options);

/** What is printed. */
const described = async () => audit.describe(await verify()).replaceAll(`${folder}/`, "");

/** The problems that are found, as `number:line: problem`. */
const problems = async (options?: audit.Options) =>
	(await verify(options)).problems.map(
		({ file, line, problem }) => `${Number(/\d{10}/.exec(file)?.[0])}:${line}: ${problem}`,
	);

test("files that nobody changed are accepted, packed or not, and the last digest is printed", async () => {
	const { files, digest } = chained([3, 2, 1]);
	saveAll(files);
	const said = `Stream ${STREAM}: 3 files, 6 entries.\n  The last file is 3, with the digest ${digest}.\nSignatures weren't checked: that needs --jwks.\nThe chain is intact.`;
	expect(await described()).toBe(said);
	expect(await verify({ head: digest })).toMatchObject({ ok: true });
	rmSync(`${folder}/2026`, { recursive: true });
	for (const [i, lines] of files.entries()) save(`${i}.ndjson`, lines.join(""));
	expect(await verify()).toMatchObject({ ok: true });
});

describe("it is found when somebody", () => {
	test.each(TAMPERINGS)("%s", async (_, tamper, expected) => {
		const { files } = chained([3, 2, 1]);
		tamper(files);
		saveAll(files);
		expect(await problems()).toEqual(expected);
	});

	test("cuts off the newest files, with a digest that was kept elsewhere", async () => {
		const { files, digest } = chained([3, 2, 1]);
		saveAll(files.slice(0, 2));
		expect(await problems()).toEqual([]);
		expect(await problems({ head: digest })).toEqual([
			"NaN:null: None of the files has the digest of --head: files are missing at the end, or all files were replaced.",
		]);
		// A digest that was noted before the newest files came is in the middle.
		saveAll(files);
		const noted = JSON.parse(String(files[1]?.at(-1))).digest;
		expect(await problems({ head: noted })).toEqual([]);
	});

	test("writes the whole chain anew, with a digest that was kept elsewhere", async () => {
		const { digest } = chained([3, 2, 1]);
		saveAll(chained([3, 2, 1], { name: "forged" }).files);
		expect(await problems()).toEqual([]);
		expect(await problems({ head: digest })).toHaveLength(1);
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
	expect(await problems({ after })).toEqual([]);
	expect(await problems({ after: "0".repeat(64) })).toEqual([`2:1: ${BROKEN}`]);
});

test("entries that were deleted before they could be delivered are reported", async () => {
	saveAll(chained([1], { missing: 1234 }).files);
	expect(await described()).toContain(
		"Entries that were deleted before they could be delivered: 1,234.",
	);
});

test("a forged file can't hide what is found, or print anything else", async () => {
	const hidden = "\u001b[8m\u009b8m\u202e\r\n\u{e0041}";
	const { files } = chained([1]);
	saveAll(files.map((lines) => lines.map((line) => line.replace("Ü", "U"))));
	const forged = chained([1], { stream: `${OTHER_STREAM}${hidden}` }).files;
	save(`${hidden}.ndjson`, String(forged[0]?.join("")));
	save(`real${hidden}.ndjson`, String(chained([1], { stream: OTHER_STREAM }).files[0]?.[0]));
	const name = "\\u001b[8m\\u009b8m\\u202e\\u000d\\u000a\\udb40\\udc41.ndjson";
	const out = await described();
	expect(out).toContain(`${name}:1: The first line isn't the first line of an audit file.\n`);
	expect(out).toContain(`real${name}: The file has 0 entries. Its first line says 1.\n`);
	expect(out).toContain(CHANGED);
	expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
	const json = audit.toJson(await verify());
	expect(json).not.toMatch(/\p{Cc}|\p{Cf}/u);
	const named = JSON.parse(json).problems.map(({ file }: { file: string }) => file);
	expect(named).toContain(`${folder}/${hidden}.ndjson`);
});

test("many problems are counted, and the first hundred listed", async () => {
	const [lines = []] = chained([1000]).files;
	saveAll([lines.map((line) => line.replace("Ü", "U"))]);
	const result = await verify();
	expect(result).toMatchObject({ ok: false, more_problems: 900 });
	expect(result.problems).toHaveLength(100);
	expect(await described()).toMatch(/… and 900 more\.\n1,000 problems$/);
});

test("a folder without files is a problem", async () => {
	expect((await problems())[0]).toContain("There are no files");
});
