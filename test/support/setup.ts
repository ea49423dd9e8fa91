import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, expect } from "vitest";
import { wrongCounters } from "./counters.ts";
import "./time.ts";

await reset();
await applyD1Migrations(env.DB, env.MIGRATIONS);

// Whatever a file's tests have done, each counter says what count(*) would.
afterAll(async () => {
	expect(await wrongCounters()).toEqual([]);
});
