import { createClient } from "@clickhouse/client-web";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "../../../src/exports/engine/query/query.ts";
import { clickhouse } from "../../../src/exports/engine/sources/clickhouse.ts";
import { access, create, mirror, noClickHouse } from "../../support/clickhouse_tables.ts";
import { selection, team, testSource, walk } from "./sources/cases.ts";

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
