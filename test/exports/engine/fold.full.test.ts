import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { insertEach } from "../../../src/db/client.ts";
import { batchExportRuns, batchExports } from "../../../src/db/schema/batch_exports.ts";
import { db, weighing } from "../../support/world.ts";
import { DAY, daily, delivered, iso, still, stopDays } from "./daily.ts";

stopDays();

test("thousands of failed runs with long errors are folded, with the beginning of each", async () => {
	const of = await daily();
	await of.pass(100);
	const [run] = await of.runs();
	if (!run) throw new Error("The run is gone.");
	const { batch_export_id } = run;
	const n = 2900;
	const start = Date.parse(of.at(-30));
	// Every other one, because gaps beside each other become one.
	const old = Array.from({ length: n }, (_, i) => ({
		batch_export_id,
		id: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
		status: i % 2 ? ("Failed" as const) : ("Completed" as const),
		latest_error: i % 2 ? `${i}: ${"é€🦔".repeat(600)}` : null,
		data_interval_start: iso(start + i * 300_000),
		data_interval_end: iso(start + (i + 1) * 300_000),
		finished_at: iso(start + DAY),
	}));
	for (let i = 0; i < n; i += 290)
		await insertEach(db, batchExportRuns, { rows: old.slice(i, i + 290) });
	await db
		.update(batchExports)
		.set({ runs: 100 + n })
		.where(eq(batchExports.id, batch_export_id));
	const { env: light, heaviest } = weighing();
	await of.fold(light.DB);
	// The limit of D1.
	expect(heaviest()).toBeLessThan(2_000_000);
	expect(await of.count()).toBe(70);
	const { count, results } = await of.ranges("?limit=1&offset=1");
	expect(count).toBe(n + 1);
	expect(results).toMatchObject([{ latest_error: expect.stringMatching(/^2899: é€🦔.*…$/u) }]);
});

test("a kill, a retry and another tick while runs are folded lose nothing", async () => {
	const of = await daily();
	await of.pass(100);
	const meanwhile = (work: (statements: D1PreparedStatement[]) => Promise<unknown>) =>
		Object.assign(Object.create(env.DB), { batch: work });
	const killed = new Error("Killed.");
	await expect(of.fold(meanwhile(() => Promise.reject(killed)))).rejects.toThrow("Killed");
	expect([await of.count(), (await of.ranges()).count]).toEqual([100, 0]);
	const [oldest] = await of.runs();
	const retried = meanwhile(async (statements) => {
		const retry = `${of.path}/runs/${oldest?.id}/retry`;
		expect(await of.here("POST", retry, { env: still })).toMatchObject({ status: 200 });
		return env.DB.batch(statements);
	});
	await expect(of.fold(retried)).rejects.toThrow("is_current");
	expect([await of.count(), (await of.ranges()).count]).toEqual([100, 0]);
	const other = meanwhile(async (statements) => {
		await of.fold();
		return env.DB.batch(statements);
	});
	await expect(of.fold(other)).rejects.toThrow("is_current");
	const results = [delivered(of, 1, 30)];
	expect((await of.ranges()).results).toEqual(results);
	expect(await of.count()).toBe(71);
	const late = meanwhile(async (statements) => {
		await env.DB.batch(statements);
		throw killed;
	});
	await of.pass(10);
	await expect(of.fold(late)).rejects.toThrow("Killed");
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 1, 40)]);
	expect(await of.count()).toBe(71);
	await of.pass(70);
	await of.fold();
	expect((await of.ranges()).results).toEqual([delivered(of, 0, 110)]);
});
