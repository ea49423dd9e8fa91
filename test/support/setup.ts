import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, expect } from "vitest";
import { wrongCounters } from "./counters.ts";
import "./background.ts";
import "./time.ts";

// The runtime unloads storage that wasn't used for ten seconds, and `reset` passes over what isn't loaded.
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

// Whatever a file's tests have done, each counter says what count(*) would.
afterAll(async () => {
	expect(await wrongCounters()).toEqual([]);
});
