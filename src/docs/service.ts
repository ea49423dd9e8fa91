import { sql } from "drizzle-orm";
import * as z from "zod";
import journal from "../../migrations/meta/_journal.json" with { type: "json" };
import about from "../../package.json" with { type: "json" };
import type { Database } from "../db/client.ts";
import { isMissingTable } from "../db/errors.ts";
import { connect } from "../db/session.ts";
import { RETRY_AFTER } from "../http/errors.ts";
import { jsonFile, ok, router } from "../http/router.ts";

export const ServiceInfo = z
	.object({ name: z.string(), version: z.string(), documentation: z.url() })
	.meta({ id: "Service" });

export const Health = z
	.object({ d1: z.boolean(), kv: z.boolean(), migrations: z.boolean() })
	.meta({ id: "Health" });

export const OpenApiDocument = z.looseObject({ openapi: z.string() });

/** The newest migration that this code needs. The database may have newer ones. */
const LATEST_MIGRATION = `${journal.entries.at(-1)?.tag}.sql`;

/** Checks that D1 responds and that all migrations are applied. */
async function checkDatabase(db: Database) {
	const applied = sql`select 1 from d1_migrations where name = ${LATEST_MIGRATION}`;
	try {
		const [[row]] = await db.batch([
			db.select({ applied: sql<number>`exists (${applied})`.as("applied") }).from(sql`(select 1)`),
		]);
		return { d1: true, migrations: row?.applied === 1 };
	} catch (error) {
		return { d1: isMissingTable(error), migrations: false };
	}
}

/** Routes without a key: name and version, the OpenAPI document, the health check. */
export default router()
	.get("/", ok(ServiceInfo), (c) =>
		c.json({
			name: "Tenantry",
			version: about.version,
			documentation: new URL("/openapi.json", c.req.url).href,
		}),
	)
	.get("/openapi.json", jsonFile(OpenApiDocument), async (c) => {
		const file = await c.env.ASSETS.fetch(
			new Request(new URL("/openapi.json", c.req.url), c.req.raw),
		);
		return c.newResponse(file.body, file);
	})
	.get(
		"/healthz",
		ok(Health, {
			also: { 503: Health },
		}),
		async (c) => {
			c.var.meter.kv_reads += 1;
			const [database, [kv]] = await Promise.all([
				checkDatabase(connect(c, "first-unconstrained").db),
				Promise.allSettled([c.env.KEYS.get("healthz")]),
			]);
			const health = { ...database, kv: kv.status === "fulfilled" };
			return Object.values(health).every(Boolean)
				? c.json(health)
				: c.json(health, 503, { "Retry-After": RETRY_AFTER });
		},
	);
