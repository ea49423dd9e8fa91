import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../../test/support/peers.ts";
import { tenantry, value } from "./program.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

function folder() {
	const path = mkdtempSync(`${tmpdir()}/tenantry-files-`);
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

const ID = "01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99";

const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));

/**
 * Starts a service with a run of one file, until the test ends.
 * @param most how many bytes it sends before it breaks the connection
 */
async function service({ name = "one.jsonl", digest = sha256(CONTENT), most = Infinity } = {}) {
	const ranges: (string | undefined)[] = [];
	const file = { name, rows: 1, bytes: CONTENT.length, digest };
	const server = createServer((request, response) => {
		if (request.url?.split("?")[0]?.endsWith("/files")) {
			const page = { count: 1, next: null, previous: null, results: [file] };
			response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page));
			return;
		}
		const { range } = request.headers;
		ranges.push(range);
		const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
		const rest = CONTENT.subarray(from);
		response.writeHead(range ? 206 : 200, { "content-length": rest.length });
		if (rest.length <= most) response.end(rest);
		else response.write(rest.subarray(0, most), () => setTimeout(() => response.destroy(), 50));
	});
	const url = `http://127.0.0.1:${await listen(server)}`;
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	const environment = { TENANTRY_URL: url, TENANTRY_KEY: "tnt_test" };
	const download = (to: string) =>
		tenantry(["exports", "download", ID, ID, "--output", to], { environment });
	return { ranges, download };
}

test("a download continues where it was interrupted, and isn't repeated", async () => {
	const { ranges, download } = await service({ most: 120_000 });
	const to = folder();
	expect(await download(to)).toMatchObject({ code: 0, err: `${to}/one.jsonl\n` });
	expect(ranges).toEqual([undefined, "bytes=120000-", "bytes=240000-"]);
	expect(readdirSync(to)).toEqual(["one.jsonl"]);
	expect(readFileSync(`${to}/one.jsonl`).equals(CONTENT)).toBe(true);
	expect(await download(to)).toMatchObject({ code: 0, err: `${to}/one.jsonl is already there\n` });
	expect(ranges).toHaveLength(3);
});

test("the next command continues what an earlier one received", async () => {
	const { ranges, download } = await service();
	const to = folder();
	writeFileSync(`${to}/one.jsonl.part`, CONTENT.subarray(0, 1000));
	expect((await download(to)).code).toBe(0);
	expect(ranges).toEqual(["bytes=1000-"]);
	expect(readFileSync(`${to}/one.jsonl`).equals(CONTENT)).toBe(true);
});

test("a file with another digest is not kept", async () => {
	const { download } = await service({ digest: sha256(Buffer.from("another")) });
	const to = folder();
	const { code, err } = await download(to);
	expect(code).toBe(1);
	expect(err).toContain("one.jsonl isn't what the run wrote");
	expect(readdirSync(to)).toEqual([]);
});

test.each(["../one.jsonl", "..", "a\\b"])("a file named %s is not written", async (name) => {
	const { download } = await service({ name });
	const to = folder();
	expect(await download(to)).toMatchObject({ code: 1, err: expect.stringContaining("Unsafe") });
	expect(readdirSync(to)).toEqual([]);
});

test("the files of a run of the service are downloaded", async () => {
	const own = crypto.randomUUID();
	const at = "2026-01-01T00:30:00Z";
	const events = [1, 2, 3].map((i) => ({ event: own, distinct_id: `${i}`, timestamp: at }));
	const sent = await tenantry(["events", "ingest", "--data", JSON.stringify(events)]);
	expect(sent).toMatchObject({ code: 0 });
	const destination = { type: "R2", config: { prefix: own, include_events: [own] } };
	const { id } = await value([
		...["exports", "create", "--name", own, "--interval", "hour"],
		...["--destination", JSON.stringify(destination)],
	]);
	const range = ["--start-at", "2026-01-01T00:00:00Z", "--end-at", "2026-01-01T01:00:00Z"];
	await value(["exports", "run", id, ...range, "--watch", "--interval", "0.2"]);
	const [run] = (await value(["exports", "runs", id])).results;
	const [file] = (await value(["exports", "run-files", id, run.id])).results;
	expect(file).toMatchObject({ rows: 3 });
	const to = folder();
	expect(await value(["exports", "download", id, run.id, "--output", to])).toEqual([file]);
	const bytes = readFileSync(`${to}/${file.name}`);
	expect([bytes.length, sha256(bytes)]).toEqual([file.bytes, file.digest]);
	const absent = await tenantry(["exports", "download", id, run.id, "two.jsonl", "--output", to]);
	expect(absent).toMatchObject({ code: 2, err: expect.stringContaining("no file two.jsonl") });
});
