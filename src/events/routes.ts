import { body } from "../tenant/valid.ts";
import { answers, router } from "../http/router.ts";
import * as ingested from "./queries.ts";
import { Accepted, events } from "./shape.ts";

/** Behaviour 11.3. */
export default router().post(
	"/",
	answers(Accepted, "Take in events"),
	body(events, undefined, { lines: true, exact: true }),
	async (c) =>
		c.json({
			accepted: await ingested.insert(c.var.tenant, c.req.valid("json")),
		}),
);
