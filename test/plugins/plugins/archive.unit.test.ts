import { gzipSync } from "node:zlib";
import { packTar, type TarHeader } from "modern-tar";
import { describe, expect, test } from "vitest";
import { unpack } from "../../../src/plugins/plugins/archive.ts";
import { manifest } from "../../../src/plugins/plugins/manifest.ts";

const MIB = 2 ** 20;

const OUTSIDE = "The archive has a path that points outside the archive.";
const NO_NAME = "The archive has a path that is not a valid file name.";
const LONG = `${"x/".repeat(60)}${"y".repeat(136)}`;

type Entries = [path: string, body: string | Uint8Array][];

const bytesOf = (body: string | Uint8Array) =>
	typeof body === "string" ? Buffer.from(body) : body;

const header = (name: string, body: string | Uint8Array): TarHeader => ({
	name,
	size: bytesOf(body).length,
	type: "file",
});

const tgz = async (entries: Entries) =>
	gzipSync(await packTar(entries.map(([name, body]) => ({ header: header(name, body), body }))));

const expectRefused = (archive: Uint8Array, detail: string) =>
	expect(unpack(archive)).rejects.toMatchObject({
		status: 400,
		body: { code: "invalid_input", attr: null, detail },
	});

/**
 * A copy of the archive with these bytes written at an offset from the first occurrence of the
 * text.
 */
function patched(archive: Uint8Array, text: string, offset: number, bytes: number[]) {
	const copy = Uint8Array.from(archive);
	const at = Buffer.from(copy.buffer).indexOf(text, 0, "latin1");
	expect(at).toBeGreaterThan(-1);
	copy.set(bytes, at + offset);
	return copy;
}

const plugin: Entries = [
	["top/plugin.json", '{"name": "Hello"}'],
	["top/src/index.js", "// ü\n"],
	["top/logo.png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0)],
	["top/latin.txt", Uint8Array.of(0xfc)],
];
const texts = { "plugin.json": '{"name": "Hello"}', "src/index.js": "// ü\n" };

const MANY = Array.from({ length: 1001 }, (_, i): Entries[number] => [`${i}.txt`, ""]);

describe("an archive", () => {
	test("is unpacked without its top-level folder and without binary files", async () => {
		expect(Object.fromEntries(await unpack(await tgz(plugin)))).toEqual(texts);
		const bare: Entries = plugin.map(([path, body]) => [path.slice(4), body]);
		expect(Object.fromEntries(await unpack(await tgz(bare)))).toEqual(texts);
		expect([...(await unpack(await tgz([["a/b/c.txt", "c"]]))).keys()]).toEqual(["b/c.txt"]);
		expect((await unpack(await tgz([]))).size).toBe(0);
		expect((await unpack(await tgz(MANY.slice(1)))).size).toBe(1000);
	});

	test.each<[what: string, entries: Entries, detail: string]>([
		...["../a", "a/../../b", "a/..", "/etc/passwd", "C:/a", "c:a"].map(
			(path): [string, Entries, string] => [path, [[path, ""]], OUTSIDE],
		),
		...["a\nb", "a\x7f", "a\\b", LONG].map((path): [string, Entries, string] => [
			JSON.stringify(path),
			[[path, ""]],
			NO_NAME,
		]),
		["1,001 entries", MANY, "The archive has more than 1000 entries."],
		[
			"a file of more than 16 MiB",
			[["a.txt", new Uint8Array(16 * MIB + 1)]],
			"The archive unpacks to more than 16 MiB.",
		],
		[
			"two files of 9 MiB each",
			[
				["a.txt", new Uint8Array(9 * MIB)],
				["b.txt", new Uint8Array(9 * MIB)],
			],
			"The archive unpacks to more than 16 MiB.",
		],
		[
			"two plugin.json at the same level",
			[
				["a/plugin.json", "{}"],
				["b/plugin.json", "{}"],
			],
			"The archive has more than one plugin.json.",
		],
		[
			"two spellings of a path",
			[
				["a/plugin.json", "{}"],
				["a/./plugin.json", "{}"],
			],
			"The archive has more than one plugin.json.",
		],
	])("with %s is rejected", async (_, entries, detail) => {
		await expectRefused(await tgz(entries), detail);
	});

	test("may have a plugin.json below another one", async () => {
		const entries = ["plugin.json", "a/plugin.json", "b/plugin.json"];
		expect((await unpack(await tgz(entries.map((path) => [path, "{}"])))).size).toBe(3);
	});

	test("that is truncated at any byte is rejected", async () => {
		const archive = await tgz(plugin);
		for (let length = 3; length < archive.length; length += 7)
			await expectRefused(archive.subarray(0, length), "The archive is broken.");
	});

	test("with a corrupted byte is either rejected or unpacked", async () => {
		const archive = await tgz(plugin);
		for (let i = 2; i < archive.length; i++) {
			const copy = Uint8Array.from(archive, (byte, at) => (at === i ? byte ^ 0xff : byte));
			await unpack(copy).then(
				(files) => expect(files).toBeInstanceOf(Map),
				(error) => expect(error).toMatchObject({ status: 400 }),
			);
		}
	});

	test("larger than 10 MiB is rejected", async () => {
		const larger = new Uint8Array(10 * MIB + 1);
		larger.set(await tgz(plugin));
		await expectRefused(larger, "The archive is larger than 10 MiB.");
	});

	test("that is not gzip is rejected", async () => {
		for (const text of ["", "P", "PK\x03\x04", "plugin.json", "\x1f"])
			await expectRefused(Buffer.from(text, "latin1"), "The archive is not a .tgz file.");
	});

	test("is unpacked without its links and devices", async () => {
		const archive = await packTar([
			{ header: header("top/plugin.json", "{}"), body: "{}" },
			...(["symlink", "link", "fifo", "character-device"] as const).map((type) => ({
				header: { name: "top/index.js", size: 0, type, linkname: "../../etc/passwd" },
			})),
			{ header: { name: "top/folder/", size: 0, type: "directory" } },
		]);
		expect([...(await unpack(gzipSync(archive))).keys()]).toEqual(["plugin.json"]);
	});

	test("with a link at an unsafe path is rejected", async () => {
		const archive = await packTar([
			{ header: { name: "../a", size: 0, type: "symlink", linkname: "b" } },
		]);
		await expectRefused(gzipSync(archive), OUTSIDE);
	});
});

describe("an extended header", () => {
	const extended = async (type: "pax-header" | "pax-global-header", body: string) =>
		gzipSync(
			await packTar([
				{ header: { name: "extended", size: body.length, type }, body },
				{ header: header("a.txt", "a"), body: "a" },
			]),
		);

	test("can contain records", async () => {
		const path = `${"long".repeat(50)}.txt`;
		expect([...(await unpack(await tgz([[path, ""]]))).keys()]).toEqual([path]);
		for (const body of ["", "10 path=b\n", "15 comment=1 2\n10 path=b\n"])
			expect((await unpack(await extended("pax-header", body))).size).toBe(1);
		const commit = `52 comment=${"1".repeat(40)}\n`;
		expect((await unpack(await extended("pax-global-header", commit))).size).toBe(1);
	});

	test.each(["1\n1\n1\n1 ", "10 path=b\n1\n1 ", "2 path=b\n", "path=b\n", "-9 path=b\n"])(
		"with the records %j, which can take quadratic time to read, is rejected",
		async (body) => {
			for (const type of ["pax-header", "pax-global-header"] as const)
				await expectRefused(await extended(type, body), "The archive is broken.");
		},
	);

	test("can have 10,000 records, together with the others of the archive", async () => {
		const records = (count: number) => extended("pax-header", "5 a=\n".repeat(count));
		expect((await unpack(await records(10_000))).size).toBe(1);
		await expectRefused(await records(10_001), "The archive is broken.");
	});

	test("whose size is written in the binary form is rejected", async () => {
		const body = "1\n1\n1 ";
		const tar = await packTar([
			{ header: { name: "extended", size: body.length, type: "pax-header" }, body },
		]);
		// The size is at 124, and the checksum, whose last digits these are, at 148.
		const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
		const size = [0x80, ...Array(10).fill(0), body.length];
		const copy = patched(tar, "extended", 124, size);
		const stored = (bytes: Uint8Array) =>
			Number.parseInt(Buffer.from(bytes.subarray(148, 154)).toString(), 8);
		const changed =
			stored(tar) - sum + copy.subarray(0, 512).reduce((total, byte) => total + byte, 0);
		copy.set(Buffer.from(changed.toString(8).padStart(6, "0")), 148);
		await expectRefused(gzipSync(copy), "The archive is broken.");
	});
});

test("a path that is too long is rejected, however many segments it has", async () => {
	const body = "a/".repeat(2 ** 20);
	const tar = await packTar([
		{ header: { name: "name", size: body.length, type: "gnu-long-name" }, body },
		{ header: header("a.txt", ""), body: "" },
	]);
	await expectRefused(gzipSync(tar), NO_NAME);
});

test("a tgz that declares a larger size than it has is rejected", async () => {
	const tar = await packTar([{ header: header("a.txt", "a"), body: "a" }]);
	await expectRefused(gzipSync(tar.subarray(0, 700)), "The archive is broken.");
	const wrongSize = patched(tar, "ustar", -3, [0x39]);
	await expectRefused(gzipSync(wrongSize), "The archive is broken.");
});

describe("plugin.json", () => {
	const read = (text: string, ...paths: string[]) =>
		manifest(
			new Map([["plugin.json", text], ...paths.map((path): [string, string] => [path, ""])]),
		);

	test("describes the plugin", () => {
		const config = [{ key: "a", type: "string" }];
		const publicJobs = { export: {} };
		const described = { name: "Hello", description: "Greets", icon: "https://example.com/a.png" };
		const text = JSON.stringify({
			...described,
			main: "./src/main.ts",
			config,
			publicJobs,
			posthogVersion: ">= 1",
		});
		expect(read(text, "src/main.ts", "index.js")).toEqual({
			...described,
			main: "src/main.ts",
			config_schema: config,
			public_jobs: publicJobs,
		});
		expect(read("{}", "index.ts")).toEqual({
			name: "",
			description: "",
			icon: null,
			main: "index.ts",
			config_schema: [],
			public_jobs: {},
		});
	});

	test.each([
		[["dist/index.js", "index.ts", "index.js"], "index.js"],
		[["dist/index.js"], "dist/index.js"],
		[["frontend.tsx"], null],
		[["site.ts", "index.js"], "index.js"],
	])("with %j has the main file %j", (paths, main) => {
		expect(read("{}", ...paths)).toMatchObject({ main });
	});

	test.each([
		["{}", "Could not find main file index.js or index.ts in plugin"],
		['{"main": "a.js"}', "Could not find main file a.js in plugin"],
		[`{"main": "${"a".repeat(256)}"}`, /^Could not read plugin\.json\.main: .* 255 characters\.$/],
		["[]", /^Could not read plugin\.json: /],
		["{", /^Could not read plugin\.json: SyntaxError: /],
		['{"name": 1}', /^Could not read plugin\.json\.name: /],
		[
			'{"name": "a\\u0007b"}',
			"Could not read plugin.json.name: Control characters are not allowed.",
		],
		[
			'{"config": 1}',
			"Could not read plugin.json.config: Expected a list or a dictionary of items.",
		],
		['{"publicJobs": []}', /^Could not read plugin\.json\.publicJobs: /],
	])("%s is rejected", (text, message) => {
		expect(() => read(text)).toThrow(message);
	});

	test("is required", () => {
		expect(() => manifest(new Map())).toThrow("Could not find plugin.json in the plugin");
	});
});
