import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { bindings, deleteAll, left, overload, tick } from "./worker.ts";

afterEach(deleteAll);

test("a part of a tick that fails stops no other, nor a step that fails those after it", async () => {
	const log = vi.spyOn(console, "error").mockReturnValue();
	await overload({ most: 3, streams: 4, exports: 1, open: 1, webhooks: 1, links: 1 });
	const failing =
		/insert into "plugin_jobs"|from "batch_export_backfills"|"sign_ins"|"recheck_at"|insert into "notifications"/;
	const DB: D1Database = Object.assign(Object.create(env.DB), {
		prepare: (query: string) => {
			if (failing.test(query)) throw new Error("No.");
			return env.DB.prepare(query);
		},
		batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
	});
	const before = await left();
	const { batches, deliverStreams, env: bound } = bindings();
	await tick(Date.now(), { ...bound, DB });
	await deliverStreams();
	const after = await left();
	const unchanged = Object.keys(after).filter((part) => after[part] === before[part]);
	expect(unchanged).toEqual(["stalled backfills", "domains", "digests", "links"]);
	expect(batches.flat().length).toBeGreaterThan(0);
	const parts = log.mock.calls.map(([line]) => JSON.parse(line).part);
	expect([...new Set(parts)].sort()).toEqual([
		"digests",
		"look-ups of domains",
		"old sign-in links",
		"plugin tasks",
		"stalled backfills",
	]);
});
