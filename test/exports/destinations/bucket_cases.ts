import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import type { Type } from "../../../src/exports/destinations/index.ts";
import type { Kind } from "../../../src/exports/query/expression.ts";
import type { Column } from "../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../src/outbound/errors.ts";
import * as azure from "../../support/azure.ts";
import { ACCOUNT } from "../../support/azurite.ts";
import { KEYS } from "../../support/bucket.ts";
import {
	askS3,
	COLUMNS,
	destinationOf,
	duckdb,
	job,
	listR2,
	listS3,
	rows,
	run,
	type Target,
} from "../../support/exporting.ts";

/** The window of a `job`, as names of files have it. */
export const window = "2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z";

const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());

const path = (key: string) => `/${key.split("/").map(encodeURIComponent).join("/")}`;

/** A kind of bucket: its content, and exports to it. */
export type Bucket = {
	/** Its settings without a prefix. */
	settings: object;
	to: (config: object) => Target;
	/** The folder below which it stores everything. */
	folder: string;
	list: (prefix: string) => Promise<string[]>;
	read: (key: string) => Promise<Uint8Array>;
	/** Stores an empty object of an export. */
	put: (key: string, export_id: string) => Promise<unknown>;
	/** Whether a part of the upload can be put there; undefined if uploads have no ids. */
	open?: (key: string, id: string) => Promise<boolean>;
};

const inS3 = {
	folder: "",
	list: listS3,
	read: async (key: string) => bytesOf(await askS3("GET", path(key))),
	put: (key: string, export_id: string) =>
		askS3("PUT", path(key), { "x-amz-meta-tenantry-export": export_id }),
	open: async (key: string, id: string) => {
		const query = `?partNumber=1&uploadId=${encodeURIComponent(id)}`;
		const text = await (await askS3("PUT", path(key) + query)).text();
		return !text.includes("NoSuchUpload");
	},
};

/** Exports to a bucket with these settings. */
const opening = (type: Type, settings: object) => ({
	settings,
	to: (more: object) => destinationOf(env, type, { ...settings, ...more }),
});

export const S3: Bucket = {
	...inS3,
	...opening("S3", { bucket_name: "exports", region: "auto", endpoint_url: env.S3_URL, ...KEYS }),
};

export const GCS: Bucket = {
	...inS3,
	...opening("GCS", {
		bucket_name: "exports",
		endpoint_url: env.GCS_URL,
		hmac_access_id: KEYS.aws_access_key_id,
		hmac_secret: KEYS.aws_secret_access_key,
	}),
};

export const R2: Bucket = {
	...opening("R2", {}),
	folder: "7/",
	list: listR2,
	read: async (key) => new Uint8Array((await (await env.EXPORTS.get(key))?.arrayBuffer()) ?? []),
	put: (key, export_id) =>
		env.EXPORTS.put(key, "", { customMetadata: { "tenantry-export": export_id } }),
	open: (key, id) =>
		env.EXPORTS.resumeMultipartUpload(key, id)
			.uploadPart(1, "x")
			.then(
				() => true,
				() => false,
			),
};

export const AzureBlob: Bucket = {
	...opening("AzureBlob", {
		...ACCOUNT,
		container_name: azure.CONTAINER,
		endpoint_url: env.AZURE_URL,
	}),
	folder: "",
	list: azure.list,
	read: azure.read,
	put: (key, export_id) =>
		azure.ask("PUT", azure.pathOf(key), {
			"x-ms-blob-type": "BlockBlob",
			"x-ms-meta-tenantryexport": export_id,
		}),
};

const unzip = async (bytes: Uint8Array) => gunzipSync(bytes).toString();

/** A function that computes its result for each number once. */
function once<T>(compute: (n: number) => T) {
	const known = new Map<number, T>();
	return (n: number) => {
		const result = known.get(n) ?? compute(n);
		known.set(n, result);
		return result;
	};
}

/** The rows as JSON objects, one per line. */
const expected = once((n) =>
	rows(n)
		.map((row) =>
			JSON.stringify(
				Object.fromEntries(
					COLUMNS.map(({ name, kind }, i) => [
						name,
						kind === "json" && row[i] !== null ? JSON.parse(String(row[i])) : row[i],
					]),
				),
			),
		)
		.join("\n"),
);

const digest = async (text: string) =>
	Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text))).toString("hex");

const TYPES: Record<Kind, string> = {
	text: "VARCHAR",
	json: "VARCHAR",
	number: "DOUBLE",
	integer: "BIGINT",
	boolean: "BOOLEAN",
	date: "DATE",
	timestamp: "TIMESTAMPTZ",
};

/** How DuckDB reads a file with this ending. */
function readerOf(suffix: string) {
	if (suffix === "parquet") return "read_parquet(PATH)";
	const columns = COLUMNS.map(({ name, kind }) => `"${name}": '${TYPES[kind]}'`);
	const [format, packed] = suffix.split(".");
	const compression = { gz: "gzip", zst: "zstd" }[packed ?? ""] ?? "none";
	const options = `columns = {${columns}}, compression = '${compression}'`;
	return format === "csv"
		? `read_csv(PATH, header = true, allow_quoted_nulls = false, ${options})`
		: `read_json(PATH, format = 'newline_delimited', ${options})`;
}

/** SQL for the number of rows in a file and a checksum of their values. */
const SUMS = `select count(*) as n, sha256(string_agg(concat_ws('|', uuid, event, properties, amount * 8,
	team_id, paid, day, epoch_ms("timestamp")), chr(10) order by team_id)) as sum from FILE`;

/** The same of the rows below `n`. */
const sums = once(async (n) => {
	const text = rows(n)
		.map(([uuid, event, properties, amount, team_id, paid, day, timestamp]) =>
			[
				uuid,
				event,
				properties,
				typeof amount === "number" ? `${(amount * 8).toFixed(1)}` : null,
				team_id,
				paid,
				day,
				timestamp ? Date.parse(String(timestamp)) : null,
			]
				.filter((value) => value !== null)
				.join("|"),
		)
		.join("\n");
	return [{ n: String(n), sum: await digest(text) }];
});

export const formats = [
	{ file_format: "JSONLines", compression: null, suffix: "jsonl" },
	{ file_format: "JSONLines", compression: "gzip", suffix: "jsonl.gz" },
	{ file_format: "JSONLines", compression: "zstd", suffix: "jsonl.zst" },
	{ file_format: "CSV", compression: null, suffix: "csv" },
	{ file_format: "CSV", compression: "gzip", suffix: "csv.gz" },
	{ file_format: "CSV", compression: "zstd", suffix: "csv.zst" },
	{ file_format: "Parquet", compression: null, suffix: "parquet" },
	{ file_format: "Parquet", compression: "snappy", suffix: "parquet" },
	{ file_format: "Parquet", compression: "gzip", suffix: "parquet" },
	{ file_format: "Parquet", compression: "zstd", suffix: "parquet" },
];

/** One of each kind: text as it is and with each compression, and Parquet. */
export const kinds = formats.filter(
	({ suffix, compression }) =>
		["jsonl", "csv.gz", "jsonl.zst"].includes(suffix) || compression === "snappy",
);

/** Compares the files with the rows below `n`. */
async function verify(files: Uint8Array[], suffix: string, n: number) {
	if (!/^jsonl(\.gz)?$/.test(suffix)) {
		const [file = new Uint8Array()] = files;
		const sql = SUMS.replace("FILE", readerOf(suffix));
		expect(await duckdb(file, sql)).toEqual(await sums(n));
	} else {
		const texts = await Promise.all(
			files.map((file) => (suffix === "jsonl" ? Buffer.from(file).toString() : unzip(file))),
		);
		// Without `expect`, which would print all of it.
		expect(texts.join("").trimEnd() === expected(n)).toBe(true);
	}
}

type Format = (typeof formats)[number];

/** Keys below a new prefix of a bucket, and functions that write and read there. */
function place(bucket: Bucket, end = "") {
	const prefix = crypto.randomUUID() + end;
	const folder = `${bucket.folder}${prefix}`;
	const to = (more: object = {}) => bucket.to({ prefix, ...more });
	return {
		folder,
		to,
		write: (what: Job, n: number, more: object = {}) => run(to(more), what, n, { crashes: true }),
		/** The names of the files, sorted. */
		names: async () =>
			(await bucket.list(folder)).map((key) => key.slice(folder.length + 1)).sort(),
		read: (name: string) => bucket.read(`${folder}/${name}`),
	};
}

/** Tests that files in this format have the rows that were written. */
export const testRows = (bucket: Bucket, { suffix, ...format }: Format, n: number) =>
	test(`${n} rows are there once, whatever crashes, in ${suffix}, ${format.compression}`, async () => {
		const { write, names, read } = place(bucket);
		const { largest } = await write(job(), n, format);
		expect(largest).toBeLessThan(1_500_000);
		expect(await names()).toEqual(n === 0 ? [] : [`${window}.${suffix}`]);
		if (n > 0) await verify([await read(`${window}.${suffix}`)], suffix, n);
	});

/** Tests the size of files, of which rows fill several, and their manifest. */
export const testManifest = (bucket: Bucket, { suffix, ...format }: Format, n: number) =>
	test(`no file is larger than it may be, and a manifest lists them, in ${suffix}, ${format.compression}`, async () => {
		const { folder, write, names, read } = place(bucket);
		await write(job(), n, { ...format, max_file_size_mb: 1 });
		const [manifest = "", ...files] = (await names()).toReversed();
		files.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
		expect(files.length).toBeGreaterThan(1);
		expect(files).toEqual(files.map((_, i) => `${window}-${i}.${suffix}`));
		expect(manifest).toBe(`${window}_manifest.json`);
		expect(JSON.parse(Buffer.from(await read(manifest)).toString())).toEqual({
			files: files.map((name) => `${folder}/${name}`),
		});
		const contents = await Promise.all(files.map(read));
		for (const content of contents) expect(content.length).toBeLessThan(1_000_000);
		if (/^jsonl(\.gz)?$/.test(suffix)) return verify(contents, suffix, n);
		const sql = `select count(*) as n, sum(team_id) as sum from ${readerOf(suffix)}`;
		const counts = await Promise.all(contents.map((file) => duckdb(file, sql)));
		const total = (key: string) => counts.reduce((sum, [row]) => sum + Number(row?.[key]), 0);
		expect([total("n"), total("sum")]).toEqual([n, (n * (n - 1)) / 2]);
	});

/** Tests what holds for every bucket, with few rows. */
export function testBucket(bucket: Bucket) {
	test("an aborted run leaves no upload and no object, and doesn't disturb the next run", async () => {
		const { folder, to, names, read } = place(bucket);
		const what = job();
		const small = to({ max_file_size_mb: 3 });
		const { state } = await run(small, what, 30_000, { until: 25_000 });
		expect(state.uploads.length).toBeGreaterThan(1);
		expect(await names()).toEqual([]);
		for (const [i, { id }] of state.uploads.entries())
			if (bucket.open) expect(await bucket.open(`${folder}/${window}-${i}.jsonl`, id)).toBe(false);
		await small.abort(what, { uploads: [] });
		await run(to(), { ...what, run_id: crypto.randomUUID() }, 20_000);
		await verify([await read(`${window}.jsonl`)], "jsonl", 20_000);
	});

	describe("a window that is exported again", () => {
		test("leaves only what its last run wrote", async () => {
			const { write, names } = place(bucket);
			const what = job();
			await write(what, 5000, { max_file_size_mb: 1 });
			expect(await names()).toContain(`${window}-1.jsonl`);
			await write(what, 2);
			expect(await names()).toEqual([`${window}.jsonl`]);
			await write(what, 1, { max_file_size_mb: 1, compression: "gzip" });
			expect(await names()).toEqual([`${window}-0.jsonl.gz`, `${window}_manifest.json`]);
			await write(what, 0);
			expect(await names()).toEqual([]);
		});

		test("keeps the objects of other exports, other windows and other series", async () => {
			const { write, names } = place(bucket);
			const what = job();
			const csv = { file_format: "CSV" };
			await write(job(), 1, { file_format: "Parquet" });
			await write({ ...what, backfill: true }, 1, csv);
			await write({ ...what, end: "2024-02-29T13:00:00.001Z" }, 1, csv);
			await write(what, 1, csv);
			await write(what, 1);
			const others = [
				`${window.replace("13:00:00.000Z", "13:00:00.001Z")}.csv`,
				`${window}-backfill.csv`,
				`${window}.parquet`,
			];
			expect(await names()).toEqual([...others, `${window}.jsonl`].sort());
			await write({ ...what, backfill: true }, 1, { max_file_size_mb: 1 });
			expect(await names()).toEqual(
				[
					...others.filter((name) => !name.includes("backfill")),
					`${window}-0-backfill.jsonl`,
					`${window}.jsonl`,
					`${window}_manifest-backfill.json`,
				].sort(),
			);
		});
	});

	test.each([1, 20_000])("an object of another export is not replaced by %i rows", async (n) => {
		const { to } = place(bucket);
		const first = job();
		await run(to(), first, 2);
		const failed = run(to(), job(), n);
		await expect(failed).rejects.toThrow(MisconfiguredError);
		await expect(failed).rejects.toThrow(first.export_id);
		// The same export may write the window again.
		await run(to(), { ...job(), export_id: first.export_id }, n);
	});

	test.skipIf(!bucket.open)("an upload that was removed by someone else is reported", async () => {
		const { to } = place(bucket);
		const what = job();
		const sink = await to().open(what, null, async () => {});
		const last = await sink.write(rows(20_000));
		expect(last).not.toBeNull();
		await to().abort(what, last);
		await to().abort(what, last);
		const again = await to().open(what, last, async () => {});
		await expect(again.close()).rejects.toThrow(MisconfiguredError);
	});
}

const MANY = 100_001;

/** Tests every bucket with many rows, large rows and many files. */
export function testLargeBucket(bucket: Bucket) {
	for (const format of kinds) testRows(bucket, format, MANY);
	testManifest(bucket, { file_format: "Parquet", compression: null, suffix: "parquet" }, 20_000);

	test("an aborted run of several Parquet files leaves none", async () => {
		const { to, names } = place(bucket);
		const more = { file_format: "Parquet", max_file_size_mb: 3 };
		const { state } = await run(to(more), job(), 60_000, { until: 50_000 });
		expect(state.uploads.length).toBeGreaterThan(1);
		expect(await names()).toEqual([]);
	});

	test.each(["JSONLines", "Parquet"])(
		"the largest pages leave states that are small enough, in %s",
		async (file_format) => {
			const columns: Column[] = [{ name: "text", kind: "text" }];
			const noise = (bytes: number) =>
				Array.from({ length: bytes / 2 ** 15 }, () =>
					Buffer.from(crypto.getRandomValues(new Uint8Array(2 ** 14))).toString("hex"),
				).join("");
			const sizes = [...Array<number>(7).fill(2 ** 16), 2 ** 20];
			const { folder, to } = place(bucket);
			const states: string[] = [];
			const sink = await to({ file_format }).open(job({ columns }), null, async () => {});
			for (let i = 0; i < 30; i++) {
				const state = await sink.write(sizes.map((bytes) => [noise(bytes)]));
				if (state !== null) states.push(JSON.stringify(state));
			}
			await sink.close();
			expect(states.length).toBeGreaterThan(3);
			for (const state of states) expect(state.length).toBeLessThanOrEqual(1_500_000);
			const [key = ""] = await bucket.list(folder);
			const file = await bucket.read(key);
			if (file_format === "JSONLines")
				return expect(file.filter((byte) => byte === 10).length).toBe(240);
			const sql = "select count(distinct text) as n, count(*) as total from FILE";
			expect(await duckdb(file, sql)).toEqual([{ n: "240", total: "240" }]);
		},
	);

	test("a window that is exported again leaves none of many earlier files", async () => {
		const { write, names } = place(bucket);
		const what = job();
		await write(what, 20_000, { max_file_size_mb: 1, file_format: "Parquet" });
		expect((await names()).length).toBeGreaterThan(2);
		await write(what, 60_000, { file_format: "CSV" });
		expect(await names()).toEqual([`${window}.csv`]);
	});

	test("a window that is exported again leaves none of many earlier files with long names", async () => {
		const { write, names, folder } = place(bucket, "x".repeat(300));
		const left = Array.from({ length: 350 }, (_, i) => `${folder}/${window}-${i}.csv`);
		const what = job();
		await Promise.all(left.map((key) => bucket.put(key, what.export_id)));
		await write(what, 1);
		expect(await names()).toEqual([`${window}.jsonl`]);
	});
}
