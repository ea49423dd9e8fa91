import { env } from "cloudflare:workers";
import { createClient } from "@clickhouse/client-web";
import { beforeAll, describe, expect, test } from "vitest";
import { clickhouse } from "../../../src/exports/engine/sources/clickhouse.ts";
import { d1 } from "../../../src/exports/engine/sources/d1.ts";
import { parse } from "../../../src/exports/query/query.ts";
import { access, create, mirror, noClickHouse } from "../../support/clickhouse_tables.ts";
import { event, insert, selection, team, testSource, walk } from "./sources/cases.ts";

/** A list of `n` expressions. */
const list = (n: number, one: (i: number) => string, separator = ", ") =>
	Array.from({ length: n }, (_, i) => one(i)).join(separator);

test.each([
	["50 functions deep", `SELECT ${"lower(".repeat(50)}event${")".repeat(50)} AS x FROM events`],
	["50 sums deep", `SELECT ${"1 + (".repeat(50)}team_id${")".repeat(50)} AS x FROM events`],
	["90 fields", `SELECT ${list(90, (i) => `1 AS c${i}`)} FROM events`],
	[
		"400 parts in wide fields",
		`SELECT ${list(4, (i) => `concat(${list(99, () => "person_properties.a")}) AS c${i}`)} FROM events`,
	],
	[
		"a condition that is 50 deep",
		`SELECT event FROM events WHERE ${"not (".repeat(49)}event != 'seen'${")".repeat(49)}`,
	],
	[
		"130 conditions",
		`SELECT event FROM events WHERE ${list(130, (i) => `event != '${i}'`, " AND ")}`,
	],
	[
		"a list of 390 texts",
		`SELECT event FROM events WHERE event IN ('seen', ${list(389, (i) => `'${i}'`)})`,
	],
])("D1 answers the largest accepted queries: %s", async (_, text) => {
	const team_id = team();
	await insert([event({ team_id })]);
	const selected = selection({ team_id, by: "event", ...parse(text) });
	expect((await walk(d1(env.DB), selected)).rows).toHaveLength(1);
});

describe.skipIf(noClickHouse)(`ClickHouse${noClickHouse}`, () => {
	beforeAll(create);

	testSource(clickhouse(access), mirror);

	test("reports errors without the password", async () => {
		const wrong = clickhouse({ ...access, password: "wrong-password" });
		await expect(wrong.count(selection({}))).rejects.toThrow(
			/^ClickHouse: .*Authentication failed/,
		);
		const password = "Authentication";
		await expect(clickhouse({ ...access, password }).count(selection({}))).rejects.not.toThrow(
			/Authentication/,
		);
		const lost = clickhouse({ ...access, database: "nowhere" });
		await expect(lost.count(selection({}))).rejects.toThrow(/nowhere/);
	});

	test("keeps the microseconds of a position, but compares milliseconds", async () => {
		const team_id = team();
		const client = createClient({
			...access,
			keep_alive: { enabled: false },
		});
		await client.command({
			query: `insert into events select {team_id:Int64}, generateUUIDv4(), 'e', 'd', null, '{}', '', '',
					toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(intDiv(number, 2)) as at,
					at, at from numbers(2500)`,
			query_params: { team_id },
		});
		const { rows } = await walk(clickhouse(access), selection({ team_id, by: "event" }));
		expect(new Set(rows.map(([uuid]) => uuid)).size).toBe(2500);
		const where = async (condition: string) => {
			const query = parse(`SELECT timestamp FROM events WHERE ${condition}`);
			const selected = selection({ team_id, by: "event", ...query });
			return (await walk(clickhouse(access), selected)).rows.length;
		};
		const first = "timestamp <= '2026-01-01T00:00:00Z'";
		expect(await where(first)).toBe(2000);
		expect(await where(`${first} or 1 = 2`)).toBe(2000);
	});
});
