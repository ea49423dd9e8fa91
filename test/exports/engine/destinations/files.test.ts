import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Job } from "../../../../src/exports/engine/destinations/destination.ts";
import type { Kind } from "../../../../src/exports/engine/query/expression.ts";
import type { Column, Row } from "../../../../src/exports/engine/rows.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { KEYS } from "../../../support/bucket.ts";
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
} from "../../../support/exporting.ts";

const MANY = 100_001;

const ask = async (method: string, path: string) =>
	new Uint8Array(await (await askS3(method, path)).arrayBuffer());

const path = (key: string) => `/${key.split("/").map(encodeURIComponent).join("/")}`;

/** For each kind of bucket, its content and the config of an export to it. */
const buckets = {
	S3: {
		destination: (config: object) =>
			destinationOf(env, "S3", {
				bucket_name: "exports",
				region: "auto",
				endpoint_url: env.S3_URL,
				...KEYS,
				...config,
			}),
		folder: "",
		list: listS3,
		read: (key: string) => ask("GET", path(key)),
		put: async (key: string, export_id: string) => {
			await askS3("PUT", path(key), { "x-amz-meta-tenantry-export": export_id });
		},
		/** Whether a part of the upload can be put there. */
		open: async (key: string, id: string) => {
			const query = `?partNumber=1&uploadId=${encodeURIComponent(id)}`;
			const text = Buffer.from(await ask("PUT", path(key) + query)).toString();
			return !text.includes("NoSuchUpload");
		},
	},
	R2: {
		destination: (config: object) => destinationOf(env, "R2", config),
		folder: "7/",
		list: listR2,
		read: async (key: string) =>
			new Uint8Array((await (await env.EXPORTS.get(key))?.arrayBuffer()) ?? []),
		put: async (key: string, export_id: string) => {
			await env.EXPORTS.put(key, "", { customMetadata: { "tenantry-export": export_id } });
		},
		open: (key: string, id: string) =>
			env.EXPORTS.resumeMultipartUpload(key, id)
				.uploadPart(1, "x")
				.then(
					() => true,
					() => false,
				),
	},
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

const formats = [
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
const kinds = formats.filter(
	({ suffix, compression }) =>
		["jsonl", "csv.gz", "jsonl.zst"].includes(suffix) || compression === "snappy",
);

/** The formats for a kind of bucket: all for S3, where runs also crash. */
const formatsOf = (name: string) => (name === "S3" ? formats : kinds);

const window = "2024-02-29T12:00:00.000Z-2024-02-29T13:00:00.000Z";

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

describe.each(Object.entries(buckets))("%s", (name, bucket) => {
	describe.each(formatsOf(name))("$file_format, $compression", ({ suffix, ...config }) => {
		test.each([0, 1, 1000])("holds %i rows", async (n) => {
			const prefix = crypto.randomUUID();
			const destination = bucket.destination({ ...config, prefix });
			await run(destination, job(), n);
			const keys = await bucket.list(bucket.folder + prefix);
			const key = `${bucket.folder}${prefix}/${window}.${suffix}`;
			expect(keys).toEqual(n === 0 ? [] : [key]);
			if (n > 0) await verify([await bucket.read(key)], suffix, n);
		});
	});

	test.each(kinds)(
		`$file_format, $compression holds ${MANY} rows in several parts, whatever crashes`,
		async ({ suffix, ...config }) => {
			const prefix = crypto.randomUUID();
			const destination = bucket.destination({ ...config, prefix });
			const ran = await run(destination, job(), MANY, {
				crashes: name === "S3",
			});
			expect(ran.kept).toBeGreaterThan(1);
			expect(ran.largest).toBeLessThan(1_500_000);
			const key = `${bucket.folder}${prefix}/${window}.${suffix}`;
			expect(await bucket.list(bucket.folder + prefix)).toEqual([key]);
			const file = await bucket.read(key);
			expect(file.length).toBeGreaterThan(5 * 2 ** 20);
			await verify([file], suffix, MANY);
		},
	);

	test.each(["JSONLines", "Parquet"])(
		"an aborted run in %s leaves no upload and no object",
		async (file_format) => {
			const prefix = crypto.randomUUID();
			const destination = bucket.destination({
				prefix,
				file_format,
				max_file_size_mb: 3,
			});
			const { state } = await run(destination, job(), 60_000, {
				until: 50_000,
			});
			const { uploads } = state;
			expect(uploads.length).toBeGreaterThan(1);
			expect(await bucket.list(bucket.folder + prefix)).toEqual([]);
			for (const [i, { id }] of uploads.entries()) {
				const suffix = file_format === "Parquet" ? "parquet" : "jsonl";
				const key = `${bucket.folder}${prefix}/${window}-${i}.${suffix}`;
				expect(await bucket.open(key, id)).toBe(false);
			}
			await destination.abort(job(), { uploads: [] });
		},
	);

	test.each(formatsOf(name))(
		"$file_format, $compression: no file is larger than it may be, and a manifest lists them",
		async ({ suffix, ...config }) => {
			const prefix = crypto.randomUUID();
			const destination = bucket.destination({
				...config,
				prefix,
				max_file_size_mb: 1,
			});
			const n = 20_000;
			await run(destination, job(), n, { crashes: true });
			const keys = await bucket.list(bucket.folder + prefix);
			const manifest = `${bucket.folder}${prefix}/${window}_manifest.json`;
			const files = Array.from(
				{ length: keys.length - 1 },
				(_, i) => `${bucket.folder}${prefix}/${window}-${i}.${suffix}`,
			);
			expect([...keys].sort()).toEqual([...files, manifest].sort());
			expect(files.length).toBeGreaterThan(1);
			expect(JSON.parse(Buffer.from(await bucket.read(manifest)).toString())).toEqual({ files });
			const contents = await Promise.all(files.map(bucket.read));
			for (const content of contents) expect(content.length).toBeLessThan(1_000_000);
			if (/^jsonl(\.gz)?$/.test(suffix)) await verify(contents, suffix, n);
			else {
				const sql = `select count(*) as n, sum(team_id) as sum from ${readerOf(suffix)}`;
				const counts = await Promise.all(contents.map((file) => duckdb(file, sql)));
				const total = (key: string) => counts.reduce((sum, [row]) => sum + Number(row?.[key]), 0);
				expect([total("n"), total("sum")]).toEqual([n, (n * (n - 1)) / 2]);
			}
		},
	);

	test.each(["JSONLines", "Parquet"])(
		"the largest pages leave states that are small enough, in %s",
		async (file_format) => {
			const columns: Column[] = [{ name: "text", kind: "text" }];
			const noise = (bytes: number) =>
				Array.from({ length: bytes / 2 ** 15 }, () =>
					Buffer.from(crypto.getRandomValues(new Uint8Array(2 ** 14))).toString("hex"),
				).join("");
			const sizes = [...Array<number>(7).fill(2 ** 16), 2 ** 20];
			const page = () => sizes.map((bytes) => [noise(bytes)]);
			const prefix = crypto.randomUUID();
			const destination = bucket.destination({ prefix, file_format });
			const states: string[] = [];
			const sink = await destination.open(job({ columns }), null, async () => {});
			for (let i = 0; i < 30; i++) {
				const state = await sink.write(page());
				if (state !== null) states.push(JSON.stringify(state));
			}
			await sink.close();
			expect(states.length).toBeGreaterThan(3);
			for (const state of states) expect(state.length).toBeLessThanOrEqual(1_500_000);
			const [key = ""] = await bucket.list(bucket.folder + prefix);
			const file = await bucket.read(key);
			if (file_format === "Parquet")
				expect(
					await duckdb(file, "select count(distinct text) as n, count(*) as total from FILE"),
				).toEqual([{ n: "240", total: "240" }]);
			else expect(file.filter((byte) => byte === 10).length).toBe(240);
		},
	);

	test("a Parquet file has statistics of its columns", async () => {
		const prefix = crypto.randomUUID();
		const config = { prefix, file_format: "Parquet" };
		await run(bucket.destination(config), job(), 1);
		const key = `${bucket.folder}${prefix}/${window}.parquet`;
		const found = await duckdb(
			await bucket.read(key),
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

	test("an upload that was removed by someone else is reported", async () => {
		const destination = bucket.destination({ prefix: crypto.randomUUID() });
		const what = job();
		let last: unknown = null;
		const sink = await destination.open(what, null, async () => {});
		for (const page of [rows(20_000), rows(20_000)]) last = (await sink.write(page)) ?? last;
		await destination.abort(what, last);
		await destination.abort(what, last);
		const again = await destination.open(what, last, async () => {});
		await expect(again.close()).rejects.toThrow(MisconfiguredError);
	});

	test("the files of a backfill have different names than those of the schedule", async () => {
		const prefix = crypto.randomUUID();
		for (const max_file_size_mb of [null, 1]) {
			const destination = bucket.destination({ prefix, max_file_size_mb });
			const what = job();
			for (const backfill of [false, true]) await run(destination, { ...what, backfill }, 1);
		}
		expect((await bucket.list(bucket.folder + prefix)).sort()).toEqual(
			[
				`${window}.jsonl`,
				`${window}-backfill.jsonl`,
				`${window}-0.jsonl`,
				`${window}-0-backfill.jsonl`,
				`${window}_manifest.json`,
				`${window}_manifest-backfill.json`,
			]
				.map((name) => `${bucket.folder}${prefix}/${name}`)
				.sort(),
		);
	});

	describe("a window that is exported again", () => {
		/** Keys below a new prefix, and functions that write there. */
		function place(end = "") {
			const prefix = crypto.randomUUID() + end;
			const folder = `${bucket.folder}${prefix}`;
			return {
				folder,
				write: (what: Job, n: number, more: object = {}) =>
					run(bucket.destination({ prefix, ...more }), what, n, { crashes: true }),
				names: async () =>
					(await bucket.list(folder)).map((key) => key.slice(folder.length + 1)).sort(),
			};
		}

		test("leaves only what its last run wrote", async () => {
			const { write, names } = place();
			const what = job();
			await write(what, 5000, { max_file_size_mb: 1 });
			expect(await names()).toContain(`${window}-1.jsonl`);
			await write(what, 2);
			expect(await names()).toEqual([`${window}.jsonl`]);
			await write(what, 20_000, { max_file_size_mb: 1, file_format: "Parquet" });
			const numbered = await names();
			expect(numbered.length).toBeGreaterThan(2);
			expect(numbered).toEqual([
				...numbered.slice(1).map((_, i) => `${window}-${i}.parquet`),
				`${window}_manifest.json`,
			]);
			await write(what, 1, { max_file_size_mb: 1, compression: "gzip" });
			expect(await names()).toEqual([`${window}-0.jsonl.gz`, `${window}_manifest.json`]);
			await write(what, 60_000, { file_format: "CSV" });
			expect(await names()).toEqual([`${window}.csv`]);
			await write(what, 0);
			expect(await names()).toEqual([]);
		});

		test("leaves none of many earlier files with long names", async () => {
			const { write, names, folder } = place("x".repeat(300));
			const left = Array.from({ length: 350 }, (_, i) => `${folder}/${window}-${i}.csv`);
			const what = job();
			await Promise.all(left.map((key) => bucket.put(key, what.export_id)));
			await write(what, 1);
			expect(await names()).toEqual([`${window}.jsonl`]);
		});

		test("keeps the objects of other exports, other windows and other series", async () => {
			const { write, names } = place();
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

	test.each([1, 30_000])("an object of another export is not replaced by %i rows", async (n) => {
		const destination = bucket.destination({ prefix: crypto.randomUUID() });
		const first = job();
		await run(destination, first, 2);
		const failed = run(destination, job(), n);
		await expect(failed).rejects.toThrow(MisconfiguredError);
		await expect(failed).rejects.toThrow(first.export_id);
		// The same export may write the window again.
		await run(destination, { ...job(), export_id: first.export_id }, n);
	});

	test("its prefix may contain the time", async () => {
		const prefix = `//${crypto.randomUUID()}/{table}///{year}-{month}-{day}/{hour}.{minute}.{second}/{data_interval_start}+{data_interval_end}/`;
		await run(bucket.destination({ prefix }), job(), 1);
		const [start, end] = window.split(/(?<=Z)-/);
		const id = prefix.split("/")[2];
		expect(await bucket.list(`${bucket.folder}${id}`)).toEqual([
			`${bucket.folder}${id}/events/2024-02-29/13.00.00/${start}+${end}/${window}.jsonl`,
		]);
	});

	test("its prefix may name the files without colons", async () => {
		const id = crypto.randomUUID();
		const what = job();
		const named = `${bucket.folder}${id}/events/part-${window.replaceAll(":", "")}`;
		const written = async (more: object) => {
			await run(bucket.destination({ prefix: `${id}/{table}/part-{window}`, ...more }), what, 5000);
			return (await bucket.list(`${bucket.folder}${id}`)).sort();
		};
		expect(await written({ max_file_size_mb: 1 })).toEqual([
			`${named}-0.jsonl`,
			`${named}-1.jsonl`,
			`${named}_manifest.json`,
		]);
		expect(await written({ file_format: "CSV" })).toEqual([`${named}.csv`]);
	});
});

describe("the files of earlier runs", () => {
	/** The worker's own bucket, whose lists fail as long as `error` is set. */
	function listing() {
		const state: { error: Error | null; lists: number } = { error: null, lists: 0 };
		const EXPORTS = {
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

	test.each([2, 60_000])(
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
		await run(to(), job({ again: false }), 2);
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
		head: (key: string) => env.EXPORTS.head(key),
		createMultipartUpload: (key: string, options: R2MultipartOptions) =>
			env.EXPORTS.createMultipartUpload(key, options),
		resumeMultipartUpload: (key: string, id: string) =>
			counted(env.EXPORTS.resumeMultipartUpload(key, id)),
	};
	const config = { prefix: crypto.randomUUID() };
	await run(
		destinationOf(Object.assign({}, env, { EXPORTS }), "R2", config),
		job({ again: false }),
		60_000,
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
			return buckets.R2.read(key);
		}
		const file = await fileOf((row) => row.fill(null));
		expect(Buffer.compare(file, await fileOf(() => {}))).toBe(0);
	},
);
