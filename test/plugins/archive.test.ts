import { deflateRawSync, gzipSync } from "node:zlib";
import { strToU8, zipSync } from "fflate";
import { packTar, type TarHeader } from "modern-tar";
import { describe, expect, test } from "vitest";
import { unpack } from "../../src/plugins/archive.ts";
import { manifest } from "../../src/plugins/manifest.ts";

const MIB = 2 ** 20;

type Entries = [path: string, body: string | Uint8Array][];

const bytesOf = (body: string | Uint8Array) =>
	typeof body === "string" ? strToU8(body) : body;

const header = (name: string, body: string | Uint8Array): TarHeader => ({
	name,
	size: bytesOf(body).length,
	type: "file",
});

const tgz = async (entries: Entries) =>
	gzipSync(
		await packTar(
			entries.map(([name, body]) => ({ header: header(name, body), body })),
		),
	);

const zip = async (entries: Entries) =>
	zipSync(
		Object.fromEntries(entries.map(([path, body]) => [path, bytesOf(body)])),
	);

const refused = (archive: Uint8Array, detail: string) =>
	expect(unpack(archive)).rejects.toMatchObject({
		status: 400,
		body: { code: "invalid_input", attr: null, detail },
	});

/** The archive with these bytes put where the text first stands, or a distance from there. */
function patched(
	archive: Uint8Array,
	text: string,
	distance: number,
	bytes: number[],
) {
	const copy = Uint8Array.from(archive);
	const at = Buffer.from(copy.buffer).indexOf(text, 0, "latin1");
	expect(at).toBeGreaterThan(-1);
	copy.set(bytes, at + distance);
	return copy;
}

const CENTRAL = "PK\x01\x02";
const END = "PK\x05\x06";
const plugin: Entries = [
	["top/plugin.json", '{"name": "Hello"}'],
	["top/src/index.js", "// ü\n"],
	["top/logo.png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0)],
	["top/latin.txt", Uint8Array.of(0xfc)],
];
const texts = { "plugin.json": '{"name": "Hello"}', "src/index.js": "// ü\n" };

describe.each([
	["zip", zip],
	["tgz", tgz],
])("a %s", (_, pack) => {
	test("is read without the folder that all is in, and without what is no text", async () => {
		expect(Object.fromEntries(await unpack(await pack(plugin)))).toEqual(texts);
		const bare: Entries = plugin.map(([path, body]) => [path.slice(4), body]);
		expect(Object.fromEntries(await unpack(await pack(bare)))).toEqual(texts);
		const nested: Entries = [["a/b/c.txt", "c"]];
		expect([...(await unpack(await pack(nested))).keys()]).toEqual(["b/c.txt"]);
		expect((await unpack(await pack([]))).size).toBe(0);
	});

	test.each(["../a", "a/../../b", "a/.."])(
		"with %s is refused",
		async (path) => {
			await refused(
				await pack([[path, ""]]),
				"The archive has a path that leads out of it.",
			);
		},
	);

	test.each(["/etc/passwd", "C:/a", "c:a"])(
		"with %s is refused",
		async (path) => {
			await refused(
				await pack([[path, ""]]),
				"The archive has a path that leads out of it.",
			);
		},
	);

	test.each(["a\nb", "a\x7f", `${"x/".repeat(60)}${"y".repeat(136)}`])(
		"with a name like %j is refused",
		async (path) => {
			await refused(
				await pack([[path, ""]]),
				"The archive has a path that is no proper file name.",
			);
		},
	);

	test("has at most 1,000 entries", async () => {
		const many = (n: number): Entries =>
			Array.from({ length: n }, (_, i) => [`${i}.txt`, ""]);
		expect((await unpack(await pack(many(1000)))).size).toBe(1000);
		await refused(
			await pack(many(1001)),
			"The archive has more than 1000 entries.",
		);
	});

	test("that is a bomb is refused", async () => {
		await refused(
			await pack([["a.txt", new Uint8Array(16 * MIB + 1)]]),
			"The archive unpacks to more than 16 MiB.",
		);
		await refused(
			await pack([
				["a.txt", new Uint8Array(9 * MIB)],
				["b.txt", new Uint8Array(9 * MIB)],
			]),
			"The archive unpacks to more than 16 MiB.",
		);
	});

	test("that is cut off anywhere is refused", async () => {
		const archive = await pack(plugin);
		for (let length = 3; length < archive.length; length += 7)
			await refused(archive.subarray(0, length), "The archive is broken.");
	});

	test("in which any byte is another one is refused, or read as it would be", async () => {
		const archive = await pack(plugin);
		for (let i = 2; i < archive.length; i++) {
			const copy = Uint8Array.from(archive, (byte, at) =>
				at === i ? byte ^ 0xff : byte,
			);
			await unpack(copy).then(
				(files) => expect(files).toBeInstanceOf(Map),
				(error) => expect(error).toMatchObject({ status: 400 }),
			);
		}
	});

	test("with two plugin.json at the same level is refused", async () => {
		await refused(
			await pack([
				["a/plugin.json", "{}"],
				["b/plugin.json", "{}"],
			]),
			"The archive has more than one plugin.json.",
		);
		await refused(
			await pack([
				["a/plugin.json", "{}"],
				["a/./plugin.json", "{}"],
			]),
			"The archive has more than one plugin.json.",
		);
		const example: Entries = [
			["plugin.json", "{}"],
			["a/plugin.json", "{}"],
			["b/plugin.json", "{}"],
		];
		expect((await unpack(await pack(example))).size).toBe(3);
	});

	test("is no larger than 10 MiB", async () => {
		const archive = await pack(plugin);
		const larger = new Uint8Array(10 * MIB + 1);
		larger.set(archive);
		await refused(larger, "The archive is larger than 10 MiB.");
	});
});

test("anything else is no archive", async () => {
	for (const bytes of ["", "P", "plugin.json", "\x1f"])
		await refused(
			strToU8(bytes, true),
			"The archive is neither a zip nor a tgz.",
		);
});

describe("links and devices in a tgz", () => {
	test.each([
		{ type: "symlink", linkname: "../../etc/passwd" },
		{ type: "link", linkname: "top/plugin.json" },
		{ type: "fifo" },
		{ type: "character-device" },
	] as const)("$type is passed over", async (special) => {
		const archive = await packTar([
			{ header: header("top/plugin.json", "{}"), body: "{}" },
			{ header: { name: "top/index.js", size: 0, ...special } },
			{ header: { name: "top/folder/", size: 0, type: "directory" } },
		]);
		const files = await unpack(gzipSync(archive));
		expect([...files.keys()]).toEqual(["plugin.json"]);
	});

	test("the name of a link is looked at all the same", async () => {
		const archive = await packTar([
			{ header: { name: "../a", size: 0, type: "symlink", linkname: "b" } },
		]);
		await refused(
			gzipSync(archive),
			"The archive has a path that leads out of it.",
		);
	});
});

test("a tgz that says it is longer than it is", async () => {
	const tar = await packTar([{ header: header("a.txt", "a"), body: "a" }]);
	await refused(gzipSync(tar.subarray(0, 700)), "The archive is broken.");
	const wrong = patched(tar, "ustar", -3, [0x39]);
	await refused(gzipSync(wrong), "The archive is broken.");
});

describe("what a zip says of itself", () => {
	const one = zipSync({ "a.txt": strToU8("a".repeat(1000)) });

	test("a link is passed over", async () => {
		const linked = zipSync({
			"index.js": [
				strToU8("../../etc/passwd"),
				{ os: 3, attrs: (0o120777 << 16) >>> 0 },
			],
			"plugin.json": strToU8("{}"),
		});
		expect([...(await unpack(linked)).keys()]).toEqual(["plugin.json"]);
	});

	test("an encrypted one is refused", () =>
		refused(patched(one, CENTRAL, 8, [1]), "The archive is encrypted."));

	test("an unusual compression is refused", () =>
		refused(
			patched(one, CENTRAL, 10, [99]),
			"The archive is compressed in an unusual way.",
		));

	test("a folder and a comment do no harm", async () => {
		const commented = Buffer.concat([
			patched(one, END, 20, [2, 0]),
			Buffer.from("PK"),
		]);
		expect((await unpack(commented)).get("a.txt")).toHaveLength(1000);
		const folder = zipSync({ "a/": new Uint8Array(), "a/b.txt": strToU8("b") });
		expect([...(await unpack(folder)).keys()]).toEqual(["b.txt"]);
	});

	test("backslashes are separators", async () => {
		await refused(
			zipSync({ "..\\a": strToU8("") }),
			"The archive has a path that leads out of it.",
		);
		const files = await unpack(zipSync({ "a\\b.txt": strToU8("b") }));
		expect([...files.keys()]).toEqual(["b.txt"]);
	});

	test.each([
		["a checksum", patched(one, CENTRAL, 16, [1, 2, 3, 4])],
		["a size", patched(one, CENTRAL, 24, [0, 8])],
		["a packed size", patched(one, CENTRAL, 20, [1, 0])],
		["a place", patched(one, CENTRAL, 42, [9])],
		["a place beyond the end", patched(one, CENTRAL, 42, [255, 255, 255, 255])],
		["a directory elsewhere", patched(one, END, 16, [1])],
		["a number of entries", patched(one, END, 10, [2])],
	])("%s that is wrong is refused", (_, archive) =>
		refused(archive, "The archive is broken."),
	);

	test("a bomb that states to be small is stopped at what it states", async () => {
		const small = zipSync({ "a.txt": [strToU8("x"), { level: 0 }] });
		const bomb = deflateRawSync(new Uint8Array(100 * MIB));
		// Local header and name, then the bomb in place of the one byte, then the directory.
		const local = 30 + "a.txt".length;
		const archive = Buffer.concat([
			small.subarray(0, local),
			bomb,
			small.subarray(local + 1),
		]);
		const view = new DataView(
			archive.buffer,
			archive.byteOffset,
			archive.length,
		);
		const directory = local + bomb.length;
		view.setUint16(directory + 10, 8, true);
		view.setUint32(directory + 20, bomb.length, true);
		view.setUint32(archive.length - 22 + 16, directory, true);
		// Unpacked as a whole, it would merely be broken: it isn't as long as it states.
		await refused(archive, "A file in the archive is larger than it states.");
	});
});

describe("plugin.json", () => {
	const read = (text: string, ...paths: string[]) =>
		manifest(
			new Map([
				["plugin.json", text],
				...paths.map((path): [string, string] => [path, ""]),
			]),
		);

	test("says what the plugin is", () => {
		const config = [{ key: "a", type: "string" }];
		const publicJobs = { export: {} };
		const text = JSON.stringify({
			name: "Hello",
			description: "Greets",
			icon: "https://example.com/a.png",
			main: "./src/main.ts",
			config,
			publicJobs,
			posthogVersion: ">= 1",
		});
		expect(read(text, "src/main.ts", "index.js")).toEqual({
			name: "Hello",
			description: "Greets",
			icon: "https://example.com/a.png",
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
		["[]", /^Could not read plugin\.json: /],
		["{", /^Could not read plugin\.json: SyntaxError: /],
		['{"name": 1}', /^Could not read plugin\.json\.name: /],
		[
			'{"name": "a\\u0007b"}',
			"Could not read plugin.json.name: Control characters are not allowed.",
		],
		[
			'{"config": 1}',
			"Could not read plugin.json.config: Must be a list or an object",
		],
		['{"publicJobs": []}', /^Could not read plugin\.json\.publicJobs: /],
	])("%s is refused", (text, why) => {
		expect(() => read(text)).toThrow(why);
	});

	test("has to be there", () => {
		expect(() => manifest(new Map())).toThrow(
			"Could not find plugin.json in the plugin",
		);
	});
});
