import { sql } from "drizzle-orm";
import * as z from "zod";
import journal from "../../migrations/meta/_journal.json" with { type: "json" };
import about from "../../package.json" with { type: "json" };
import { connect } from "../db/bookmark.ts";
import type { Database } from "../db/client.ts";
import { isMissingTable } from "../db/errors.ts";
import { RETRY_AFTER } from "../http/errors.ts";
import { jsonFile, ok, router } from "../http/router.ts";

const ServiceInfo = z
	.object({
		name: z.string().describe("Always `Tenantry`."),
		version: z
			.string()
			.describe("The version of the software. That of the API is the header `Tenantry-Version`."),
		documentation: z
			.url()
			.describe("The URL of the OpenAPI document, on the host that the request came to."),
	})
	.meta({ id: "Service" });

export const Health = z
	.object({
		d1: z.boolean().describe("Whether the database answers."),
		kv: z.boolean().describe("Whether the store in which keys are cached answers."),
		migrations: z
			.boolean()
			.describe(
				"Whether the database has every migration that this version of the software needs. If not, the operator has to apply them.",
			),
	})
	.meta({ id: "Health" });

const OpenApiDocument = z.looseObject({
	openapi: z
		.string()
		.describe("The version of the OpenAPI Specification that the document follows."),
});

/** The server in the file of the document, instead of the one that it is downloaded from. */
export const SERVER = "https://tenantry.example.com";

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
export default router({
	name: "Service",
	description: "The service itself. These operations need no key.",
})
	.get(
		"/",
		ok(ServiceInfo, {
			id: "getService",
			summary: "Name the service",
			description: "Answers with the service's name, its version and where its documentation is.",
		}),
		(c) =>
			c.json({
				name: "Tenantry",
				version: about.version,
				documentation: new URL("/openapi.json", c.req.url).href,
			}),
	)
	.get(
		"/openapi.json",
		jsonFile(OpenApiDocument, {
			id: "getOpenApiDocument",
			summary: "Describe the API",
			description:
				"Answers with this document. With `If-None-Match` it is sent only if it has changed.",
		}),
		async (c) => {
			const file = await c.env.ASSETS.fetch(
				new Request(new URL("/openapi.json", c.req.url), c.req.raw),
			);
			const headers = new Headers(file.headers);
			headers.delete("content-length");
			const text = file.body && (await file.text()).replace(SERVER, new URL(c.req.url).origin);
			return c.newResponse(text, new Response(null, { status: file.status, headers }));
		},
	)
	.get(
		"/healthz",
		ok(Health, {
			id: "getHealth",
			summary: "Check the service",
			description:
				"For load balancers and monitors. A 200 if every field is true, and a 503 with the same fields if one isn't.",
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
