import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { firstId, idAt } from "../../../src/db/arrival_id.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { events, persons } from "../../../src/db/schema/events.ts";
import { deleteOrphans } from "../../../src/exports/ingestion/queries.ts";
import worker from "../../../src/worker.ts";
import { wrong } from "../../support/errors.ts";
import { fill, metered } from "../../support/events.ts";
import { cost, db, racing } from "../../support/world.ts";
import { LINES, project, seen } from "./posting.ts";

describe("events are stored", () => {
	test("an event with all fields, as it was sent", async () => {
		const { post, kept, project: team_id } = await project();
		const event = {
			uuid: v7(),
			event: " Ünusual 🦔 ",
			distinct_id: "someone ",
			person_id: v7(),
			properties: {
				$os: "x",
				deep: [{ a: [1.5, 0.30000000000000004, "ü\n", null, true] }],
				'odd "key"': {},
				"": 0,
			},
			person_properties: { plan: "free" },
			elements_chain: " a:href='/'\n",
			timestamp: "2026-03-04T05:06:07.891+02:00",
		};
		const before = new Date().toISOString();
		expect(await post([event])).toMatchObject({
			status: 200,
			body: { accepted: 1 },
		});
		const [row] = await kept();
		expect({
			...row,
			properties: JSON.parse(row?.properties ?? ""),
			person_properties: JSON.parse(row?.person_properties ?? ""),
		}).toEqual({
			...event,
			team_id,
			timestamp: "2026-03-04T03:06:07.891Z",
			created_at: expect.any(String),
			_inserted_at: row?.created_at,
		});
		expect(row && row.created_at >= before).toBe(true);
	});

	/** Numbers that a double can't hold exactly, or that it formats differently. */
	const NUMBERS =
		'{"id":1234567890123456789,"deep":[{"n":-98765432109876543210}],"price":1.10,"big":1e300,"tiny":1e-300,"zero":-0,"pi":3.14159265358979323846}';

	test("with every digit of their numbers, for events and persons", async () => {
		const { lines, kept, project: team_id } = await project();
		const line = (more: string) =>
			`{"event": "e", "distinct_id": "d", "properties": ${NUMBERS}${more}}`;
		await lines(line(`, "person_properties": ${NUMBERS}`));
		// The second event is merged, so the other numbers are read from the database.
		await lines(line(', "person_properties": {"id 2": 2234567890123456789}'));
		const [row] = await kept();
		expect(row?.properties).toBe(NUMBERS);
		expect(row?.person_properties).toBe(NUMBERS);
		const person = await env.DB.prepare("select properties from persons where team_id = ?")
			.bind(team_id)
			.first<string>("properties");
		for (const member of NUMBERS.slice(1, -1).split(",")) expect(person).toContain(member);
		expect(person).toContain('"id 2":2234567890123456789');
	});

	test.each(["1e400", "-1e400", "1e-400", `1${"0".repeat(400)}`])(
		"numbers that a double can't hold are rejected: %s",
		async (number) => {
			const { lines, kept } = await project();
			expect(
				await lines(`{"event": "e", "distinct_id": "d", "properties": {"a": [${number}]}}`),
			).toMatchObject({ status: 400, body: { attr: "0__properties" } });
			expect(await kept()).toEqual([]);
		},
	);

	test("a number instead of an object is rejected", async () => {
		const { lines } = await project();
		expect(
			await lines('{"event": "e", "distinct_id": "d", "properties": 1234567890123456789}'),
		).toMatchObject({ status: 400, body: { attr: "0__properties" } });
	});

	test("with a property called __proto__", async () => {
		const { lines, kept } = await project();
		await lines('{"event": "e", "distinct_id": "d", "properties": {"__proto__": {"a": 1}}}');
		expect((await kept())[0]?.properties).toBe('{"__proto__":{"a":1}}');
	});

	test("an event with only the required fields gets the defaults", async () => {
		const { post, kept, known, project: team_id } = await project();
		expect((await post(seen())).body).toEqual({ accepted: 1 });
		const [row] = await kept();
		expect(row).toEqual({
			...seen(),
			team_id,
			uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
			person_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5/),
			properties: "{}",
			person_properties: null,
			elements_chain: "",
			timestamp: row?._inserted_at,
			created_at: row?._inserted_at,
			_inserted_at: expect.stringMatching(/^\d{4}-.*T.*\.\d{3}Z$/),
		});
		expect(await known()).toEqual([]);
	});

	test.each(["application/x-ndjson", "application/jsonl; charset=utf-8"])(
		"from JSON lines, as %s",
		async (type) => {
			const { ask, path, kept } = await project();
			const raw = `\n{"event": "a", "distinct_id": "1"}\r\n\n  {"event": "b", "distinct_id": "2"}`;
			const headers = { "content-type": type };
			expect((await ask("POST", path, { raw, headers })).body).toEqual({
				accepted: 2,
			});
			expect((await kept()).map(({ event }) => event)).toEqual(["a", "b"]);
		},
	);

	test("with numbers that a double would format longer", async () => {
		const { lines, kept } = await project();
		const properties = `{"a":[${"1e20,".repeat(100_000)}1]}`;
		await lines(`{"event": "e", "distinct_id": "d", "properties": ${properties}}`);
		// Without `expect`, which would print all of it.
		expect((await kept())[0]?.properties === properties).toBe(true);
	});

	test("none, if none was sent", async () => {
		const { post, lines, kept } = await project();
		expect((await post([])).body).toEqual({ accepted: 0 });
		expect((await lines(" \n")).body).toEqual({ accepted: 0 });
		expect(await kept()).toEqual([]);
	});

	test("in two round trips, and without an entry in the activity log", async () => {
		const { post, project: id } = await project();
		const response = await post([seen({ person_properties: { a: 1 } }), seen()]);
		expect(cost(response).trips).toBe(2);
		const log = db
			.select()
			.from(activityLog)
			.where(and(eq(activityLog.project_id, id), eq(activityLog.scope, "Event")));
		expect(await log).toEqual([]);
	});

	test("one event of nearly a megabyte, whatever its characters", async () => {
		const { post, kept } = await project();
		for (const text of ["x".repeat(1_000_000), '"'.repeat(500_000)])
			expect((await post(seen({ properties: { text } }))).status).toBe(200);
		expect((await kept()).map(({ properties }) => JSON.parse(properties).text.length)).toEqual([
			1_000_000, 500_000,
		]);
	});
});

test.each([
	[
		'\n{"event":"e","distinct_id":"d"}\n\n{"event":"e"}\n',
		"1__distinct_id",
		"Line 4: This field is required.",
	],
	['{"event":7,"distinct_id":"d"}', "0__event", "Line 1: Not a valid string."],
	['{"event":"e","distinct_id":"d"}\r\n\r\n7', "1", "Line 3: Expected a dictionary of items."],
	["{}\n{", null, "JSON parse error - line 2: "],
])("an invalid event in JSON Lines is named by its line: %j", async (text, attr, detail) => {
	const { lines, kept } = await project();
	expect(await lines(text)).toMatchObject({
		status: 400,
		body: { attr, detail: expect.stringContaining(detail) },
	});
	expect(await kept()).toEqual([]);
});

describe("an invalid event is named in the error, and its request stores nothing", () => {
	const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
	const NOT_STRING = "Not a valid string.";
	const NOT_OBJECT = "Expected a dictionary of items.";
	const NUL = "Null characters are not allowed.";
	const SURROGATE = "Lone surrogates are not allowed.";
	const NULL = "This field may not be null.";
	test.each<[event: unknown, attr: string, detail: string, code?: string]>([
		[{ distinct_id: "d" }, "1__event", "This field is required.", "required"],
		[{ event: "e" }, "1__distinct_id", "This field is required.", "required"],
		[seen({ event: " " }), "1__event", "This field may not be blank.", "blank"],
		[seen({ event: 7 }), "1__event", NOT_STRING],
		[seen({ event: null }), "1__event", NULL, "null"],
		[
			seen({ distinct_id: "x".repeat(401) }),
			"1__distinct_id",
			"Ensure this field has no more than 400 characters.",
			"max_length",
		],
		[seen({ uuid: "x" }), "1__uuid", "Must be a valid UUID."],
		[seen({ person_id: "x" }), "1__person_id", "Must be a valid UUID."],
		[seen({ timestamp: "yesterday" }), "1__timestamp", "Datetime has wrong format. Use ISO 8601."],
		[seen({ properties: [] }), "1__properties", NOT_OBJECT],
		[seen({ properties: null }), "1__properties", NULL, "null"],
		[seen({ person_properties: "{}" }), "1__person_properties", NOT_OBJECT],
		[seen({ elements_chain: {} }), "1__elements_chain", NOT_STRING],
		[seen({ event: "a\0b" }), "1__event", NUL],
		[seen({ properties: { a: [{ "b\0": 1 }] } }), "1__properties", NUL],
		[seen({ event: "\ud800" }), "1__event", SURROGATE],
		[seen({ person_properties: { a: "\udc00 " } }), "1__person_properties", SURROGATE],
		[
			seen({ properties: nested(101) }),
			"1__properties",
			"Ensure this value is nested at most 100 levels deep.",
		],
		["x", "1", NOT_OBJECT],
		[null, "1", NULL, "null"],
	])("%#", async (event, attr, detail, code = "invalid_input") => {
		const { post, kept } = await project();
		expect(await post([seen(), event])).toMatchObject(wrong(code, detail, attr));
		expect(await kept()).toEqual([]);
	});

	test("a body that is not a list", async () => {
		const { post, ask, path } = await project();
		const none = wrong("invalid_input", "Expected a list of events.", null);
		expect(await post(7)).toMatchObject(none);
		expect(await post("x")).toMatchObject(none);
		expect(await post({})).toMatchObject(wrong("required", "This field is required.", "0__event"));
		expect(await ask("POST", path)).toMatchObject(
			wrong("required", "This field is required.", "0__event"),
		);
	});

	test("nesting that would exhaust a stack", async () => {
		const { lines } = await project();
		const deep = `${'{"a":'.repeat(150_000)}1${"}".repeat(150_000)}`;
		expect(await lines(`{"event": "e", "distinct_id": "d", "properties": ${deep}}`)).toMatchObject(
			wrong("invalid_input", expect.any(String), "0__properties"),
		);
	});

	test("more than a mebibyte, and other media types", async () => {
		const { ask, path } = await project();
		const post = (raw: string, type: string) =>
			ask("POST", path, { raw, headers: { "content-type": type } });
		expect((await post("\n".repeat(2 ** 20 + 1), LINES["content-type"])).status).toBe(413);
		expect((await post("\n".repeat(2 ** 20), LINES["content-type"])).status).toBe(200);
		expect((await post("{}", "text/plain")).status).toBe(415);
	});
});

describe("an event is stored once", () => {
	const first = {
		uuid: v7(),
		...seen({ properties: { n: 1 }, person_properties: { n: 1 } }),
	};

	test("an event that is sent again with other values is stored once", async () => {
		const { post, kept, known } = await project();
		await post([first]);
		const [before, then] = [await kept(), await known()];
		const again = { ...first, event: "other", person_properties: { n: 2 } };
		const upper = { ...again, uuid: first.uuid.toUpperCase() };
		expect((await post([again, upper])).body).toEqual({ accepted: 2 });
		expect(await kept()).toEqual(before);
		expect(await known()).toEqual(then);
	});

	test("an event that a body has twice is stored once, as the first one", async () => {
		const { post, kept, known } = await project();
		const again = { ...first, event: "other", person_properties: { n: 2 } };
		expect((await post([first, again])).body).toEqual({ accepted: 2 });
		expect(await kept()).toMatchObject([{ event: "seen" }]);
		expect(await known()).toMatchObject([{ properties: { n: 1 }, person_version: 1 }]);
	});

	test("an event is stored once if requests race", async () => {
		const { ask, path, post, kept, known } = await project();
		const response = await ask("POST", path, {
			body: [first, seen()],
			env: racing(() => post([first])),
		});
		expect(response.body).toEqual({ accepted: 2 });
		expect(await kept()).toHaveLength(2);
		expect(await known()).toMatchObject([{ person_version: 1 }]);
		await Promise.all(Array.from({ length: 8 }, () => post([first])));
		expect(await kept()).toHaveLength(2);
		expect(await known()).toMatchObject([{ person_version: 1 }]);
	});

	test("an event is stored once in each project to which it is sent", async () => {
		const [one, other] = [await project(), await project()];
		await one.post([first]);
		await other.post([first]);
		expect(await one.kept()).toHaveLength(1);
		expect(await other.kept()).toHaveLength(1);
	});
});

test("the arrival time of events and persons is the time of the write, however long after the request", async () => {
	const { ask, path, kept, known } = await project();
	const post = async () => {
		let written = "";
		const { status } = await ask("POST", path, {
			body: [seen({ person_properties: { plan: "free" } })],
			env: racing(async () => {
				await scheduler.wait(20);
				written = new Date().toISOString();
			}),
		});
		expect(status).toBe(200);
		return written;
	};
	const first = await post();
	const [event] = await kept();
	const [person] = await known();
	for (const at of [
		event?._inserted_at,
		event?.created_at,
		event?.timestamp,
		person?._inserted_at,
		person?.created_at,
	])
		expect(at && at >= first).toBe(true);
	const second = await post();
	const [again] = await known();
	expect(again).toMatchObject({
		person_version: 2,
		created_at: person?.created_at,
	});
	expect(again && again._inserted_at >= second).toBe(true);
});

test("events and persons arrive after those before them, even if these arrived in the future", async () => {
	const { post, kept, known, project: team_id } = await project();
	const body = [seen({ person_properties: { a: 1 } }), seen({ event: "next" })];
	await post(body);
	const minute = Math.ceil(Date.now() / 60_000 + 10) * 60_000;
	const last = BigInt(firstId(team_id, minute)) + 2n ** 16n - 1n;
	await db
		.update(persons)
		.set({ id: `${last}` })
		.where(eq(persons.team_id, team_id));
	await db
		.update(events)
		.set({ id: `${last}` })
		.where(and(eq(events.team_id, team_id), eq(events.event, "next")));
	await post(body);
	const iso = (at: number) => new Date(at).toISOString();
	const arrivals = (await kept()).map(({ _inserted_at }) => _inserted_at).toSorted();
	expect(arrivals.slice(2)).toEqual([iso(minute + 60_000), iso(minute + 60_000)]);
	expect(await known()).toMatchObject([{ _inserted_at: iso(minute + 60_000) }]);
	const ids = await env.DB.prepare(
		"select cast(max(id) as text) as last from events where team_id = ?",
	)
		.bind(team_id)
		.first("last");
	expect(ids).toBe(`${last + 2n}`);
});

test("an event costs two written rows, and a third if it happened more than an hour ago", async () => {
	const { post } = await project();
	const body = (more: object) => Array.from({ length: 100 }, () => seen(more));
	expect(cost(await post(body({}))).written).toBe(200);
	expect(cost(await post(body({ timestamp: "2026-01-01T00:00:00Z" }))).written).toBe(300);
	const person = [seen({ person_properties: { a: 1 } })];
	expect(cost(await post(person)).written).toBe(4);
	expect(cost(await post(person)).written).toBe(4);
});

describe("person properties of events are merged", () => {
	const tell = (person_properties: object, more: object = {}) =>
		seen({ person_properties, ...more });

	test("key by key, the last one wins, and null is a value", async () => {
		const { post, known } = await project();
		await post([
			tell({ a: 1, b: { x: 1 }, d: true, e: "e" }),
			tell({ a: 2, c: [1, { y: null }] }),
			tell({ b: { z: 0.1 }, d: null }),
		]);
		const [before] = await known();
		expect(before).toMatchObject({
			distinct_id: "someone",
			properties: { a: 2, b: { z: 0.1 }, c: [1, { y: null }], d: null, e: "e" },
			person_version: 1,
			created_at: before?._inserted_at,
		});
		await post([
			tell({
				a: null,
				'odd "key".[0]': "ü\n",
				f: false,
				g: 0.30000000000000004,
			}),
		]);
		const [after] = await known();
		expect(after).toEqual({
			...before,
			properties: {
				...before?.properties,
				a: null,
				'odd "key".[0]': "ü\n",
				f: false,
				g: 0.30000000000000004,
			},
			person_version: 2,
			_inserted_at: expect.any(String),
		});
	});

	test("each person has their own properties", async () => {
		const { post, known } = await project();
		await post([
			tell({ n: 1 }, { distinct_id: "a" }),
			tell({ n: 2 }, { distinct_id: "b" }),
			tell({}, { distinct_id: "c" }),
			seen({ distinct_id: "d" }),
		]);
		expect(await known()).toMatchObject([
			{ distinct_id: "a", properties: { n: 1 } },
			{ distinct_id: "b", properties: { n: 2 } },
			{ distinct_id: "c", properties: {} },
		]);
	});

	test("a person's id is the last one sent, or else a stable derived one", async () => {
		const [one, other] = [await project(), await project()];
		const ids = async (of: typeof one) => (await of.known()).map(({ person_id }) => person_id);
		await one.post([tell({ a: 1 })]);
		const [derived] = await ids(one);
		expect(derived).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/);
		await one.post([tell({ a: 2 })]);
		expect(await ids(one)).toEqual([derived]);
		await other.post([tell({ a: 1 })]);
		expect(await ids(other)).not.toEqual([derived]);
		const [a, b] = [v7(), v7()];
		await one.post([seen({ person_id: a }), seen({ person_id: b }), tell({ a: 3 })]);
		await one.post([tell({ b: 1 })]);
		expect(await one.known()).toMatchObject([
			{ person_id: b, properties: { a: 3, b: 1 }, person_version: 4 },
		]);
	});

	test("an event without a person's id has that of its person when it arrived", async () => {
		const { post, kept, known } = await project();
		const ids = async () => (await kept()).map(({ person_id }) => person_id);
		const numbered = (n: number) => ({ uuid: `00000000-0000-7000-8000-00000000000${n}` });
		await post([seen(numbered(0)), seen({ ...numbered(1), distinct_id: "other" })]);
		const [derived, others] = await ids();
		expect(derived).not.toBe(others);
		await post([tell({ a: 1 }, numbered(2))]);
		expect(await known()).toMatchObject([{ person_id: derived }]);
		const sent = v7();
		await post([seen(numbered(3)), seen({ ...numbered(4), person_id: sent })]);
		await post([seen(numbered(5))]);
		expect(await known()).toMatchObject([{ person_id: sent }]);
		expect(await ids()).toEqual([derived, others, derived, sent, sent, sent]);
	});

	test("white space around a distinct id makes it another person", async () => {
		const { post, known } = await project();
		await post([tell({ a: 1 }, { distinct_id: "u1" }), tell({ a: 2 }, { distinct_id: "u1 " })]);
		expect(await known()).toMatchObject([
			{ distinct_id: "u1", properties: { a: 1 } },
			{ distinct_id: "u1 ", properties: { a: 2 } },
		]);
	});

	test("merging properties costs the same for any number of persons", async () => {
		const { post, project: team_id } = await project();
		const body = [tell({ a: 1 }), tell({ b: 1 }, { distinct_id: "other" })];
		await post(body);
		const alone = cost(await post(body)).read;
		await db.run(sql`insert into persons
			with recursive n (i) as (select 0 union all select i + 1 from n where i < 5000)
			select ${idAt(team_id, sql`1e12`)} + i, ${team_id}, 'n' || i, 'p', '{}', 1, 0, 0 from n`);
		expect(cost(await post(body)).read).toBeLessThanOrEqual(alone + 2);
	});

	test("a person that would become too large stays unchanged", async () => {
		const { post, known, kept } = await project();
		await post([tell({ a: "x".repeat(300_000) })]);
		await post([tell({ b: "x".repeat(300_000) })]);
		await post([tell({ c: 1 })]);
		const [person] = await known();
		expect(Object.keys(person?.properties)).toEqual(["a", "c"]);
		expect(await kept()).toHaveLength(3);
	});
});

describe("the schedule removes the data of a project that can't be restored any more", () => {
	/** A minute of the schedule, a number of days from now. */
	const tick = (days: number) =>
		worker.scheduled(
			createScheduledController({
				scheduledTime: Date.now() + days * 24 * 3_600_000,
				cron: "* * * * *",
			}),
			env,
		);

	test("its events and persons, and no other project's", async () => {
		const [gone, stays] = [await project(), await project()];
		for (const { post } of [gone, stays])
			await post([seen({ person_properties: { a: 1 } }), seen()]);
		await gone.ask("DELETE", `/api/projects/${gone.project}`);
		await tick(29);
		expect(await gone.kept()).toHaveLength(2);
		await tick(31);
		await tick(31);
		expect(await gone.kept()).toEqual([]);
		expect(await gone.known()).toEqual([]);
		expect(await stays.kept()).toHaveLength(2);
		expect(await stays.known()).toHaveLength(1);
	});

	test("a few thousand rows a minute; if there are none, it reads one row per project", async () => {
		const [gone, stays] = [await project(), await project()];
		await fill(gone.project, 6000);
		await fill(stays.project, 6000);
		await gone.ask("DELETE", `/api/projects/${gone.project}`);
		await tick(31);
		await tick(31);
		expect(await gone.kept()).toHaveLength(1000);
		await tick(31);
		expect(await gone.kept()).toEqual([]);
		const { spent, db: DB } = metered();
		await deleteOrphans({ ...env, DB });
		expect(spent.read).toBeLessThan(500);
		expect(await stays.kept()).toHaveLength(6000);
	});
});
