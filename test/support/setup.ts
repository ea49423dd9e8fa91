import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, expect, vi } from "vitest";
import { wrongCounters } from "./counters.ts";
import "./background.ts";
import "./modules.ts";
import { takeSpent } from "./time.ts";

// The runtime unloads storage that hasn't been used for ten seconds, and `reset` skips unloaded
// storage.
await Promise.all([
	env.DB.exec("select 1"),
	env.KEYS.list({ limit: 1 }),
	env.EXPORTS.list({ limit: 1 }),
	...[env.REQUESTS, env.AUTH_FAILURES, env.SIGN_INS].map((limiter) =>
		limiter.limit({ key: "nobody" }),
	),
]);
await reset();
await applyD1Migrations(env.DB, env.MIGRATIONS);

afterEach(({ task }) => {
	Object.assign(task.meta, takeSpent());
	vi.useRealTimers();
});

// After the tests of a file, each counter must have the value of count(*).
afterAll(async () => {
	expect(await wrongCounters()).toEqual([]);
});
