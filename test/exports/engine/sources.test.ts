import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { d1 } from "../../../src/exports/engine/sources/d1.ts";
import { sourceOf } from "../../../src/exports/engine/sources/index.ts";
import type { Position, Selection, Source } from "../../../src/exports/engine/sources/source.ts";
import { fill, metered } from "../../support/events.ts";
import { event, insert, selection, team, testSource, walk } from "./sources/cases.ts";

describe("D1", () => testSource(d1(env.DB), async () => {}));

describe("the rows that D1 reads", () => {
	const reads = async (ask: (source: Source) => Promise<unknown>) => {
		const { spent, db } = metered();
		await ask(d1(db));
		return spent.read;
	};

	test("a page reads a few rows for each that it returns, wherever it is and however large the table is", async () => {
		const team_id = team();
		await fill(team_id, 20_000);
		const selected = selection({ team_id });
		let after: Position | null = null;
		for (let i = 0; i < 20; i++) {
			const spent: number = await reads(async (source) => {
				after = (await source.page(selected, after)).next;
			});
			expect(spent).toBeLessThan(3.5 * 1000);
		}
		expect(after).toBeNull();
	});

	test("D1 reads each row once if large rows make pages short, or all rows have the same time", async () => {
		const team_id = team();
		const at = "2026-01-01T00:00:00.000Z";
		await fill(team_id, 1000, { padding: 50_000, start: at, end: at });
		const page = (source: Source) => source.page(selection({ team_id }), null);
		expect(await reads(page)).toBeLessThan(100);
	});

	test("if a filter matches few rows, a page ends early, and the next one continues", async () => {
		const team_id = team();
		await fill(team_id, 12_000);
		await insert([
			event({
				team_id,
				event: "rare",
				_inserted_at: "2026-01-01T23:59:59.999Z",
			}),
		]);
		const selected = selection({ team_id, include_events: ["rare"] });
		const { pages } = await walk(d1(env.DB), selected);
		expect(pages.map(({ length }) => length)).toEqual([0, 0, 1]);
		const spent = await reads((source) => source.page(selected, null));
		expect(spent).toBeLessThan(7 * 5000);
	});

	test("a window by event time reads the events that arrived up to an hour before and after it, and few others", async () => {
		const team_id = team();
		const N = 100;
		await fill(team_id, 48 * N, { end: "2026-01-03T00:00:00Z" });
		const late = { arrived: "2026-02-01T00:00:00.000Z" };
		await fill(team_id, 1000, { ...late, start: "2026-01-01T14:00:00Z" });
		await fill(team_id, 10, {
			...late,
			start: "2026-01-01T12:00:00Z",
			end: "2026-01-01T13:00:00Z",
		});
		const window = { start: "2026-01-01T12:00:00Z", end: "2026-01-01T13:00:00Z" };
		const selected = selection({ team_id, by: "event", ...window });
		expect((await d1(env.DB).page(selected, null)).rows).toHaveLength(N + 10);
		const spent = await reads((source) => source.page(selected, null));
		expect(spent).toBeLessThan(17 * N);
		expect(await reads((source) => source.count(selected))).toBeLessThan(4 * N);
	});

	test("D1 reads each row once if all events that arrived late have the same time", async () => {
		const team_id = team();
		const start = "2026-01-01T05:00:00.000Z";
		await fill(team_id, 20_000, { start, end: start, arrived: "2026-03-01T00:00:00.000Z" });
		const selected = selection({ team_id, by: "event" });
		let after: Position | null = null;
		for (let i = 0; i < 20; i++) {
			const spent: number = await reads(async (source) => {
				after = (await source.page(selected, after)).next;
			});
			expect(spent).toBeLessThan(3.5 * 1000);
		}
		expect(after).toBeNull();
	});

	test("a count reads each row about once", async () => {
		const team_id = team();
		await fill(team_id, 5000);
		const count = (more: Partial<Selection>) => (source: Source) =>
			source.count(selection({ team_id, ...more }));
		expect(await reads(count({}))).toBeLessThan(1.2 * 5000);
		expect(await reads(count({ include_events: ["event 1"] }))).toBeLessThan(3 * 5000);
		expect(await reads(count({ start: "2026-01-01T23:00:00Z" }))).toBeLessThan(300);
	});
});

describe("EVENT_SOURCE", () => {
	test("selects the source", async () => {
		const team_id = team();
		await fill(team_id, 1);
		expect(await sourceOf(env).count(selection({ team_id }))).toBe(1);
		expect(() => sourceOf({ ...env, EVENT_SOURCE: "kafka" })).toThrow(
			'EVENT_SOURCE must be "d1" or "clickhouse", not "kafka".',
		);
		expect(() => sourceOf({ ...env, EVENT_SOURCE: "clickhouse", CLICKHOUSE_URL: "" })).toThrow(
			"CLICKHOUSE_URL is not a valid URL.",
		);
	});
});
