import { env, exports } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { batchExportRuns } from "../../../src/db/schema/batch_exports.ts";
import { assertDocumented } from "../../support/contract.ts";
import { eventually } from "../../support/time.ts";
import { call, db, join, keyFor, world } from "../../support/world.ts";
import { exporting, FILE, withoutWaits } from "../engine/running.ts";

withoutWaits();

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const R2 = (config: object = {}) => ({ type: "R2", config: { prefix: "out", ...config } });

/** An export with one run of the hour, and functions that read its files. */
async function exported(config: object = {}, n = 20, padding = 0) {
	const home = await exporting(R2(config), n, {}, padding);
	const run = await home.backfill();
	const at = (base: string) => `${base}/batch_exports/${home.export_id}/runs/${run.id}/files`;
	const path = at(`/api/organizations/${home.id}`);
	const list = async () => (await home.ask("GET", `${path}/`)).body.results;
	return { ...home, run, path, inProject: at(`/api/projects/${home.project}`), list };
}

/** Sends a request and returns the bytes of the response. */
async function read(
	key: string,
	path: string,
	headers: Record<string, string> = {},
	method = "GET",
) {
	const request = new Request(new URL(path, "https://tenantry.test"), {
		method,
		headers: { authorization: `Bearer ${key}`, ...headers },
	});
	const response = await exports.default.fetch(request);
	await assertDocumented(request, response);
	return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
}

const named = (path: string, name: string) => `${path}/${encodeURIComponent(name)}`;

test("a run's files are listed with their rows, sizes and digests, and are what they say", async () => {
	const { key, path, inProject, list, run } = await exported({ max_file_size_mb: 1 }, 40, 60_000);
	const files = await list();
	expect(files.length).toBeGreaterThan(2);
	expect(files.reduce((sum: number, { rows }: { rows: number }) => sum + rows, 0)).toBe(40);
	expect(run.records_completed).toBe(40);
	for (const [i, { name, rows, bytes, digest }] of files.entries()) {
		expect(name).toBe(`${FILE}-${i}-backfill.jsonl`);
		for (const base of [path, inProject]) {
			const { response, bytes: read_ } = await read(key, named(base, name));
			expect(response.status).toBe(200);
			expect(read_.length).toBe(bytes);
			expect(sha256(read_)).toBe(digest);
			expect(new TextDecoder().decode(read_).split("\n").length - 1).toBe(rows);
		}
	}
});

test.each([
	["JSONLines", null, "jsonl", "application/jsonl"],
	["JSONLines", "gzip", "jsonl.gz", "application/gzip"],
	["Parquet", "zstd", "parquet", "application/vnd.apache.parquet"],
])(
	"a file of %s, %s, of several parts of an upload has its digest",
	async (file_format, compression, suffix, type) => {
		const { key, path, list } = await exported({ file_format, compression }, 90, 100_000);
		const [file, ...others] = await list();
		expect(others).toEqual([]);
		expect(file).toMatchObject({ name: `${FILE}-backfill.${suffix}`, rows: 90 });
		const { response, bytes } = await read(key, named(path, file.name));
		expect(response.headers.get("content-type")).toBe(type);
		expect([bytes.length, sha256(bytes)]).toEqual([file.bytes, file.digest]);
	},
);

describe("a file", () => {
	test("has the headers of a download", async () => {
		const { key, path, list } = await exported();
		const [{ name, bytes, digest }] = await list();
		const value = `sha-256=:${Buffer.from(digest, "hex").toString("base64")}:`;
		for (const method of ["GET", "HEAD"]) {
			const { response, bytes: body } = await read(key, named(path, name), {}, method);
			expect(response.status).toBe(200);
			expect(body.length).toBe(method === "GET" ? bytes : 0);
			expect(Object.fromEntries(response.headers)).toMatchObject({
				"accept-ranges": "bytes",
				"cache-control": "private, no-cache, no-transform",
				"content-digest": value,
				"content-length": String(bytes),
				"content-disposition": `attachment; filename="${name}"`,
				"content-type": "application/jsonl",
				etag: expect.stringMatching(/^"[^"]+"$/),
				"repr-digest": value,
				"x-content-type-options": "nosniff",
			});
		}
	});

	test("is sent in parts, which together are the file", async () => {
		const { key, path, list } = await exported();
		const [{ name, bytes: size }] = await list();
		const file = named(path, name);
		const { bytes: whole, response } = await read(key, file);
		const etag = response.headers.get("etag") ?? "";
		const part = (range: string, headers: Record<string, string> = {}) =>
			read(key, file, { range, ...headers });
		for (const [range, from, to] of [
			["bytes=0-0", 0, 1],
			["bytes=10-19", 10, 20],
			["bytes=10-", 10, size],
			["bytes=-7", size - 7, size],
			["bytes=5-1000000000000000000", 5, size],
			["bytes=-1000000000000000000", 0, size],
		] as const) {
			const { response, bytes } = await part(range, { "if-range": etag });
			expect(response.status).toBe(206);
			expect(response.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/${size}`);
			expect(response.headers.get("content-length")).toBe(String(to - from));
			expect(response.headers.get("content-digest")).toBeNull();
			expect(response.headers.get("repr-digest")).not.toBeNull();
			expect(Buffer.from(bytes).equals(Buffer.from(whole.subarray(from, to)))).toBe(true);
		}
		for (const range of [`bytes=${size}-`, "bytes=1000000000000000000-", "bytes=-0"]) {
			const { response, bytes } = await part(range);
			expect(response.status).toBe(416);
			expect(response.headers.get("content-range")).toBe(`bytes */${size}`);
			expect(JSON.parse(new TextDecoder().decode(bytes)).code).toBe("range_not_satisfiable");
		}
		for (const [range, headers] of [
			["bytes=0-1, 4-5", {}],
			["lines=0-1", {}],
			["bytes=9-1", {}],
			["bytes=0-1", { "if-range": '"another"' }],
			["bytes=0-1", { "if-range": `W/${etag}` }],
			["bytes=0-1", { "if-range": "Wed, 21 Oct 2026 07:28:00 GMT" }],
		] as const) {
			const { response, bytes } = await part(range, headers);
			expect([response.status, bytes.length]).toEqual([200, size]);
		}
		expect((await read(key, file, { range: "bytes=0-1" }, "HEAD")).response.status).toBe(200);
	});

	test("isn't sent to whoever has it already", async () => {
		const { key, path, list } = await exported();
		const [{ name }] = await list();
		const file = named(path, name);
		const etag = (await read(key, file)).response.headers.get("etag") ?? "";
		for (const known of [etag, "*", `"another", W/${etag}`]) {
			const { response, bytes } = await read(key, file, {
				"if-none-match": known,
				range: "bytes=0-1",
			});
			expect([response.status, bytes.length]).toEqual([304, 0]);
			expect(response.headers.get("etag")).toBe(etag);
		}
		expect((await read(key, file, { "if-none-match": '"another"' })).response.status).toBe(200);
	});

	test("has a name of any characters", async () => {
		const prefix = "a b/é \"100%\" 你 'x' {window}";
		const { key, path, list } = await exported({ prefix });
		const [{ name, digest }] = await list();
		expect(name).toMatch(/^é "100%" 你 'x' .*-backfill\.jsonl$/);
		const { response, bytes } = await read(key, named(path, name));
		expect(sha256(bytes)).toBe(digest);
		const header = response.headers.get("content-disposition") ?? "";
		expect(header).toMatch(/^attachment; filename="_ _100__ _ 'x' [^"]*"; filename\*=UTF-8''/);
		expect(decodeURIComponent(header.split("''")[1] ?? "")).toBe(name);
	});

	test("is not found under another name or in another run", async () => {
		const { key, path, inProject, list, run, project } = await exported();
		const [{ name }] = await list();
		await env.EXPORTS.put(`${project}/secret.jsonl`, "secret");
		for (const other of [
			"secret.jsonl",
			"../secret.jsonl",
			"..%2Fsecret.jsonl",
			`out%2F${encodeURIComponent(name)}`,
			`${project}%2Fout%2F${encodeURIComponent(name)}`,
			"%00",
			"%ff",
			`${encodeURIComponent(name)}%20`,
			"x".repeat(3000),
		]) {
			const { response } = await read(key, `${path}/${other}`);
			expect([other, response.status]).toEqual([other, 404]);
		}
		for (const id of [crypto.randomUUID(), "nothing", "%27"]) {
			const elsewhere = named(inProject.replace(run.id, id), name);
			expect((await read(key, elsewhere)).response.status).toBe(404);
			expect((await read(key, inProject.replace(run.id, id))).response.status).toBe(404);
		}
	});

	test("that was replaced or removed is not found", async () => {
		const { key, path, list, project } = await exported();
		const [{ name }] = await list();
		const file = named(path, name);
		const etag = (await read(key, file)).response.headers.get("etag") ?? "";
		await env.EXPORTS.put(`${project}/out/${name}`, "another");
		for (const method of ["GET", "HEAD"])
			expect((await read(key, file, {}, method)).response.status).toBe(404);
		await env.EXPORTS.delete(`${project}/out/${name}`);
		const resumed = await read(key, file, { range: "bytes=0-1", "if-range": etag });
		expect(resumed.response.status).toBe(404);
	});
});

test("a run whose window is exported again has the new files", async () => {
	const { backfill, path, ask, key, list, run } = await exported(
		{ max_file_size_mb: 1 },
		30,
		60_000,
	);
	const before = await list();
	const again = await backfill();
	expect(again.id).not.toBe(run.id);
	const { results } = (await ask("GET", path.replace(run.id, again.id))).body;
	expect(results).toEqual(before);
	const { response } = await read(key, named(path.replace(run.id, again.id), results[0].name));
	expect(response.status).toBe(200);
});

test("there are no files of an empty window, of another destination, or of an older run", async () => {
	const empty = await exported({}, 0);
	expect(await empty.list()).toEqual([]);
	const home = await exporting({ type: "NoOp", config: {} }, 3);
	const run = await home.backfill();
	const { body } = await home.here("GET", `${home.path}/runs/${run.id}/files/`);
	expect(body).toEqual({ count: 0, next: null, previous: null, results: [] });
	const { list, run: old } = await exported();
	await db.update(batchExportRuns).set({ files: null }).where(eq(batchExportRuns.id, old.id));
	expect(await list()).toEqual([]);
});

test("the list has pages", async () => {
	const { ask, path, list } = await exported({ max_file_size_mb: 1 }, 40, 60_000);
	const names = (await list()).map(({ name }: { name: string }) => name);
	const found: string[] = [];
	for (let next: string | null = `${path}?limit=1`; next !== null; ) {
		const { body }: Awaited<ReturnType<typeof ask>> = await ask("GET", next);
		expect(body.count).toBe(names.length);
		found.push(...body.results.map(({ name }: { name: string }) => name));
		next = body.next;
	}
	expect(found).toEqual(names);
});

describe("who may download", () => {
	test("needs the scope and the access to change the export", async () => {
		const { owner, id, path, list } = await exported();
		const [{ name }] = await list();
		const file = named(path, name);
		for (const [scope, status] of [
			["batch_export:read", 403],
			["batch_export:run", 403],
			["project:write", 403],
			["batch_export:write", 200],
		] as const) {
			const key = await keyFor(owner.id, { scopes: [scope] });
			expect([scope, (await read(key, file)).response.status]).toEqual([scope, status]);
		}
		const reader = await keyFor(owner.id, { scopes: ["batch_export:read"] });
		expect((await read(reader, path)).response.status).toBe(200);
		const member = await join(id, 1);
		expect((await read(member.key, file)).response.status).toBe(200);
	});

	test("a viewer sees which files there are, and can't download them", async () => {
		const { here, id, path, list } = await exported();
		const [{ name }] = await list();
		const member = await join(id, 1);
		const made = await here("POST", "/access_controls", {
			body: { resource: "batch_export", access_level: "viewer" },
		});
		expect(made.status).toBe(201);
		expect((await read(member.key, path)).response.status).toBe(200);
		const { response, bytes } = await read(member.key, named(path, name));
		expect(response.status).toBe(403);
		expect(new TextDecoder().decode(bytes)).toContain("editor");
	});

	test("strangers find nothing", async () => {
		const { path, inProject, list, export_id, run } = await exported();
		const [{ name }] = await list();
		const stranger = await world();
		for (const base of [path, inProject]) {
			const { response } = await read(stranger.key, named(base, name));
			expect([403, 404]).toContain(response.status);
		}
		for (const own of [`/api/organizations/${stranger.id}`, `/api/projects/${stranger.project}`]) {
			const theirs = `${own}/batch_exports/${export_id}/runs/${run.id}/files`;
			expect((await read(stranger.key, named(theirs, name))).response.status).toBe(404);
			expect((await read(stranger.key, theirs)).response.status).toBe(404);
		}
		const { response } = await read("", named(path, name));
		expect(response.status).toBe(401);
	});
});

test("downloads are in the activity log, also those of a part, and reads of headers aren't", async () => {
	const { key, path, list, organization_id } = await exported();
	const [{ name }] = await list();
	const file = named(path, name);
	const noted = { key, env: { ACCESS_EVENTS_PER_DAY: "9", USAGE_FLUSH_SECONDS: "0.25" } };
	// The sum is written a quarter of a second after the first of them.
	await Promise.all([
		call("HEAD", file, noted),
		call("GET", file, noted),
		call("GET", file, { ...noted, headers: { range: "bytes=0-1" } }),
	]);
	await eventually(async () => {
		const entries = await db
			.select()
			.from(activityLog)
			.where(eq(activityLog.organization_id, organization_id));
		const [entry, ...others] = entries.filter(({ activity }) => activity === "downloaded");
		expect(others).toEqual([]);
		expect(entry).toMatchObject({ scope: "Request", trigger: { count: 2 } });
		expect(JSON.stringify(entry)).toContain("/runs/:run_id/files/:name");
	});
});

test("a download costs one round trip to the database", async () => {
	const { key, path, list } = await exported();
	const [{ name }] = await list();
	const { response } = await read(key, named(path, name));
	expect(response.headers.get("server-timing")).toContain('d1_trips;desc="1"');
	expect(response.headers.get("server-timing")).toContain('d1_rows_written;desc="0"');
});
