import { expect, test } from "vitest";
import type { Job } from "../../../src/exports/destinations/destination.ts";
import type { Column, Row } from "../../../src/exports/query/rows.ts";
import { job, rows, run, type Target } from "../../support/exporting.ts";

/** A database, and exports to its tables. */
type Database = {
	/** The name of a table that doesn't exist. */
	fresh: () => string;
	to: (table: string) => Target;
	/** The result of `select <columns>` from a table, in the order of its column `uuid`. */
	select: (columns: string, table: string) => Promise<Record<string, unknown>[]>;
	/** The columns of a table and their types. */
	columnsOf: (table: string) => Promise<string[]>;
	/** The types of the columns of `COLUMNS`. */
	types: string[];
	/** The type of text. */
	text: string;
};

/** Writes pages as one part of a run, and closes it. */
export async function write(destination: Target, what: Job, ...pages: Row[][]) {
	const sink = await destination.open(what, null, async () => {});
	try {
		for (const page of pages) await sink.write(page);
		return await sink.close();
	} finally {
		await sink.release?.();
	}
}

const numberOf = (value: unknown) => (value === null ? null : Number(value));

/** Tests what holds for every database. */
export function testTables({ fresh, to, select, columnsOf, types, text }: Database) {
	/** Compares a table with the first `n` rows. */
	async function expectRows(table: string, n: number) {
		const found = await select("uuid, event, amount, team_id", table);
		expect(
			found.map((row) => [row.uuid, row.event, numberOf(row.amount), Number(row.team_id)]),
		).toEqual(rows(n).map(([uuid, event, , amount, team_id]) => [uuid, event, amount, team_id]));
		const others = ["properties", "paid", "day", "timestamp"];
		const counts = others.map((name) => `sum(case when ${name} is null then 0 else 1 end)`);
		const there = (at: number) => rows(n).filter((row) => row[at] !== null).length;
		for (const [i, count] of counts.entries())
			expect(
				(await select(`min(uuid) as uuid, ${count} as n`, table)).map((row) => Number(row.n)),
			).toEqual([there([2, 5, 6, 7][i] ?? 0)]);
	}

	test("1000 rows are there once, whatever crashes", async () => {
		const table = fresh();
		await run(to(table), job(), 1000, { crashes: true });
		await expectRows(table, 1000);
	});

	test("a table gets columns that fit their kinds", async () => {
		const table = fresh();
		await run(to(table), job(), 1);
		expect(await columnsOf(table)).toEqual(types);
	});

	test("a row that comes again replaces what was there, in one page and in one run too", async () => {
		const table = fresh();
		const [first = [], second = []] = rows(2);
		const changed = (event: string): Row => first.with(1, event);
		const found = async () => (await select("uuid, event", table)).map(({ event }) => event);
		await write(to(table), job(), [first, second, changed("later")]);
		expect(await found()).toEqual(["later", second[1]]);
		await write(to(table), job(), [changed("even later")], [second, changed("latest")]);
		expect(await found()).toEqual(["latest", second[1]]);
	});

	test("integers of 64 bits keep all digits", async () => {
		const table = fresh();
		const columns: Column[] = [
			{ name: "uuid", kind: "text" },
			{ name: "team_id", kind: "integer" },
			{ name: "n", kind: "integer" },
		];
		const numbers = [-9223372036854775808n, 7, 9007199254740993n, 9223372036854775807n];
		await write(
			to(table),
			job({ columns }),
			numbers.map((n, i) => [String(i), 7, n]),
		);
		const found = await select(`uuid, cast(n as ${text}) as digits`, table);
		expect(found.map(({ digits }) => digits)).toEqual(numbers.map(String));
	});
}
