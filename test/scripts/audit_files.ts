/** Files of an audit stream in a folder of the test, and what somebody could do to them. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { beforeEach, onTestFinished } from "vitest";
import { FORMAT, genesis, link } from "../../src/activity/audit_streams/chain.ts";

export const STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab66";
export const OTHER_STREAM = "01a202f6-9593-74a0-a20a-0a7928f4ab67";

/** A key of the service, and the times at which it signs, in seconds since 1970. */
export function newSigner({ nbf = 0, exp }: { nbf?: number; exp?: number } = {}) {
	const { publicKey, privateKey } = generateKeyPairSync("ed25519");
	const { kty, crv, x } = publicKey.export({ format: "jwk" });
	const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
	const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
	return {
		jwk: { kty, crv, x, kid, alg: "EdDSA", use: "sig", nbf, ...(exp && { exp }) },
		/** Signs claims with Node's crypto, as the service does with a library. */
		sign(claims: object, typ = "audit-head+jwt", header: object = {}) {
			const signed = [{ alg: "EdDSA", kid, typ, ...header }, claims].map(part).join(".");
			return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;
		},
	};
}

export type Signer = ReturnType<typeof newSigner>;

/** When the entries of a file were made, in milliseconds since 1970. */
export const START = Date.UTC(2026, 10, 22);
export const madeAt = (sequence: number) => START + sequence * 3_600_000;

/** The lines of signed files, each with so many entries, their claims and the digest after them. */
export function signedFiles(
	counts: number[],
	{
		signer,
		stream = STREAM,
		organization = "01a202f6-0000-74a0-a20a-0a7928f4ab66",
		entry = {},
	}: { signer: Signer; stream?: string; organization?: string; entry?: object },
) {
	let digest = genesis(stream);
	let number = 0;
	const heads: string[] = [];
	const add = (line: object) => {
		const linked = link(line, digest);
		({ digest } = linked);
		return linked.line;
	};
	const files = counts.map((count, i) => {
		const sequence = i + 1;
		const of = { stream, organization, sequence, first: number + 1, last: number + count, count };
		const facts = { ...of, missing: 0 };
		const lines = [add({ format: FORMAT, ...facts })];
		for (let n = 0; n < count; n += 1) {
			number += 1;
			const created_at = new Date(madeAt(sequence)).toISOString();
			const id = `01a202f6-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
			lines.push(add({ number, id, type: "project.updated", created_at, ...entry }));
		}
		const iat = madeAt(sequence + 1) / 1000;
		const signature = signer.sign({ iat, ...facts, head: digest });
		heads.push(signature);
		return [...lines, add({ signature })];
	});
	return { files, digest, heads };
}

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

/** Gives each test of a file a folder. A module that test files share is loaded once for all. */
export const useFolder = () =>
	beforeEach(() => {
		const path = mkdtempSync(`${tmpdir()}/tenantry-audit-`);
		folder = path;
		onTestFinished(() => rmSync(path, { recursive: true, force: true }));
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
