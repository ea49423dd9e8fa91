import { sql } from "drizzle-orm";
import * as z from "zod";
import about from "../package.json" with { type: "json" };
import { connect } from "./db/client.ts";
import { answers, router } from "./http/router.ts";

const Service = z
	.object({ name: z.string(), version: z.string(), documentation: z.url() })
	.meta({ id: "Service" });

const Health = z
	.object({ d1: z.boolean(), kv: z.boolean() })
	.meta({ id: "Health" });

/** What needs no key: the service's own card, and whether what it stands on answers. */
export default router()
	.get("/", answers(Service, "Name the service"), (c) =>
		c.json({
			name: "Tenantry",
			version: about.version,
			documentation: new URL("/openapi.json", c.req.url).href,
		}),
	)
	.get(
		"/openapi.json",
		answers(z.looseObject({ openapi: z.string() }), "Describe the API"),
		async (c) => {
			const file = await c.env.ASSETS.fetch(
				new URL("/openapi.json", c.req.url),
			);
			return c.json(await file.json());
		},
	)
	.get(
		"/healthz",
		answers(Health, "Say whether D1 and KV answer", { also: { 503: Health } }),
		async (c) => {
			c.var.meter.kv_reads += 1;
			const { db } = connect(c, "first-unconstrained");
			const asked = [
				db.batch([db.select({ one: sql`1` }).from(sql`(select 1)`)]),
				c.env.KEYS.get("healthz"),
			];
			const [d1, kv] = (await Promise.allSettled(asked)).map(
				({ status }) => status === "fulfilled",
			);
			return c.json({ d1: d1 === true, kv: kv === true }, d1 && kv ? 200 : 503);
		},
	);
