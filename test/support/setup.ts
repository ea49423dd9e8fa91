import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import "./time.ts";

await reset();
await applyD1Migrations(env.DB, env.MIGRATIONS);
