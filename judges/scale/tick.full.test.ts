import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { countStatements } from "../../src/db/client.ts";
import { stopPerformanceClock } from "../../test/support/time.ts";
import { bindings, deleteAll, left, overload, tick } from "../../test/worker.ts";
import { LIMITS, TICK } from "./assumptions.ts";

/** More of everything than one tick takes. */
const SIZES = { most: 60, streams: 150, exports: 9100, open: 3100, webhooks: 1100, links: 10_100 };

afterEach(deleteAll);

test("a tick keeps below D1's limit of statements, and the next ones work off what it leaves", async () => {
	stopPerformanceClock();
	await overload(SIZES);
	const { batches, deliverStreams, mails, env: bound } = bindings();
	const streamed: number[] = [];
	const started: string[] = [];
	const spent: number[] = [];
	// The ticks are at almost the same time, however long they take, so that no run counts as lost.
	const at = Date.now();
	let before = await left();
	for (let i = 0; i < 5; i += 1) {
		const { DB, statements } = countStatements(env.DB);
		await tick(at + i * 1000, { ...bound, DB });
		spent.push(statements());
		streamed.push(await deliverStreams());
		const created = batches.splice(0);
		const ids = created.flat();
		expect(created).toHaveLength(Math.ceil(ids.length / 100));
		started.push(...ids);
		const after = await left();
		for (const [part, n] of Object.entries(after)) {
			expect(n, part).toBeLessThan(Math.max(before[part] ?? 0, 1));
			if (i === 0) expect(n, part).toBeGreaterThan(0);
		}
		if (i === 0)
			expect(SIZES.streams - Number(after["audit streams"])).toBeGreaterThanOrEqual(
				LIMITS.streams_a_tick,
			);
		before = after;
	}
	// No exact numbers: whether a digest is mailed in this tick or the next one depends on how long
	// it takes.
	expect(Math.max(...spent)).toBeLessThan(TICK.reduce((sum, part) => sum + part.statements, 0));
	// Those that are under way after 800 statements need up to 156 more.
	expect(streamed[0]).toBeGreaterThan(800);
	expect(Math.max(...streamed)).toBeLessThan(950);
	expect(Object.entries(before).filter(([, n]) => n > 0)).toEqual([]);
	expect([started.length, new Set(started).size]).toEqual([
		SIZES.open + SIZES.most,
		SIZES.open + SIZES.most,
	]);
	expect(mails.take().filter(({ subject }) => subject.startsWith("1 run"))).toHaveLength(
		SIZES.most,
	);
});
