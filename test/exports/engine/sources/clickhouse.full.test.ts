import { createClient } from "@clickhouse/client-web";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { clickhouse } from "../../../../src/exports/engine/sources/clickhouse.ts";
import type { Position, Selection, Source } from "../../../../src/exports/engine/sources/source.ts";
import { parse } from "../../../../src/exports/query/query.ts";
import type { Row } from "../../../../src/exports/query/rows.ts";
import { MisconfiguredError } from "../../../../src/outbound/errors.ts";
import { access, noClickHouse } from "../../../support/clickhouse_tables.ts";
import { selection as anySelection } from "./cases.ts";

const EVENTS = `team_id Int64, uuid UUID, event LowCardinality(String), distinct_id String, person_id Nullable(String),
	properties String, person_properties String, elements_chain String, timestamp DateTime64(6, 'UTC'),
	created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC')`;
const PERSONS = `team_id Int64, distinct_id String, person_id String, properties String, person_version UInt64,
	created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC')`;

const BY_DAY = "(team_id, toDate(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))";

/** A database for each layout that the table of events may have. */
const LAYOUTS: Record<string, string> = {
	by_day: `table by_day.events (${EVENTS}) engine = ReplacingMergeTree(_inserted_at) partition by toYYYYMM(timestamp) order by ${BY_DAY}`,
	by_arrival: `table by_arrival.events (${EVENTS}) engine = MergeTree order by (team_id, _inserted_at, uuid)`,
	by_local_hour: `table by_local_hour.events (${EVENTS}) engine = MergeTree
		order by (toStartOfHour(toTimeZone(timestamp, 'America/New_York')), concat(event, ' (,'), team_id)`,
	by_nullable: `table by_nullable.events (${EVENTS}) engine = MergeTree order by (team_id, event, person_id) settings allow_nullable_key = 1`,
	in_a_view: "view in_a_view.events as select * from by_arrival.events",
};

/** The table into which a layout's events are inserted. */
const tableOf = (layout: string) => `${layout === "in_a_view" ? "by_arrival" : layout}.events`;

const open = (database: string) => clickhouse({ ...access, database });

async function command(query: string, query_params = {}) {
	const client = createClient({ ...access, keep_alive: { enabled: false } });
	await client.command({ query, query_params });
}

let teams = 1_000_000;
const team = () => ++teams;

const selection = (more: Partial<Selection>) =>
	anySelection({ start: "2026-01-02T00:00:00Z", end: "2026-01-03T00:00:00Z", ...more });

/** All pages of a selection. */
async function walk(
	selected: Selection,
	/** The source for each page. */
	source: () => Source,
) {
	const pages: Row[][] = [];
	let after: Position | null = null;
	do {
		const page = await source().page(selected, after);
		pages.push(page.rows);
		after = page.next;
	} while (after);
	return pages;
}

/**
 * The rows of a selection. Checks that they are the same with a new source for each page, and as
 * many as are counted.
 */
async function rowsOf(layout: string, selected: Selection) {
	const source = open(layout);
	const pages = await walk(selected, () => source);
	expect(await walk(selected, () => open(layout))).toEqual(pages);
	expect(await open(layout).count(selected)).toBe(pages.flat().length);
	return pages.flat();
}

const uuids = (rows: Row[]) => rows.map(([uuid]) => String(uuid)).toSorted();
const properties = (rows: Row[]) => new Set(rows.map((row) => row[4]));

/** Inserts `n` events, spread over some hours. Each call for a project inserts the same events. */
const put = (
	layout: string,
	team_id: number,
	n: number,
	{ timestamp = "2026-01-02 01:00:00", arrived = "2026-01-02 12:00:00", text = "" } = {},
) =>
	command(
		`insert into ${tableOf(layout)} select {team_id:Int64}, toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number), 12, '0'))),
			concat('event ', toString(number % 10), '\\t\\\\''"ü'), concat('person ', toString(number % 100)), null, {text:String}, '', '',
			toDateTime64({timestamp:String}, 6, 'UTC') + toIntervalMillisecond(number * 5001) as at, at, toDateTime64({arrived:String}, 6, 'UTC')
			from numbers({n:UInt64})`,
		{ team_id, n, timestamp, arrived, text },
	);

describe.skipIf(noClickHouse)(`tables that have copies of rows${noClickHouse}`, () => {
	beforeAll(async () => {
		for (const [name, layout] of Object.entries(LAYOUTS)) {
			await command(`create database if not exists ${name}`);
			await command(`create or replace ${layout}`);
			if (name !== "in_a_view") await command(`system stop merges ${name}.events`);
		}
		await command(
			`create or replace table by_day.persons (${PERSONS}) engine = ReplacingMergeTree(person_version) order by (team_id, distinct_id)`,
		);
		await command(
			`create or replace table by_arrival.persons (${PERSONS}) engine = MergeTree order by (team_id, _inserted_at)`,
		);
	});

	describe.each(Object.keys(LAYOUTS))("%s", (layout) => {
		test.each(["arrival", "event"] as const)("yield it once, by %s", async (by) => {
			const team_id = team();
			for (let i = 0; i < 3; i++) await put(layout, team_id, 2500);
			const rows = await rowsOf(layout, selection({ team_id, by }));
			expect(rows).toHaveLength(2500);
			expect(new Set(uuids(rows)).size).toBe(2500);
		});

		test("yield the copy that arrived last, wherever it is", async () => {
			const team_id = team();
			const moments = ["2026-01-02 12:00:00", "2026-01-02 14:00:00"];
			await put(layout, team_id, 1500, {
				arrived: "2026-01-02 13:00:00",
				text: "second",
			});
			for (const arrived of moments)
				await put(layout, team_id, 1500, {
					arrived,
					text: arrived === moments[0] ? "first" : "third",
					// As if somebody had corrected the clock.
					timestamp: "2026-01-01 22:00:00",
				});
			const rows = await rowsOf(layout, selection({ team_id }));
			expect(rows).toHaveLength(1500);
			expect(new Set(uuids(rows)).size).toBe(1500);
			expect(properties(rows)).toEqual(new Set(["third"]));
			const happened = await rowsOf(
				layout,
				selection({ team_id, by: "event", end: "2026-01-02T01:00:00Z" }),
			);
			expect(happened.length).toBeGreaterThan(0);
			expect(properties(happened)).toEqual(new Set(["third"]));
		});

		test("apply a query's condition only to the copy that is used", async () => {
			const team_id = team();
			await put(layout, team_id, 50, { text: "old" });
			await put(layout, team_id, 50, {
				arrived: "2026-01-02 13:00:00",
				timestamp: "2026-01-02 05:00:00",
				text: "new",
			});
			const during = (hours: string) =>
				rowsOf(
					layout,
					selection({
						team_id,
						...parse(`SELECT uuid FROM events WHERE ${hours}`),
					}),
				);
			expect(await during("timestamp < '2026-01-02T04:00:00Z'")).toEqual([]);
			expect(await during("timestamp > '2026-01-02T04:00:00Z'")).toHaveLength(50);
			expect(await during("event like 'event 1%' and timestamp > '2026-01-02'")).toHaveLength(5);
			expect(await during("properties = 'old'")).toEqual([]);
		});

		test("yield always the same one of copies that arrived at the same time", async () => {
			const team_id = team();
			for (const text of ["a", "b", "c"]) await put(layout, team_id, 1500, { text });
			const rows = await rowsOf(layout, selection({ team_id }));
			expect(rows).toHaveLength(1500);
			expect(await rowsOf(layout, selection({ team_id }))).toEqual(rows);
		});

		test("yield it in each window in which a copy arrived", async () => {
			const team_id = team();
			await put(layout, team_id, 1200, { text: "first" });
			await put(layout, team_id, 1200, {
				text: "second",
				arrived: "2026-01-03 00:00:00",
			});
			const first = await rowsOf(layout, selection({ team_id }));
			const second = await rowsOf(
				layout,
				selection({
					team_id,
					start: "2026-01-03T00:00:00Z",
					end: "2026-01-04T00:00:00Z",
				}),
			);
			expect(first).toHaveLength(1200);
			expect(uuids(second)).toEqual(uuids(first));
			expect(properties(first)).toEqual(new Set(["first"]));
			expect(properties(second)).toEqual(new Set(["second"]));
		});
	});

	test("yield the rest after a run was killed and the table was merged", async () => {
		const team_id = team();
		for (const text of ["a", "b", "c"]) await put("by_day", team_id, 1500, { text });
		const selected = selection({ team_id, by: "event" });
		const { rows, next } = await open("by_day").page(selected, null);
		expect(rows).toHaveLength(1000);
		await command("system start merges by_day.events");
		await command("optimize table by_day.events final");
		const rest = await open("by_day").page(selected, next);
		expect(new Set(uuids([...rows, ...rest.rows])).size).toBe(1500);
		expect(rest).toMatchObject({ rows: { length: 500 }, next: null });
		await command("system stop merges by_day.events");
	});

	test("report an error if a run can't continue because their order has changed", async () => {
		const team_id = team();
		await put("by_day", team_id, 1500);
		const selected = selection({ team_id });
		const { next } = await open("by_day").page(selected, null);
		const moved = open("by_arrival").page(selected, next);
		await expect(moved).rejects.toThrow(
			"ClickHouse: the order of the table events has changed since the run began. Retry the run from its start.",
		);
		await expect(moved).rejects.toBeInstanceOf(MisconfiguredError);
	});

	describe.each(["by_day", "by_arrival"])("persons, %s", (layout) => {
		/** Inserts one version of `n` persons. */
		const write = (team_id: number, n: number, version: number, arrived: string) =>
			command(
				`insert into ${layout}.persons select {team_id:Int64}, concat('person ', toString(number)), 'p', {text:String},
					{version:UInt64}, toDateTime64('2026-01-02 01:00:00', 6, 'UTC'), toDateTime64({arrived:String}, 6, 'UTC')
					from numbers({n:UInt64})`,
				{ team_id, n, version, arrived, text: `version ${version}` },
			);
		const versions = async (selected: Selection) => {
			const rows = await rowsOf(layout, selected);
			expect(new Set(rows.map((row) => row[1])).size).toBe(rows.length);
			return [rows.length, ...new Set(rows.map((row) => row[3]))];
		};

		test("yield a person once, in its highest version", async () => {
			const team_id = team();
			const at = "2026-01-02 12:00:00";
			// The highest arrives before another one, and again.
			for (const version of [1, 10, 9, 10]) await write(team_id, 1500, version, at);
			const persons = { team_id, model: "persons" } as const;
			expect(await versions(selection(persons))).toEqual([1500, "version 10"]);
			expect(await versions(selection({ ...persons, by: "event" }))).toEqual([1500, "version 10"]);
		});

		test("yield a person only in the window in which its highest version arrived", async () => {
			const team_id = team();
			await write(team_id, 1500, 1, "2026-01-02 12:00:00");
			await write(team_id, 400, 3, "2026-01-03 12:00:00");
			await write(team_id, 400, 2, "2026-01-04 12:00:00");
			const day = (n: number) =>
				versions(
					selection({
						team_id,
						model: "persons",
						start: `2026-01-0${n}T00:00:00Z`,
						end: `2026-01-0${n + 1}T00:00:00Z`,
					}),
				);
			expect(await day(2)).toEqual([1100, "version 1"]);
			expect(await day(3)).toEqual([400, "version 3"]);
			expect(await day(4)).toEqual([0]);
		});
	});
});

/**
 * Until the test ends, replaces the response to the first query for events by the result of
 * `change`.
 * @returns the queries for events
 */
function changeFirstAnswer(
	change: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>,
) {
	const queries: string[] = [];
	const { fetch } = globalThis;
	vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
		const response = await fetch(input, init);
		const query = String(init?.body);
		if (!query.includes("order by") || !response.body) return response;
		queries.push(query);
		return queries.length > 1 ? response : new Response(change(response.body), response);
	});
	onTestFinished(() => {
		vi.restoreAllMocks();
	});
	return queries;
}

/** The rows in the first bytes of a response, and then `end`. */
const cut = (
	body: ReadableStream<Uint8Array>,
	length: number,
	end: (controller: ReadableStreamDefaultController) => void,
) =>
	new ReadableStream({
		async start(controller) {
			const bytes = new Uint8Array(await new Response(body).arrayBuffer());
			controller.enqueue(bytes.slice(0, bytes.lastIndexOf(10, length) + 1));
			end(controller);
		},
	});

describe.skipIf(noClickHouse)(`a response that breaks off${noClickHouse}`, () => {
	const layout = "breaking";
	const team_id = 1;

	beforeAll(async () => {
		await command(`create database if not exists ${layout}`);
		await command(
			`create or replace table ${layout}.events (${EVENTS}) engine = MergeTree order by ${BY_DAY}`,
		);
		await put(layout, team_id, 2500);
	});

	const write = (text: string) => (c: ReadableStreamDefaultController) => {
		c.enqueue(new TextEncoder().encode(text));
		c.close();
	};

	test.each([
		[
			"with an error of the connection",
			(c: ReadableStreamDefaultController) => c.error(new Error("Connection lost.")),
		],
		["in a row", write('["2026-')],
		["with an error of the server", write("Code: 159. DB::Exception: Timeout exceeded\n")],
		[
			"with an error of the server, marked",
			write("\r\n__exception__\r\nabc\r\nCode: 241. Memory limit exceeded"),
		],
	])("%s is followed by a query for the rest", async (_, end) => {
		const queries = changeFirstAnswer((body) => cut(body, 300_000, end));
		const selected = selection({ team_id });
		const source = open(layout);
		const pages = await walk(selected, () => source);
		expect(queries).toHaveLength(2);
		expect(pages.map(({ length }) => length)).toEqual([1000, 1000, 500]);
		expect(new Set(uuids(pages.flat())).size).toBe(2500);
	});

	test("before its first row is an error, without the password", async () => {
		changeFirstAnswer((body) =>
			cut(body, 0, write(`Code: 241. The limit of ${access.password}\n`)),
		);
		await expect(open(layout).page(selection({ team_id }), null)).rejects.toThrow(
			"ClickHouse: Code: 241. The limit of ***",
		);
	});

	test("is cancelled when nobody reads it", async () => {
		const cancelled = Promise.withResolvers<unknown>();
		changeFirstAnswer(
			(body) =>
				new ReadableStream({
					async start(controller) {
						controller.enqueue(new Uint8Array(await new Response(body).arrayBuffer()));
					},
					cancel: cancelled.resolve,
				}),
		);
		const source = open(layout);
		const { next } = await source.page(selection({ team_id }), null);
		expect(next).not.toBeNull();
		source.release?.();
		await cancelled.promise;
	});
});

/** How many rows ClickHouse reads for an action. */
async function rowsRead(action: () => Promise<unknown>) {
	let rows = 0;
	const { fetch } = globalThis;
	vi.spyOn(globalThis, "fetch").mockImplementation(async (...request) => {
		const response = await fetch(...request);
		const summary = response.headers.get("x-clickhouse-summary") ?? "{}";
		rows += Number(JSON.parse(summary).read_rows);
		return response;
	});
	onTestFinished(() => {
		vi.restoreAllMocks();
	});
	await action();
	vi.restoreAllMocks();
	return rows;
}

describe.skipIf(noClickHouse)(`the rows that ClickHouse reads${noClickHouse}`, () => {
	const DAYS = 5;
	const ROWS_A_DAY = 50_000;
	/** The maximum of rows read for each row that is returned. */
	const MAX_READ = 3;
	const INDEXES = {
		timestamp: "index happened timestamp type minmax granularity 1",
		_inserted_at: "index arrived _inserted_at type minmax granularity 1",
	};

	beforeAll(async () => {
		const tables = {
			much_by_day: `${EVENTS}, ${INDEXES._inserted_at}) engine = MergeTree order by ${BY_DAY}`,
			much_by_arrival: `${EVENTS}, ${INDEXES.timestamp}) engine = MergeTree order by (team_id, _inserted_at)`,
		};
		for (const [name, layout] of Object.entries(tables)) {
			await command(`create database if not exists ${name}`);
			await command(`create or replace table ${name}.events (${layout}`);
			await command(
				`insert into ${name}.events select 1 + number % 2, generateUUIDv4(), concat('event ', toString(number % 10)), toString(number % 1000),
					null, repeat('x', 100), '', '', toDateTime64('2026-01-01 00:00:00', 6, 'UTC')
						+ toIntervalMillisecond(intDiv(number, 2) * ${86_400_000 / ROWS_A_DAY}) as at, at, at + toIntervalSecond(1)
				from numbers(${2 * DAYS * ROWS_A_DAY})`,
			);
		}
	});

	describe.each(["much_by_day", "much_by_arrival"])("%s", (layout) => {
		test.each(["arrival", "event"] as const)(
			"is fewer than four rows for each that is answered, by %s",
			async (by) => {
				const selected = selection({ team_id: 1, by });
				const source = open(layout);
				let pages: Row[][] = [];
				const read = await rowsRead(async () => {
					pages = await walk(selected, () => source);
					expect(await source.count(selected)).toBe(ROWS_A_DAY);
				});
				expect(new Set(uuids(pages.flat())).size).toBe(ROWS_A_DAY);
				expect(pages).toHaveLength(ROWS_A_DAY / 1000);
				expect(read / ROWS_A_DAY).toBeLessThanOrEqual(MAX_READ);
			},
		);
	});

	test.each([
		["much_by_day", "event"],
		["much_by_arrival", "arrival"],
	] as const)("%s, by %s: is only the rest where a run goes on", async (layout, by) => {
		const selected = selection({ team_id: 1, by });
		const source = open(layout);
		let after: Position | null = null;
		for (let page = 0; page < 40; page++) after = (await source.page(selected, after)).next;
		source.release?.();
		const read = await rowsRead(() => open(layout).page(selected, after));
		expect(read).toBeLessThan(0.6 * ROWS_A_DAY);
	});

	test.each([
		["much_by_day", "arrival", "arrived"],
		["much_by_arrival", "event", "happened"],
	] as const)(
		"%s, by %s: without an index, is all rows of the project once, and then those of the window's days",
		async (layout, by, index) => {
			await command(`alter table ${layout}.events drop index ${index}`);
			const selected = selection({ team_id: 1, by });
			const source = open(layout);
			const read = await rowsRead(async () => {
				const pages = await walk(selected, () => source);
				expect(pages.flat()).toHaveLength(ROWS_A_DAY);
			});
			expect(read / ROWS_A_DAY).toBeLessThan(DAYS + 3);
		},
	);
});
