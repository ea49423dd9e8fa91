import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { findProgram } from "../support/peers.ts";
import { admin } from "../support/server.ts";
import { chained, fileName, folder, save, saveAll, TAMPERINGS, useFolder } from "./audit_files.ts";

useFolder();

/** What the documentation's Python says. */
async function python() {
	const page = readFileSync(`${import.meta.dirname}/../../docs/audit.md`, "utf8");
	const [, code = ""] = /```python\n([^`]+)```/.exec(page) ?? [];
	return promisify(execFile)("python3", ["-c", code, folder]).then(
		({ stdout }) => stdout,
		({ stderr }) => String(stderr).trim().split("\n").at(-1),
	);
}

test.skipIf(!findProgram("python3"))(
	"the documentation's Python accepts files that nobody changed, and no others",
	async () => {
		const { files, digest } = chained([3, 2, 1]);
		saveAll(files);
		expect(await python()).toBe(`${digest}\n`);
		for (const [, tamper] of TAMPERINGS) {
			const { files } = chained([3, 2, 1]);
			tamper(files);
			rmSync(`${folder}/2026`, { recursive: true });
			saveAll(files);
			expect(await python()).toMatch(/AssertionError: .*ndjson\.gz: a line/);
		}
	},
);

test("npm run admin -- audit verify prints the result, and has an exit code for each outcome", async () => {
	const verify = (...words: string[]) => admin(["audit", "verify", ...words]);
	const { files, digest } = chained([1]);
	saveAll(files);
	const { code, out } = await verify(folder, "--head", digest.toUpperCase());
	expect({ code, out }).toEqual({
		code: 0,
		out: expect.stringContaining("The chain is intact.\n"),
	});
	const broken = await verify(folder, "--head", "0".repeat(64), "--json");
	expect(broken.code).toBe(1);
	expect(JSON.parse(broken.out)).toMatchObject({ ok: false });
	expect(await verify(folder, "--head", "12")).toMatchObject({
		code: 2,
		err: "Not a SHA-256 digest (64 hexadecimal digits): 12\n",
	});
	expect(await verify(`${folder}/nowhere`)).toMatchObject({
		code: 2,
		err: expect.stringContaining("no such file or directory"),
	});
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
