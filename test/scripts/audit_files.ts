/** Files of an audit stream in a folder of the test, and what somebody could do to them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { beforeEach, onTestFinished } from "vitest";
import { FORMAT, genesis, link } from "../../src/activity/audit_streams/chain.ts";

export const STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab66";
export const OTHER_STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab67";

/** The lines of files, each with so many entries, and the digest after them. */
export function chained(counts: number[], { stream = STREAM, missing = 0, name = "Ü" } = {}) {
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

export let folder: string;

beforeEach(() => {
	const path = mkdtempSync(`${tmpdir()}/tenantry-audit-`);
	folder = path;
	onTestFinished(() => rmSync(path, { recursive: true }));
});

export const fileName = (i: number) =>
	`2026/11/22/${String(i + 1).padStart(10, "0")}-20261122T100500Z.ndjson.gz`;

export function save(name: string, bytes: string | Uint8Array) {
	mkdirSync(`${folder}/${name}`.replace(/\/[^/]+$/, ""), { recursive: true });
	writeFileSync(`${folder}/${name}`, bytes);
}

/** Saves files, but not empty ones. */
export const saveAll = (files: string[][]) => {
	for (const [i, lines] of files.entries())
		if (lines.length > 0) save(fileName(i), gzipSync(lines.join("")));
};

export const CHANGED = "The line was changed: its digest doesn't match its content.";
export const BROKEN =
	"The line doesn't follow the previous line: lines were removed, added or moved here.";

/** What was done to the files of three, two and one entries, and what is said about it. */
export const TAMPERINGS: [string, (files: string[][]) => unknown, string[]][] = [
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
