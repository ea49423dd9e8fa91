import * as fc from "fast-check";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import { events, persons } from "../../../../src/db/schema/events.ts";
import { evaluator } from "../../../../src/exports/engine/evaluate.ts";
import { derivePersonId } from "../../../../src/exports/engine/sources/queried.ts";
import type { Position, Selection, Source } from "../../../../src/exports/engine/sources/source.ts";
import { parse } from "../../../../src/exports/query/query.ts";
import { fieldsOf, type Model, type Row } from "../../../../src/exports/query/rows.ts";
import { fill, newId } from "../../../support/events.ts";
import { db, times } from "../../../support/world.ts";

let teams = 0;
/** A new project id. Sources need no more of a project. */
export const team = () => ++teams;

const DAY = {
	start: "2026-01-01T00:00:00Z",
	end: "2026-01-02T00:00:00Z",
};

export const selection = (more: Partial<Selection> & { model?: Model }): Selection => ({
	team_id: 0,
	model: "events",
	fields: fieldsOf(more.model ?? "events", null, false),
	where: null,
	by: "arrival",
	...DAY,
	include_events: [],
	exclude_events: [],
	...more,
});

/** All pages of a selection. */
export async function walk(source: Source, selected: Selection) {
	const pages: Row[][] = [];
	let after: Position | null = null;
	do {
		const page = await source.page(selected, after);
		expect(await source.page(selected, after)).toEqual(page);
		pages.push(page.rows);
		expect(page.next).not.toEqual(after ?? []);
		after = page.next;
	} while (after);
	const rows = pages.flat();
	expect(await source.count(selected)).toBe(rows.length);
	return { pages, rows };
}

export const event = (more: Partial<typeof events.$inferInsert>) => {
	const at = "2026-01-01T12:00:00.000Z";
	const { team_id = 0, _inserted_at = at } = more;
	return {
		id: newId(team_id, _inserted_at),
		team_id: 0,
		uuid: v7(),
		event: "seen",
		distinct_id: "someone",
		properties: "{}",
		timestamp: at,
		_inserted_at: at,
		...more,
	};
};

export const insert = (rows: ReturnType<typeof event>[]) =>
	times(rows.length, (i) => db.insert(events).values(rows[i] ?? event({})));

/**
 * Tests what holds for every source.
 * @param ready makes the rows of a project, which are in D1, available to the source
 */
export const testSource = (source: Source, ready: (team_id: number) => Promise<void>) => {
	test("an empty selection has no rows", async () => {
		const selected = selection({ team_id: team() });
		expect(await source.page(selected, null)).toEqual({
			rows: [],
			next: null,
			unfit: 0,
		});
		expect(await source.count(selected)).toBe(0);
	});

	test("all pages have each row once, in order, and as many as are counted", async () => {
		const team_id = team();
		await fill(team_id, 3500);
		await fill(team(), 10);
		await ready(team_id);
		const { pages, rows } = await walk(source, selection({ team_id }));
		expect(rows).toHaveLength(3500);
		expect(pages.map(({ length }) => length)).toEqual([1000, 1000, 1000, 500]);
		expect(new Set(rows.map(([uuid]) => uuid)).size).toBe(3500);
		const when = rows.map((row) => String(row[9]));
		expect(when).toEqual(when.toSorted());
	});

	test("rows with the same time appear once across pages", async () => {
		const team_id = team();
		const start = "2026-01-01T05:00:00.000Z";
		await fill(team_id, 2300, { start, end: start });
		await ready(team_id);
		const { pages, rows } = await walk(source, selection({ team_id, by: "event" }));
		expect(pages).toHaveLength(3);
		expect(new Set(rows.map(([uuid]) => uuid)).size).toBe(2300);
	});

	test("events are found that arrived long after", async () => {
		const team_id = team();
		const start = "2026-01-01T05:00:00.000Z";
		await fill(team_id, 2300, { start, end: start, arrived: "2026-03-01T00:00:00.000Z" });
		await fill(team_id, 700, { start, end: start });
		await ready(team_id);
		const { rows } = await walk(source, selection({ team_id, by: "event" }));
		expect(new Set(rows.map(([uuid]) => uuid)).size).toBe(3000);
		const arrived = await walk(source, selection({ team_id }));
		expect(arrived.rows).toHaveLength(700);
	});

	test("each event is in the one window in which it happened, whenever it arrived", async () => {
		const team_id = team();
		const noon = Date.parse("2026-01-01T12:00:00Z");
		const iso = (at: number) => new Date(at).toISOString();
		const HOUR = 3_600_000;
		const apart = [0, 1, HOUR - 1, HOUR, HOUR + 1, 30 * HOUR, 5000 * HOUR];
		const moments = [-HOUR, -1, 0, 1, HOUR - 1, HOUR].flatMap((at) =>
			apart.flatMap((ms) => [
				[at, at + ms],
				[at, at - ms],
				[at + ms, at],
				[at - ms, at],
			]),
		);
		await insert(
			moments.map(([happened = 0, arrived = 0], i) =>
				event({
					team_id,
					event: `event ${i}`,
					timestamp: iso(noon + happened),
					_inserted_at: iso(noon + arrived),
				}),
			),
		);
		await ready(team_id);
		const names = async (by: Selection["by"], hour: number) => {
			const start = noon + hour * HOUR;
			const window = { start: iso(start), end: iso(start + HOUR) };
			const { rows } = await walk(source, selection({ team_id, by, ...window }));
			return rows.map((row) => row[1]).toSorted();
		};
		const expected = (which: 0 | 1, hour: number) =>
			moments
				.flatMap((at, i) => (Math.floor((at[which] ?? 0) / HOUR) === hour ? [`event ${i}`] : []))
				.toSorted();
		for (const hour of [-31, -2, -1, 0, 1, 2, 30]) {
			expect(await names("event", hour)).toEqual(expected(0, hour));
			expect(await names("arrival", hour)).toEqual(expected(1, hour));
		}
	});

	test("a row equals what was stored", async () => {
		const team_id = team();
		const full = event({
			team_id,
			event: 'it\'s "ü" \\ 🦔\n\t',
			person_id: v7(),
			properties: '{"a":[1,{"b":null}],"n":1.0}',
			person_properties: '{"plan":"free"}',
			elements_chain: "a:href='/'",
			timestamp: "2026-01-01T01:02:03.004Z",
			_inserted_at: "2026-01-01T09:10:11.012Z",
		});
		const bare = event({ team_id });
		await insert([full, bare]);
		await ready(team_id);
		const { rows } = await walk(source, selection({ team_id }));
		const written = ({ uuid, event, distinct_id, ...row }: typeof full) => [
			uuid,
			event,
			distinct_id,
			row.person_id ?? derivePersonId(team_id, distinct_id),
			row.properties,
			row.person_properties ?? null,
			row.elements_chain ?? "",
			row.timestamp,
			row._inserted_at,
			row._inserted_at,
		];
		expect(rows).toEqual([written(full), written(bare)]);
	});

	test("events are included and excluded by their names", async () => {
		const team_id = team();
		await fill(team_id, 200);
		await insert([event({ team_id, event: "it's" })]);
		await ready(team_id);
		const names = async (more: Partial<Selection>) => {
			const { rows } = await walk(source, selection({ team_id, ...more }));
			return [rows.length, ...new Set(rows.map((row) => row[1]))];
		};
		expect(await names({ include_events: ["event 3", "it's", "none"] })).toEqual([
			21,
			"event 3",
			"it's",
		]);
		expect(await names({ include_events: ["none"] })).toEqual([0]);
		const most = Array.from({ length: 9 }, (_, i) => `event ${i}`);
		expect(await names({ exclude_events: most })).toEqual([21, "event 9", "it's"]);
		expect(
			await names({
				include_events: ["event 1", "event 2"],
				exclude_events: ["event 1"],
			}),
		).toEqual([20, "event 2"]);
	});

	test("persons are selected by arrival or by creation", async () => {
		const team_id = team();
		await times(1500, (i) =>
			db.insert(persons).values({
				id: newId(team_id, "2026-01-01T00:00:00.000Z"),
				team_id,
				distinct_id: `person ${i}`,
				person_id: "p",
				properties: '{"n":1}',
				person_version: i,
				created_at: i % 3 ? "2025-01-01T00:00:00.000Z" : "2026-01-01T00:00:00.000Z",
				_inserted_at: "2026-01-01T00:00:00.000Z",
			}),
		);
		await ready(team_id);
		const { rows } = await walk(
			source,
			selection({ team_id, model: "persons", exclude_events: ["x"] }),
		);
		expect(rows).toHaveLength(1500);
		expect(rows[0]).toEqual([
			team_id,
			"person 0",
			"p",
			'{"n":1}',
			0,
			"2026-01-01T00:00:00.000Z",
			"2026-01-01T00:00:00.000Z",
		]);
		const made = await walk(source, selection({ team_id, model: "persons", by: "event" }));
		expect(made.rows).toHaveLength(500);
	});

	test("a page is bounded in bytes, whatever its rows contain; a larger row has its own page", async () => {
		const team_id = team();
		const size = (n: number) => JSON.stringify({ text: "ü".repeat(n / 2) });
		await insert(
			[900_000, 1000, 400_000, 100_000, 100_000, 1000, 900_000].map((n, i) =>
				event({
					team_id,
					properties: size(n),
					_inserted_at: `2026-01-01T00:00:0${i}.000Z`,
				}),
			),
		);
		await fill(team_id, 200, {
			padding: 20_000,
			start: "2026-01-01T01:00:00Z",
			end: "2026-01-01T02:00:00Z",
		});
		await ready(team_id);
		const { pages } = await walk(source, selection({ team_id }));
		expect(pages.slice(0, 4).map(({ length }) => length)).toEqual([1, 3, 2, 1]);
		const bytes = (rows: Row[]) => new TextEncoder().encode(JSON.stringify(rows)).length;
		for (const page of pages) if (page.length > 1) expect(bytes(page)).toBeLessThan(2 ** 19 * 1.1);
		expect(pages.length).toBeLessThan(50);
	});

	test.each([1, 400_000, 480_000, 523_000, 530_000, 900_000])(
		"a row of %i bytes is read, alone and before others",
		async (size) => {
			const properties = JSON.stringify({ text: "x".repeat(size) });
			for (const n of [1, 2]) {
				const team_id = team();
				const at = (i: number) => `2026-01-01T00:00:0${i}.000Z`;
				await insert(
					Array.from({ length: n }, (_, i) => event({ team_id, properties, _inserted_at: at(i) })),
				);
				await ready(team_id);
				expect((await walk(source, selection({ team_id }))).rows).toHaveLength(n);
			}
		},
	);

	test("a page is bounded in bytes where large rows follow small ones", async () => {
		const team_id = team();
		await fill(team_id, 100, { start: "2026-01-01T01:00:00Z", end: "2026-01-01T02:00:00Z" });
		const large = { padding: 5000, start: "2026-01-01T02:00:00Z", end: "2026-01-01T03:00:00Z" };
		await fill(team_id, 1000, large);
		await ready(team_id);
		const { pages } = await walk(source, selection({ team_id }));
		const [first = 0, ...others] = pages.map(({ length }) => length);
		expect(first).toBeGreaterThan(100);
		expect(first).toBeLessThan(205);
		for (const length of others) expect(length).toBeLessThan(105);
	});

	test("the size of a page depends on what its fields read", async () => {
		const team_id = team();
		await fill(team_id, 100, { padding: 20_000 });
		await ready(team_id);
		const pages = async (query: string) =>
			(
				await walk(
					source,
					selection({
						team_id,
						fields: parse(`SELECT ${query} FROM events`).fields,
					}),
				)
			).pages.length;
		expect(await pages("event")).toBe(1);
		const once = await pages("properties");
		expect(await pages("properties.i, properties.padding, length(properties.other)")).toBe(once);
		expect(
			await pages("properties.padding, concat(properties.padding, properties.padding)"),
		).toBeGreaterThan(2.5 * once);
	});

	test("a query with the maximum number of fields works for a database", async () => {
		const team_id = team();
		await fill(team_id, 2);
		await ready(team_id);
		const many = Array.from({ length: 90 }, (_, i) => `'text ${i}' AS f${i}`);
		const query = parse(`SELECT ${many.join(", ")} FROM events`);
		const fields = fieldsOf("events", query.fields, true);
		const { rows } = await walk(
			source,
			selection({ team_id, fields, include_events: many.concat("event 1") }),
		);
		expect(rows).toEqual([[...many.map((_, i) => `text ${i}`), expect.any(String), team_id]]);
	});

	test("a query's fields are computed", async () => {
		const team_id = team();
		const properties = JSON.stringify({ price: 12.5, "odd key.'\"\\": { "in ner": [true] } });
		await insert([event({ team_id, event: "Bought", properties })]);
		await ready(team_id);
		const { fields } = parse(
			`SELECT event, team_id AS team, toFloat(properties.price) * 2 AS twice, properties."odd key.'""\\\\"."in ner" AS odd,
				properties.missing AS missing, toDate(timestamp) AS day, timestamp, 'it''s' AS quoted FROM events`,
		);
		const { rows } = await walk(source, selection({ team_id, fields }));
		expect(Object.fromEntries(fields.map(({ name }, i) => [name, rows[0]?.[i]]))).toEqual({
			event: "Bought",
			team: team_id,
			twice: 25,
			odd: "[true]",
			missing: null,
			day: "2026-01-01",
			timestamp: "2026-01-01T12:00:00.000Z",
			quoted: "it's",
		});
	});

	describe("a condition", () => {
		const team_id = team();
		const at = (second: number) => `2026-01-01T00:00:0${second}.500Z`;
		const exact = JSON.rawJSON("12345678901234567890");
		const next = JSON.rawJSON("12345678901234567891");
		const told = [
			{ plan: "free", price: 5, limit: 10, id: exact, next },
			{ plan: "pro", price: "50", paid: true },
			{ plan: null, price: 7.5, paid: false },
			{},
			{ plan: "it's, 'so'", price: 50, seen: "2026-01-01T01:00:01.5+01:00" },
		];
		const numbersOf = (rows: Row[]) =>
			rows.flat().map((name) => Number(String(name).slice("event ".length)));

		beforeAll(async () => {
			await insert(
				told.map((properties, i) =>
					event({
						team_id,
						event: `event ${i}`,
						distinct_id: i % 2 ? "odd, 'one'" : "",
						person_id: i < 3 ? `0000000${i}-0000-4000-8000-000000000000` : null,
						timestamp: at(i),
						_inserted_at: at(i),
						properties: JSON.stringify(properties),
					}),
				),
			);
			await ready(team_id);
		});

		const taken = async (condition: string) => {
			const query = parse(`SELECT event FROM events WHERE ${condition}`);
			const { rows } = await walk(source, selection({ team_id, ...query }));
			return numbersOf(rows);
		};

		test.each([
			["true", [0, 1, 2, 3, 4]],
			["null", []],
			["1 = 2", []],
			["event = 'event 1'", [1]],
			["event != 'event 1' and event <> 'event 2'", [0, 3, 4]],
			["event in ('event 0', 'event 4', 'none')", [0, 4]],
			["event not in ('event 0', null)", []],
			["event = 'event 0' or event = null", [0]],
			["distinct_id = ''", [0, 2, 4]],
			["distinct_id in ('odd, ''one''', ',')", [1, 3]],
			["person_id = '00000001-0000-4000-8000-000000000000'", [1]],
			["person_id != '00000001-0000-4000-8000-000000000000'", [0, 2, 3, 4]],
			["not person_id in ('', 'x')", [0, 1, 2, 3, 4]],
			["person_id is null", []],
			["person_id IS NOT NULL and event > 'event 0'", [1, 2, 3, 4]],
			["timestamp >= '2026-01-01T00:00:02.500Z'", [2, 3, 4]],
			["timestamp > '2026-01-01 00:00:02.5'", [3, 4]],
			["timestamp <= '2026-01-01T01:00:02.5+01:00'", [0, 1, 2]],
			["timestamp < '2026-01-01T00:00:02.500Z'", [0, 1]],
			["timestamp = '2026-01-01T00:00:02.500Z'", [2]],
			["timestamp != '2026-01-01T00:00:02.500Z'", [0, 1, 3, 4]],
			["not timestamp < '2026-01-01T00:00:02.500Z'", [2, 3, 4]],
			["timestamp < '9999-12-31T23:59:59.999Z'", [0, 1, 2, 3, 4]],
			["timestamp > '0001-01-01'", [0, 1, 2, 3, 4]],
			["toDate(timestamp) = '2026-01-01'", [0, 1, 2, 3, 4]],
			["toDate(timestamp) < timestamp", [0, 1, 2, 3, 4]],
			["properties.seen < timestamp", [4]],
			["timestamp - 1 is null", [0, 1, 2, 3, 4]],
			["properties.plan = 'free'", [0]],
			["properties.plan != 'free'", [1, 4]],
			["properties.plan is null", [2, 3]],
			["properties.plan = 'it''s, ''so'''", [4]],
			["properties.price > 7", [1, 2, 4]],
			["properties.price = 50", [1, 4]],
			["properties.price = '50'", [1, 4]],
			["properties.price * 2 in (10, 15)", [0, 2]],
			["properties.id = '12345678901234567890'", [0]],
			["properties.id = '12345678901234567891'", []],
			["properties.paid", [1]],
			["not properties.paid", [2]],
			["properties.paid = true", [1]],
			["properties.paid is null or properties.paid", [0, 1, 3, 4]],
			["properties.price = properties.price", [0, 1, 2, 4]],
			["properties.id = properties.next", []],
			["properties.price < properties.limit", [0]],
			["properties.plan like 'f%' or properties.plan like '_ro'", [0, 1]],
			["properties.plan not like '%o%'", [0]],
			["event like 'EVENT%'", []],
			["upper(event) like 'EVENT%'", [0, 1, 2, 3, 4]],
			["event = 'event 1' and properties.price = 5", []],
			["if(properties.paid, 1 = 1, event = 'event 0')", [0, 1]],
		])("%s", async (condition, expected) => {
			expect(await taken(condition)).toEqual(expected);
		});

		const literal = fc
			.constantFrom("event 1", "event 2", "", "odd, 'one'", ",", "6576")
			.map((text) => `'${text.replaceAll("'", "''")}'`);
		const moment = fc
			.tuple(fc.constantFrom(0, 2, 4), fc.constantFrom("499", "5", "501"))
			.map(([second, rest]) => `'2026-01-01 00:00:0${second}.${rest}'`);
		const conditions = fc.oneof(
			fc
				.tuple(
					fc.constantFrom("event", "distinct_id", "person_id", "uuid"),
					fc.constantFrom("=", "!="),
					literal,
				)
				.map((parts) => parts.join(" ")),
			fc
				.tuple(
					fc.constantFrom("event", "distinct_id", "person_id"),
					fc.constantFrom("in", "not in"),
					fc.array(literal, { minLength: 1, maxLength: 3 }),
				)
				.map(([column, word, list]) => `${column} ${word} (${list})`),
			fc
				.tuple(
					fc.constantFrom("timestamp", "created_at"),
					fc.constantFrom("=", "!=", "<", "<=", ">", ">="),
					moment,
				)
				.map((parts) => parts.join(" ")),
		);

		test("gives the same rows whether the table or the worker checks it", async () => {
			const all = await walk(source, selection({ team_id }));
			const names = fieldsOf("events", null, false).map(({ name }) => name);
			await fc.assert(
				fc.asyncProperty(
					fc.array(conditions, { minLength: 1, maxLength: 3 }),
					fc.array(conditions, { maxLength: 2 }),
					async (some, negated) => {
						const condition = [...some, ...negated.map((each) => `not ${each}`)].join(" and ");
						const { fields, where } = parse(`SELECT event FROM events WHERE ${condition}`);
						const { rows } = evaluator(names, fields, where)(all.rows);
						expect(await taken(condition)).toEqual(numbersOf(rows));
					},
				),
				{ numRuns: 25 },
			);
		});

		test("may have more parts than a statement has parameters", async () => {
			const each = Array.from(
				{ length: 60 },
				(_, i) => `event != 'none ${i}' and timestamp != '2025-01-01'`,
			);
			const condition = [...each, "event != 'event 3'"].join(" and ");
			expect(await taken(condition)).toEqual([0, 1, 2, 4]);
		});
	});

	test("if a condition matches few rows, pages end early, and the next ones continue", async () => {
		const team_id = team();
		await fill(team_id, 2500);
		await ready(team_id);
		const query = parse(
			"SELECT properties.i AS i FROM events WHERE properties.i = 2400 OR properties.i = 3",
		);
		const { pages } = await walk(source, selection({ team_id, ...query }));
		expect(pages).toEqual([[["3"]], [], [["2400"]]]);
		const checked = parse(
			"SELECT properties.i AS i FROM events WHERE event = 'event 3' AND timestamp < '2026-01-01T12:00:00Z' AND properties.i > 1000",
		);
		const found = await walk(source, selection({ team_id, ...checked }));
		expect(found.pages.map(({ length }) => length)).toEqual([25]);
	});

	test.each(["\x7f", "\0", "=", "\x7f=\x7f\n\x1f", "\x7f".repeat(11)])(
		"texts with %j equal what was stored",
		async (odd) => {
			const team_id = team();
			const rows = Array.from({ length: 3 }, (_, i) =>
				event({
					team_id,
					event: i === 1 ? `${odd}a${odd}` : "plain",
					distinct_id: odd,
					person_id: i === 2 ? odd : null,
					person_properties: i === 0 ? "{}" : null,
					elements_chain: "",
				}),
			);
			await insert(rows);
			await ready(team_id);
			const fields = fieldsOf("events", null, true);
			const page = await source.page(selection({ team_id, fields }), null);
			const byUuid = (a: Row, b: Row) => String(a[0]).localeCompare(String(b[0]));
			expect(page.rows.toSorted(byUuid)).toEqual(
				rows
					.map((row) => ({
						...row,
						person_id: row.person_id ?? derivePersonId(team_id, odd),
						created_at: row._inserted_at,
					}))
					.map((row) => fields.map(({ name }) => Reflect.get(row, name) ?? null))
					.toSorted(byUuid),
			);
		},
	);

	test("a number that its column can't hold is null, and counted", async () => {
		const team_id = team();
		await insert([event({ team_id, properties: JSON.stringify({ n: 1e300, half: 0.5 }) })]);
		await ready(team_id);
		const { fields } = parse(
			`SELECT toInt(properties.n) AS beyond, toInt('9223372036854775808') AS first, toInt('-9007199254740993') AS inside,
				toFloat(properties.n) AS fine, toInt(properties.half) AS zero FROM events`,
		);
		const selected = selection({ team_id, fields });
		expect(await source.page(selected, null)).toMatchObject({
			rows: [[null, null, -9007199254740993n, 1e300, 0]],
			unfit: 2,
		});
	});
};
