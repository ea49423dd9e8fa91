import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Row } from "../../../src/exports/query/rows.ts";
import { destinationOf, duckdb, job, listR2, rows, run } from "../../support/exporting.ts";
import {
	formats,
	kinds,
	R2,
	S3,
	testBucket,
	testManifest,
	testRows,
	window,
} from "./bucket_cases.ts";

const JSON_LINES = { file_format: "JSONLines", compression: null, suffix: "jsonl" };

describe("S3", () => {
	for (const format of formats) testRows(S3, format, 1000);
	testManifest(S3, JSON_LINES, 6000);
	testBucket(S3);
});

describe("R2", () => {
	testRows(R2, JSON_LINES, 20_000);
	for (const format of kinds) testManifest(R2, format, 15_000);
	testBucket(R2);
});

/** A destination in the worker's own bucket, below a new prefix, and what is there. */
function fresh() {
	const prefix = crypto.randomUUID();
	const to = (more: object = {}) => R2.to({ prefix, ...more });
	return { prefix, to, keys: async () => (await listR2(`7/${prefix}`)).sort() };
}

test("a Parquet file has columns that fit their kinds", async () => {
	const { to, keys } = fresh();
	await run(to({ file_format: "Parquet" }), job(), 1);
	const [key = ""] = await keys();
	const found = await duckdb(
		await R2.read(key),
		"select column_name as name, column_type as type from (describe select * from FILE)",
	);
	expect(found.map(({ name, type }) => `${name} ${type}`)).toEqual([
		"uuid VARCHAR",
		"event VARCHAR",
		"properties VARCHAR",
		"amount DOUBLE",
		"team_id BIGINT",
		"paid BOOLEAN",
		"day DATE",
		"timestamp TIMESTAMP WITH TIME ZONE",
	]);
});

test("the files of a backfill have different names than those of the schedule", async () => {
	const { prefix, to, keys } = fresh();
	for (const max_file_size_mb of [null, 1]) {
		const what = job();
		for (const backfill of [false, true])
			await run(to({ max_file_size_mb }), { ...what, backfill }, 1);
	}
	const names = ["-0-backfill.jsonl", "-0.jsonl", "-backfill.jsonl", ".jsonl"];
	const manifests = ["_manifest-backfill.json", "_manifest.json"];
	expect(await keys()).toEqual(
		[...names, ...manifests].map((end) => `7/${prefix}/${window}${end}`),
	);
});

test("a prefix may contain the time", async () => {
	const id = crypto.randomUUID();
	const prefix = `//${id}/{table}///{year}-{month}-{day}/{hour}.{minute}.{second}/{data_interval_start}+{data_interval_end}/`;
	await run(R2.to({ prefix }), job(), 1);
	const [start, end] = window.split(/(?<=Z)-/);
	expect(await listR2(`7/${id}`)).toEqual([
		`7/${id}/events/2024-02-29/13.00.00/${start}+${end}/${window}.jsonl`,
	]);
});

test("a prefix may name the files without colons", async () => {
	const { prefix, to, keys } = fresh();
	const what = job();
	const named = `7/${prefix}/events/part-${window.replaceAll(":", "")}`;
	const written = async (more: object) => {
		await run(to({ prefix: `${prefix}/{table}/part-{window}`, ...more }), what, 5000);
		return keys();
	};
	expect(await written({ max_file_size_mb: 1 })).toEqual([
		`${named}-0.jsonl`,
		`${named}-1.jsonl`,
		`${named}_manifest.json`,
	]);
	expect(await written({ file_format: "CSV" })).toEqual([`${named}.csv`]);
});

describe("the files of earlier runs", () => {
	/** The worker's own bucket, whose lists fail as long as `error` is set. */
	function listing() {
		const state: { error: Error | null; lists: number } = { error: null, lists: 0 };
		const EXPORTS = {
			get: (key: string) => env.EXPORTS.get(key),
			head: (key: string) => env.EXPORTS.head(key),
			put: (key: string, body: Uint8Array, options: R2PutOptions) =>
				env.EXPORTS.put(key, body, options),
			delete: (key: string) => env.EXPORTS.delete(key),
			createMultipartUpload: (key: string, options: R2MultipartOptions) =>
				env.EXPORTS.createMultipartUpload(key, options),
			resumeMultipartUpload: (key: string, id: string) =>
				env.EXPORTS.resumeMultipartUpload(key, id),
			list: async (options: R2ListOptions) => {
				state.lists += 1;
				if (state.error) throw state.error;
				return env.EXPORTS.list({ ...options, limit: 2 });
			},
		};
		const prefix = crypto.randomUUID();
		const to = (more: object = {}) =>
			destinationOf(Object.assign({}, env, { EXPORTS }), "R2", { prefix, ...more });
		const names = async () => (await listR2(`7/${prefix}`)).map((key) => key.split("/").at(-1));
		return { state, to, names, folder: `7/${prefix}` };
	}

	test.each([2, 20_000])(
		"are removed by the next try if a run of %i rows is killed before",
		async (n) => {
			const { state, to, names } = listing();
			const what = job();
			await run(to({ max_file_size_mb: 1, file_format: "CSV" }), what, 20_000);
			const before = await names();
			state.error = new Error("killed");
			let kept: { state: unknown; rows: number } = { state: null, rows: 0 };
			const attempt = async () => {
				const sink = await to().open(
					what,
					kept.state,
					async (state) => {
						kept = { ...kept, state };
					},
					async () => kept.state,
				);
				for (const row of rows(n).slice(kept.rows)) {
					const state = await sink.write([row]);
					if (state !== null) kept = { state, rows: kept.rows + 1 };
				}
				return sink.close();
			};
			const written = attempt();
			await expect(written).rejects.toThrow("killed");
			expect(await names()).toEqual(expect.arrayContaining([...before, `${window}.jsonl`]));
			state.error = null;
			kept.rows = n;
			if (n === 2) kept = { state: null, rows: 0 };
			expect(await attempt()).toMatchObject({ warnings: [] });
			expect(await names()).toEqual([`${window}.jsonl`]);
		},
	);

	test("are not searched for if there can't be any", async () => {
		const { state, to } = listing();
		await run(to(), job({ isRepeat: false }), 2);
		expect(state.lists).toBe(0);
	});

	test("that are many are all removed, and other objects with such names stay", async () => {
		const { to, names, folder } = listing();
		const what = job();
		await run(to({ max_file_size_mb: 1 }), what, 20_000);
		const customMetadata = { "tenantry-export": what.export_id };
		const [own = ""] = (await names()).map(String);
		const others = [`${window}.jsonl.bak`, `${window}-x.jsonl`, `${window}/${own}`];
		for (const name of others)
			await env.EXPORTS.put(`${folder}/${name}`, "mine", { customMetadata });
		await env.EXPORTS.put(`${folder}/${window}-9.jsonl`, "without a mark");
		await run(to(), what, 1);
		expect((await listR2(folder)).map((key) => key.slice(folder.length + 1)).sort()).toEqual(
			[...others, `${window}-9.jsonl`, `${window}.jsonl`].sort(),
		);
	});
});

test("a run holds one part at a time, in one buffer of that size", async () => {
	const buffers = new Set<ArrayBufferLike>();
	const sizes: number[] = [];
	let underWay = 0;
	let mostUnderWay = 0;
	const counted = (upload: R2MultipartUpload) => ({
		complete: (parts: R2UploadedPart[]) => upload.complete(parts),
		async uploadPart(number: number, body: Uint8Array) {
			buffers.add(body.buffer);
			sizes.push(body.length);
			underWay += 1;
			mostUnderWay = Math.max(mostUnderWay, underWay);
			return upload.uploadPart(number, body).finally(() => {
				underWay -= 1;
			});
		},
	});
	const EXPORTS = {
		get: (key: string) => env.EXPORTS.get(key),
		head: (key: string) => env.EXPORTS.head(key),
		createMultipartUpload: (key: string, options: R2MultipartOptions) =>
			env.EXPORTS.createMultipartUpload(key, options),
		resumeMultipartUpload: (key: string, id: string) =>
			counted(env.EXPORTS.resumeMultipartUpload(key, id)),
	};
	const config = { prefix: crypto.randomUUID() };
	await run(
		destinationOf(Object.assign({}, env, { EXPORTS }), "R2", config),
		job({ isRepeat: false }),
		40_000,
	);
	expect(sizes.length).toBeGreaterThan(2);
	expect(new Set(sizes.slice(0, -1))).toEqual(new Set([5 * 2 ** 20]));
	expect(mostUnderWay).toBe(1);
	expect(buffers.size).toBe(1);
	for (const { byteLength } of buffers) expect(byteLength).toBe(5 * 2 ** 20);
});

test("a run doesn't hold the bytes after a part: the next upload reads the stored state", async () => {
	const config = { prefix: crypto.randomUUID(), max_file_size_mb: 8 };
	let stored: object | null = null;
	const kept: unknown[] = [];
	const sink = await destinationOf(env, "R2", config).open(
		job(),
		null,
		async (state) => {
			kept.push(state);
		},
		async () => stored,
	);
	while (kept.length < 2) {
		const state = await sink.write(rows(1000));
		if (state !== null) stored = { ...state, rest: "as stored" };
	}
	expect(kept).toMatchObject([
		{ uploads: [{ parts: [] }], rest: "" },
		{ uploads: [{ parts: expect.any(Array) }, { parts: [] }], rest: "as stored" },
	]);
});

test.each(["JSONLines", "CSV", "Parquet"])(
	"a run doesn't hold rows that it has written: %s",
	async (file_format) => {
		/** The file of rows that are changed after they were written. */
		async function fileOf(change: (row: Row) => void) {
			const config = { prefix: crypto.randomUUID(), file_format };
			const sink = await destinationOf(env, "R2", config).open(job(), null, async () => {});
			for (let n = 0; n < 3; n += 1) {
				const page = rows(1000).map((row) => [...row]);
				const written = [...page];
				await sink.write(page);
				expect(page).toEqual([]);
				written.forEach(change);
			}
			const { files: [key = ""] = [] } = await sink.close();
			return R2.read(key);
		}
		const file = await fileOf((row) => row.fill(null));
		expect(Buffer.compare(file, await fileOf(() => {}))).toBe(0);
	},
);
