import { introspectWorkflow } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { AwsClient } from "aws4fetch";
import { and, asc, eq } from "drizzle-orm";
import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	batchExportRuns,
	batchExports,
	events,
	persons,
	projects,
} from "../../src/db/schema.ts";
import { clean, giveUp, goOn, part } from "../../src/exporter/run.ts";
import { tick } from "../../src/exporter/schedule.ts";
import { KEYS } from "../support/bucket.ts";
import { fill } from "../support/events.ts";
import { duckdb, received } from "../support/exporting.ts";
import { create, mirror, noClickHouse } from "../support/mirror.ts";
import { db, join, world } from "../support/world.ts";

/** The hour of a day that `fill` spreads events over. */
const HOUR = {
	start_at: "2026-01-01T12:00:00.000Z",
	end_at: "2026-01-01T13:00:00.000Z",
};
const range = { start: HOUR.start_at, end: HOUR.end_at };
const FILE = `${HOUR.start_at}-${HOUR.end_at}`;

/** Of every user of the PostgreSQL. */
const PASSWORD = "pässword-of-nobody";

type Json = Record<string, unknown>;

/** Nobody waits between two tries. */
let workflows: Awaited<ReturnType<typeof introspectWorkflow>>;
beforeAll(async () => {
	workflows = await introspectWorkflow(env.EXPORT_RUNS);
	await workflows.modifyAll((instance) => instance.disableRetryDelays());
});
afterAll(() => workflows.dispose());

/** A project with an hourly export to there, and `n` events in an hour. */
async function exporting(destination: object, n: number, more: object = {}) {
	const home = await world();
	await fill(home.project, n, range);
	const made = await home.here("POST", "/batch_exports", {
		body: { name: "Export", interval: "hour", destination, ...more },
	});
	expect(made).toMatchObject({ status: 201 });
	const path = `/batch_exports/${made.body.id}`;
	/** All runs, when they have ended, newest first. */
	const ended = (seconds = 30) =>
		vi.waitFor(
			async () => {
				const { body } = await home.here("GET", `${path}/runs`);
				expect(body.count).toBeGreaterThan(0);
				for (const run of body.results) expect(run.finished_at).not.toBeNull();
				return body.results;
			},
			{ timeout: seconds * 1000, interval: 50 },
		);
	/** Exports the hour; the run, when it has ended. */
	const backfill = async (seconds?: number) => {
		const { status } = await home.here("POST", `${path}/backfill`, {
			body: HOUR,
		});
		expect(status).toBe(200);
		const [run] = await ended(seconds);
		return run;
	};
	return {
		...home,
		export_id: made.body.id,
		path,
		ended,
		backfill,
	};
}

/** What an export writes of an event, when it is read as JSON. */
const eventsOf = async (team_id: number): Promise<Json[]> =>
	(
		await db
			.select()
			.from(events)
			.where(eq(events.team_id, team_id))
			.orderBy(asc(events.uuid))
	).map(({ team_id: _, ...event }) => ({
		...event,
		properties: JSON.parse(event.properties),
		person_properties:
			event.person_properties && JSON.parse(event.person_properties),
	}));

/** Makes a person of each who has an event of the name `event 1`. */
const people = (team_id: number) =>
	db.insert(persons).select(
		db
			.selectDistinct({
				team_id: events.team_id,
				distinct_id: events.distinct_id,
				person_id: events.distinct_id,
				properties: events.properties,
				person_version: events.team_id,
				created_at: events.created_at,
				_inserted_at: events._inserted_at,
			})
			.from(events)
			.where(and(eq(events.team_id, team_id), eq(events.event, "event 1")))
			.groupBy(events.distinct_id),
	);

const personsOf = async (team_id: number): Promise<Json[]> =>
	(
		await db
			.select()
			.from(persons)
			.where(eq(persons.team_id, team_id))
			.orderBy(asc(persons.distinct_id))
	).map((person) => ({ ...person, properties: JSON.parse(person.properties) }));

/** The rows, in the order of what tells them apart, as one digest. */
async function checksum(rows: Json[]) {
	const key = (row: Json) => String(row.uuid ?? row.distinct_id);
	const lines = rows
		.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
		.map((row) => JSON.stringify(Object.entries(row).sort()));
	const digest = await crypto.subtle.digest(
		"SHA-256",
		new TextEncoder().encode(lines.join("\n")),
	);
	return new Uint8Array(digest).toHex();
}

const parse = (text: string): Json[] =>
	text
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line));

async function stored(prefix: string) {
	const { objects } = await env.EXPORTS.list({ prefix });
	return objects.map(({ key }) => key);
}

async function fetched(key: string) {
	const object = await env.EXPORTS.get(key);
	if (!object) throw new Error(`There is no ${key}.`);
	return new Uint8Array(await object.arrayBuffer());
}

/** The rows of a Parquet file, with times and JSON as an export's other formats have them. */
async function parquet(file: Uint8Array): Promise<Json[]> {
	const rows = await duckdb(file, "select * from FILE");
	return rows.map((row) =>
		Object.fromEntries(
			Object.entries(row).map(([name, value]) => [name, plain(name, value)]),
		),
	);
}

function plain(name: string, value: unknown) {
	if (value === null || value === undefined) return null;
	if (/properties$/.test(name)) return JSON.parse(String(value));
	if (/^(timestamp|created_at|_inserted_at)$/.test(name))
		return new Date(
			String(value).replace(" ", "T").replace(/\+00$/, "Z"),
		).toISOString();
	return /^(team_id|person_version)$/.test(name) ? Number(value) : value;
}

const R2 = (config: object = {}) => ({
	type: "R2",
	config: { prefix: "out", ...config },
});
const HTTP = (path: string) => ({
	type: "HTTP",
	config: { url: `${env.RECEIVER_URL}${path}`, token: "the-token-of-nobody" },
});

describe("rows out are rows in", () => {
	test.each([
		[{}, ".jsonl"],
		[{ compression: "gzip" }, ".jsonl.gz"],
		[{ file_format: "Parquet" }, ".parquet"],
		[{ file_format: "Parquet", compression: "snappy" }, ".parquet"],
		[{ file_format: "Parquet", compression: "gzip" }, ".parquet"],
		[{ file_format: "Parquet", compression: "zstd" }, ".parquet"],
	])("events and persons, in R2: %j", async (config, suffix) => {
		for (const model of ["events", "persons"]) {
			const { project, backfill } = await exporting(R2(config), 1234, {
				model,
			});
			await people(project);
			const run = await backfill();
			const expected =
				model === "events" ? await eventsOf(project) : await personsOf(project);
			expect(expected.length).toBeGreaterThan(5);
			expect(run).toMatchObject({
				status: "Completed",
				records_completed: expected.length,
				records_total_count: expected.length,
				latest_error: null,
			});
			const key = `${project}/out/${FILE}-backfill${suffix}`;
			expect(await stored(`${project}/`)).toEqual([key]);
			const file = await fetched(key);
			const rows =
				suffix === ".parquet"
					? await parquet(file)
					: parse(
							new TextDecoder().decode(
								suffix.endsWith("gz") ? gunzipSync(file) : file,
							),
						);
			expect(rows).toHaveLength(expected.length);
			expect(await checksum(rows)).toBe(await checksum(expected));
		}
	});

	test.each(["events", "persons"])("%s, over HTTP", async (model) => {
		const path = `/batches/${v7()}`;
		const { project, backfill } = await exporting(HTTP(path), 2345, { model });
		await people(project);
		const expected =
			model === "events" ? await eventsOf(project) : await personsOf(project);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: expected.length,
		});
		const requests = await received(path);
		expect(requests[0]?.headers.authorization).toBe(
			"Bearer the-token-of-nobody",
		);
		const rows = requests.flatMap(({ text }) => JSON.parse(text).batch);
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test.each([
		["events", { compression: "gzip" }, ".jsonl.gz"],
		["persons", { compression: "gzip" }, ".jsonl.gz"],
		["events", { file_format: "Parquet", compression: "zstd" }, ".parquet"],
		["persons", { file_format: "Parquet" }, ".parquet"],
	])("%s, in S3: %j", async (model, config, suffix) => {
		const { project, backfill } = await exporting(
			{
				type: "S3",
				config: {
					...config,
					...KEYS,
					bucket_name: "exports",
					region: "auto",
					endpoint_url: env.S3_URL,
					prefix: "{table}/{year}-{month}",
				},
			},
			1234,
			{ model },
		);
		await people(project);
		const expected =
			model === "events" ? await eventsOf(project) : await personsOf(project);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: expected.length,
		});
		const key = `${model}/2026-01/${encodeURIComponent(FILE)}-backfill${suffix}`;
		const s3 = new AwsClient({
			accessKeyId: KEYS.aws_access_key_id,
			secretAccessKey: KEYS.aws_secret_access_key,
			region: "auto",
			service: "s3",
		});
		const answer = await s3.fetch(`${env.S3_URL}/exports/${key}`);
		const file = new Uint8Array(await answer.arrayBuffer());
		const rows =
			suffix === ".parquet"
				? await parquet(file)
				: parse(new TextDecoder().decode(gunzipSync(file)));
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test.each([
		["JSONLines", `"properties":{"id":1234567890123456789}`],
		["Parquet", `{"id":1234567890123456789}`],
	])("with every digit of their numbers, in %s", async (file_format, text) => {
		const { ask, project, backfill } = await exporting(R2({ file_format }), 0);
		await ask("POST", `/api/projects/${project}/events`, {
			raw: `{"event": "e", "distinct_id": "d", "timestamp": "${HOUR.start_at}", "properties": {"id": 1234567890123456789}}`,
			headers: { "content-type": "application/x-ndjson" },
		});
		await backfill();
		const [key = ""] = await stored(`${project}/`);
		const file = await fetched(key);
		expect(
			file_format === "Parquet"
				? (await duckdb(file, "select properties from FILE"))[0]?.properties
				: new TextDecoder().decode(file),
		).toContain(text);
	});

	test.skipIf(env.POSTGRES_PORT === "")(
		"events, in PostgreSQL, however often they come, if it is installed",
		async () => {
			const config = {
				user: "owner",
				password: PASSWORD,
				host: "127.0.0.1",
				port: Number(env.POSTGRES_PORT),
				database: "postgres",
			};
			const table_name = `events ${v7()}`;
			const { project, backfill } = await exporting(
				{ type: "Postgres", config: { ...config, table_name } },
				1234,
				{ xql_query: "SELECT event, properties.i AS i, timestamp FROM events" },
			);
			for (let n = 0; n < 2; n += 1)
				expect(await backfill()).toMatchObject({
					status: "Completed",
					records_completed: 1234,
				});
			const client = new pg.Client(config);
			client.on("error", () => {});
			await client.connect();
			const { rows } = await client.query(
				`select * from ${pg.escapeIdentifier(table_name)}`,
			);
			await client.end();
			const expected = (await eventsOf(project)).map(
				({ uuid, event, properties, timestamp }) => ({
					uuid,
					event,
					i: Object(properties).i,
					timestamp,
					team_id: String(project),
				}),
			);
			expect(
				await checksum(
					rows.map((row) => ({
						...row,
						timestamp: row.timestamp.toISOString(),
					})),
				),
			).toBe(await checksum(expected));
		},
	);

	test.skipIf(noClickHouse)(
		`events, from ClickHouse${noClickHouse && ` (skipped: ${noClickHouse})`}`,
		async () => {
			const { id, ask } = await world();
			// No other test has it: ClickHouse keeps what they put there.
			const project = 1_000_000;
			await db
				.insert(projects)
				.values({ id: project, organization_id: id, name: "Its own" });
			await fill(project, 2345, range);
			const expected = await eventsOf(project);
			await create();
			await mirror(project);
			await db.delete(events).where(eq(events.team_id, project));
			const { body } = await ask(
				"POST",
				`/api/projects/${project}/batch_exports`,
				{ body: { name: "Export", interval: "hour", destination: R2() } },
			);
			const { run, find } = await launched(body.id);
			await carried(run, { EVENT_SOURCE: "clickhouse" });
			expect(await find()).toMatchObject({
				status: "Completed",
				records_completed: 2345,
				records_total_count: 2345,
			});
			const [key = ""] = await stored(`${project}/`);
			const rows = parse(new TextDecoder().decode(await fetched(key)));
			expect(await checksum(rows)).toBe(await checksum(expected));
		},
		60_000,
	);

	test.each([0, 1])("%d rows", async (n) => {
		const { project, backfill } = await exporting(R2(), n);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: n,
			records_total_count: n,
		});
		expect(await stored(`${project}/`)).toHaveLength(n);
	});

	test("100,001 rows, in parts and in steps", async () => {
		const { project, backfill } = await exporting(R2(), 100_001);
		expect(await backfill(120)).toMatchObject({
			status: "Completed",
			records_completed: 100_001,
		});
		const [key = ""] = await stored(`${project}/`);
		const object = await env.EXPORTS.head(key);
		expect(object?.size).toBeGreaterThan(3 * 5 * 2 ** 20);
		const rows = parse(new TextDecoder().decode(await fetched(key)));
		expect(rows).toHaveLength(100_001);
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
	}, 180_000);

	test("with a filter, and with a query", async () => {
		const { project, backfill } = await exporting(
			R2({
				include_events: ["event 1", "event 2"],
				exclude_events: ["event 2"],
			}),
			500,
			{
				xql_query:
					"SELECT uuid, upper(event) AS name, properties.i * 2 AS twice, toDate(timestamp) AS day FROM events",
			},
		);
		expect(await backfill()).toMatchObject({ records_completed: 50 });
		const [key = ""] = await stored(`${project}/`);
		const rows = parse(new TextDecoder().decode(await fetched(key)));
		const expected = (await eventsOf(project))
			.filter(({ event }) => event === "event 1")
			.map(({ uuid, properties }) => ({
				uuid,
				name: "EVENT 1",
				twice: Number(Object(properties).i) * 2,
				day: "2026-01-01",
			}));
		expect(await checksum(rows)).toBe(await checksum(expected));
	});

	test("the log says how many, and where they are", async () => {
		const { here, path, project, backfill } = await exporting(R2(), 1);
		await backfill();
		const { body } = await here("GET", `${path}/logs?search=complete: `);
		expect(body.results).toMatchObject([
			{
				level: "INFO",
				message: `The run of ${HOUR.start_at} to ${HOUR.end_at} is complete: 1 row, in ${project}/out/${FILE}-backfill.jsonl.`,
			},
		]);
	});

	test("a scheduled run takes what came in its window, whenever it happened", async () => {
		const { project, export_id, ended } = await exporting(R2(), 10);
		await db
			.update(events)
			.set({ timestamp: "2020-01-01T00:00:00.000Z" })
			.where(eq(events.team_id, project));
		await fill(project, 5, {
			start: "2026-01-01T13:00:00.000Z",
			end: "2026-01-01T14:00:00.000Z",
		});
		await db
			.update(batchExports)
			.set({ next_end_at: HOUR.end_at, due_at: HOUR.end_at })
			.where(eq(batchExports.id, export_id));
		await tick(env, Date.parse("2026-01-01T13:06:00Z"));
		expect(await ended()).toMatchObject([
			{
				status: "Completed",
				records_completed: 10,
				data_interval_start: HOUR.start_at,
				data_interval_end: HOUR.end_at,
			},
		]);
	});
});

describe("a backfill", () => {
	test("runs its windows one after another, and a failed one doesn't stop it", async () => {
		const { here, path, ended } = await exporting(HTTP("/status/404"), 10);
		await here("POST", `${path}/backfill`, {
			body: {
				start_at: "2026-01-01T11:00:00Z",
				end_at: "2026-01-01T14:00:00Z",
			},
		});
		await vi.waitFor(
			async () =>
				expect(
					(await here("GET", `${path}/backfills`)).body.results,
				).toMatchObject([
					{
						status: "Completed",
						total_runs: 3,
						finished_runs: 3,
						failed_runs: 1,
						finished_at: expect.any(String),
					},
				]),
			{ timeout: 20_000, interval: 50 },
		);
		expect(
			(await ended()).map(({ status }: { status: string }) => status),
		).toEqual(["Completed", "Failed", "Completed"]);
	});
});

describe("a destination that", () => {
	test("fails every other time gets each batch once", async () => {
		const path = `/flaky/${v7()}`;
		const {
			project,
			backfill,
			here,
			path: at,
		} = await exporting(HTTP(path), 2500);
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: 2500,
		});
		const taken = new Map(
			(await received(path)).map(({ headers, text }) => [
				headers["idempotency-key"],
				text,
			]),
		);
		const rows = [...taken.values()].flatMap((text) => JSON.parse(text).batch);
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
		const { body } = await here("GET", `${at}/logs?level=WARNING`);
		expect(body.results[0].message).toBe(
			"127.0.0.1 answered with the status 503.",
		);
	});

	test.each([
		["/status/500", "answered with the status 500."],
		["/status/429", "answered with the status 429."],
		["/close", "127.0.0.1"],
	])("is %s is tried six times", async (path, why) => {
		const { backfill, here, path: at } = await exporting(HTTP(path), 3);
		const run = await backfill();
		expect(run).toMatchObject({
			status: "FailedRetryable",
			latest_error: expect.stringContaining(why),
		});
		const { body: log } = await here("GET", `${at}/runs/${run.id}/logs`);
		const levels = log.results.map(({ level }: { level: string }) => level);
		expect(levels).toEqual(["ERROR", ...Array(6).fill("WARNING")]);
		expect((await here("GET", at)).body.paused).toBe(false);
	});

	test("refuses fails the run at once; three in a row pause the export and tell its admins, once a day", async () => {
		const sent: string[] = [];
		const EMAIL = {
			...env.EMAIL,
			send: async (message: { to: string }) => {
				sent.push(message.to);
				return { messageId: "" };
			},
		};
		const home = await exporting(HTTP("/status/403"), 3);
		const admin = await join(home.id, 8);
		await join(home.id, 1);
		const paused = async () => (await home.here("GET", home.path)).body.paused;
		const fail = async (n: number) => {
			const end = `2026-01-01T13:00:0${n}.000Z`;
			const { run, find } = await launched(home.export_id, end);
			const mailing = { ...env, ...({ EMAIL } as Partial<Env>) };
			expect(await part(mailing, run)).toBe(false);
			await goOn(mailing, run);
			expect((await find()).status).toBe("Failed");
		};
		for (const n of [1, 2, 3]) {
			expect(await paused()).toBe(false);
			await fail(n);
		}
		expect(await paused()).toBe(true);
		expect(sent.sort()).toEqual([home.owner.email, admin.email].sort());
		const { body } = await home.here("GET", `${home.path}/logs?level=ERROR`);
		expect(body.results[0].message).toBe(
			"The export was paused: its last 3 runs failed. Mend what they say, then unpause it.",
		);
		await home.here("POST", `${home.path}/unpause`);
		for (const n of [4, 5, 6]) {
			expect(await paused()).toBe(false);
			await fail(n);
		}
		expect(await paused()).toBe(true);
		expect(sent).toHaveLength(2);
	});
});

/** A run that was launched, to be carried out here. */
async function launched(batch_export_id: string, end = HOUR.end_at) {
	const run_id = v7();
	await db.insert(batchExportRuns).values({
		id: run_id,
		batch_export_id,
		data_interval_start: HOUR.start_at,
		data_interval_end: end,
		launched: true,
		attempt: 1,
	});
	const find = async () => {
		const [row] = await db
			.select()
			.from(batchExportRuns)
			.where(eq(batchExportRuns.id, run_id));
		if (!row) throw new Error("The run is gone.");
		return row;
	};
	return { run: { run_id, attempt: 1 }, find };
}

/** The bucket, where something happens at the n-th part that is put there. */
function atPart(n: number, happens: () => Promise<void>): Partial<Env> {
	let parts = 0;
	const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
		createMultipartUpload: (key: string, options: R2MultipartOptions) =>
			env.EXPORTS.createMultipartUpload(key, options),
		put: (key: string, value: Uint8Array, options: R2PutOptions) =>
			env.EXPORTS.put(key, value, options),
		head: (key: string) => env.EXPORTS.head(key),
		resumeMultipartUpload(key: string, id: string) {
			const upload = env.EXPORTS.resumeMultipartUpload(key, id);
			return Object.assign(Object.create(upload), {
				uploadPart: async (number: number, body: Uint8Array) => {
					parts += 1;
					if (parts === n) await happens();
					return upload.uploadPart(number, body);
				},
				complete: (listed: R2UploadedPart[]) => upload.complete(listed),
				abort: () => upload.abort(),
			});
		},
	});
	return { EXPORTS };
}

/** Carries a run out to its end, in one attempt. */
async function carried(
	run: { run_id: string; attempt: number },
	more: Partial<Env> = {},
) {
	while (await part({ ...env, ...more }, run));
}

/** Three parts. */
const BIG = 50_000;

describe("a run that", () => {
	test("is cut off in the middle goes on where it was, in another attempt", async () => {
		const { project, export_id } = await exporting(R2(), BIG);
		const { run, find } = await launched(export_id);
		await expect(
			carried(
				run,
				atPart(2, async () => {
					throw new Error("The machine is gone.");
				}),
			),
		).rejects.toThrow("The machine is gone.");
		const cut = await find();
		expect(cut).toMatchObject({
			status: "Running",
			latest_error: "The machine is gone.",
		});
		expect(cut.records_completed).toBeGreaterThan(0);
		expect(cut.cursor).not.toBeNull();
		expect(await stored(`${project}/`)).toEqual([]);
		await db
			.update(batchExportRuns)
			.set({ attempt: 2 })
			.where(eq(batchExportRuns.id, run.run_id));
		await carried({ ...run, attempt: 2 });
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: BIG,
			state: null,
		});
		const [key = ""] = await stored(`${project}/`);
		const rows = parse(new TextDecoder().decode(await fetched(key)));
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
	}, 60_000);

	test("two attempts carry out at once is written once, whole", async () => {
		const { project, export_id } = await exporting(R2(), BIG);
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				await db
					.update(batchExportRuns)
					.set({ attempt: 2 })
					.where(eq(batchExportRuns.id, run.run_id));
				await carried({ ...run, attempt: 2 });
			}),
		);
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: BIG,
			attempt: 2,
		});
		const [key = ""] = await stored(`${project}/`);
		const rows = parse(new TextDecoder().decode(await fetched(key)));
		expect(await checksum(rows)).toBe(await checksum(await eventsOf(project)));
	}, 60_000);

	test("is cancelled in the middle leaves no object and no upload", async () => {
		const { here, path, project, export_id } = await exporting(R2(), BIG);
		const { run, find } = await launched(export_id);
		let upload: unknown;
		await carried(
			run,
			atPart(2, async () => {
				upload = (await find()).state;
				const { status } = await here(
					"POST",
					`${path}/runs/${run.run_id}/cancel`,
				);
				expect(status).toBe(200);
			}),
		);
		expect(await find()).toMatchObject({ status: "Cancelled", state: null });
		expect(await stored(`${project}/`)).toEqual([]);
		const [{ id }] = Object(upload).uploads;
		await expect(
			env.EXPORTS.resumeMultipartUpload(
				`${project}/out/${FILE}.jsonl`,
				id,
			).uploadPart(1, new Uint8Array(1)),
		).rejects.toThrow("(10024)");
	}, 60_000);

	test("dies when it was cancelled is cleaned up by the clock", async () => {
		const { here, path, export_id } = await exporting(R2(), BIG);
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				throw new Error("The machine is gone.");
			}),
		).catch(() => {});
		await here("DELETE", path);
		expect(await find()).toMatchObject({
			status: "Cancelled",
			state: expect.anything(),
		});
		await tick(env, Date.now() + 2 * 60_000);
		expect((await find()).state).toBeNull();
	}, 60_000);

	test("is retried while it is under way still goes on in another attempt alone", async () => {
		const { here, path, export_id } = await exporting(R2(), BIG);
		// The run before it has not ended.
		await launched(export_id, "2026-01-01T12:30:00.000Z");
		const { run, find } = await launched(export_id);
		await carried(
			run,
			atPart(2, async () => {
				await here("POST", `${path}/runs/${run.run_id}/cancel`);
				await clean(env, run.run_id);
				const { status } = await here(
					"POST",
					`${path}/runs/${run.run_id}/retry`,
				);
				expect(status).toBe(200);
			}),
		);
		expect(await find()).toMatchObject({ status: "Starting", state: null });
	}, 60_000);

	test.each([
		["cancelled", false, async () => {}],
		[
			"cancelled and retried",
			true,
			async (retry: () => Promise<unknown>) => retry(),
		],
	])(
		"is %s while it begins an upload leaves none open, though the bucket fails then",
		async (_, retried, then) => {
			const { here, path, project, export_id } = await exporting(R2(), BIG);
			await launched(export_id, "2026-01-01T12:30:00.000Z");
			const { run, find } = await launched(export_id);
			const at = `${path}/runs/${run.run_id}`;
			let upload = "";
			let aborts = 0;
			const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
				async createMultipartUpload(key: string, options: R2MultipartOptions) {
					const begun = await env.EXPORTS.createMultipartUpload(key, options);
					upload = begun.uploadId;
					await here("POST", `${at}/cancel`);
					await then(() => here("POST", `${at}/retry`));
					return begun;
				},
				head: (key: string) => env.EXPORTS.head(key),
				resumeMultipartUpload: (key: string, id: string) => ({
					abort: async () => {
						aborts += 1;
						if (!retried) throw new Error("Not now.");
						await env.EXPORTS.resumeMultipartUpload(key, id).abort();
					},
				}),
			});
			await carried(run, { EXPORTS });
			expect(aborts).toBeGreaterThan(0);
			if (!retried) await tick(env, Date.now() + 2 * 60_000);
			expect(await find()).toMatchObject({
				status: retried ? "Starting" : "Cancelled",
				state: null,
			});
			await expect(
				env.EXPORTS.resumeMultipartUpload(
					`${project}/out/${FILE}.jsonl`,
					upload,
				).uploadPart(1, new Uint8Array(1)),
			).rejects.toThrow("(10024)");
		},
		60_000,
	);

	test("leaves behind what can't be removed is left alone after a week", async () => {
		const { export_id } = await exporting(R2(), 0);
		const { run, find } = await launched(export_id);
		const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
			resumeMultipartUpload: () => ({
				abort: async () => {
					throw new Error("There is no such bucket.");
				},
			}),
		});
		const ended = (days: number) =>
			db
				.update(batchExportRuns)
				.set({
					status: "Failed",
					finished_at: new Date(Date.now() - days * 86_400_000).toISOString(),
					state: { uploads: [{ id: "x", mark: "x", parts: [] }] },
				})
				.where(eq(batchExportRuns.id, run.run_id));
		await ended(6);
		await clean({ ...env, EXPORTS }, run.run_id);
		expect((await find()).state).not.toBeNull();
		await ended(8);
		await clean({ ...env, EXPORTS }, run.run_id);
		expect((await find()).state).toBeNull();
	});

	test.skipIf(env.POSTGRES_PORT === "")(
		"ends, well or not, closes its connection to PostgreSQL, if it is installed",
		async () => {
			const config = {
				user: "owner",
				password: PASSWORD,
				host: "127.0.0.1",
				port: Number(env.POSTGRES_PORT),
				database: "postgres",
			};
			const client = new pg.Client(config);
			client.on("error", () => {});
			await client.connect();
			const open = async () => {
				const { rowCount } = await client.query(
					"select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
				);
				return rowCount;
			};
			for (const table_name of [`ended ${v7()}`, "pg_class"]) {
				const { export_id } = await exporting(
					{
						type: "Postgres",
						config: {
							...config,
							table_name,
							schema: table_name === "pg_class" ? "pg_catalog" : "public",
						},
					},
					3,
				);
				const { run, find } = await launched(export_id);
				await carried(run);
				expect(await find()).toMatchObject({
					status: table_name === "pg_class" ? "Failed" : "Completed",
				});
				await vi.waitFor(async () => expect(await open()).toBe(0), 10_000);
			}
			await client.end();
		},
	);

	test("takes long ends its step before that is given up for too long", async () => {
		const { export_id } = await exporting({ type: "NoOp", config: {} }, 2500);
		const { run, find } = await launched(export_id);
		let clock = Date.now();
		const slow = vi.spyOn(Date, "now").mockImplementation(() => {
			clock += 5 * 60_000;
			return clock;
		});
		const more = await part(env, run).finally(() => slow.mockRestore());
		expect(more).toBe(true);
		await carried(run);
		expect(await find()).toMatchObject({
			status: "Completed",
			records_completed: 2500,
		});
	});

	test("closes many files says meanwhile that it is alive", async () => {
		const { export_id } = await exporting(R2({ max_file_size_mb: 1 }), 20_000);
		const { run, find } = await launched(export_id);
		const long_ago = "2020-01-01T00:00:00.000Z";
		const heard: string[] = [];
		const { EXPORTS: bucket = env.EXPORTS } = atPart(0, async () => {});
		const EXPORTS: R2Bucket = Object.assign(Object.create(bucket), {
			createMultipartUpload: bucket.createMultipartUpload,
			put: bucket.put,
			resumeMultipartUpload(key: string, id: string) {
				const upload = bucket.resumeMultipartUpload(key, id);
				return Object.assign(Object.create(upload), {
					uploadPart: upload.uploadPart,
					complete: async (parts: R2UploadedPart[]) => {
						heard.push((await find()).last_updated_at);
						await db
							.update(batchExportRuns)
							.set({ last_updated_at: long_ago })
							.where(eq(batchExportRuns.id, run.run_id));
						return upload.complete(parts);
					},
				});
			},
		});
		let clock = Date.now();
		const slow = vi.spyOn(Date, "now").mockImplementation(() => {
			clock += 20_000;
			return clock;
		});
		await carried(run, { EXPORTS }).finally(() => slow.mockRestore());
		expect(await find()).toMatchObject({ status: "Completed" });
		expect(heard.length).toBeGreaterThan(1);
		expect(heard).not.toContain(long_ago);
	});

	test("the database fails says why, and not what was asked", async () => {
		const { export_id, project } = await exporting(R2(), 3);
		const { run, find } = await launched(export_id);
		const DB: D1Database = Object.assign(Object.create(env.DB), {
			prepare: (query: string) =>
				env.DB.prepare(query.replace(/from events$/m, "from nowhere")),
			batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
		});
		await expect(part({ ...env, DB }, run)).rejects.toThrow("nowhere");
		const { latest_error } = await find();
		expect(latest_error).toContain("no such table");
		expect(latest_error).not.toContain("params");
		expect(latest_error).not.toContain(String(project));
	});

	test("fails after all its tries leaves no upload, and can be retried from the beginning", async () => {
		const { here, path, project, export_id, ended } = await exporting(
			R2(),
			BIG,
		);
		const { run, find } = await launched(export_id);
		const error = await carried(
			run,
			atPart(2, async () => {
				throw new Error("The machine is gone.");
			}),
		).catch((error: unknown) => error);
		await giveUp(env, run, error);
		expect(await find()).toMatchObject({
			status: "FailedRetryable",
			latest_error: "The machine is gone.",
			state: null,
		});
		await here("POST", `${path}/runs/${run.run_id}/retry`);
		expect(await ended(60)).toMatchObject([
			{ id: run.run_id, status: "Completed", records_completed: BIG },
		]);
		expect(await stored(`${project}/`)).toHaveLength(1);
	}, 90_000);
});
