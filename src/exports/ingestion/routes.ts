import { body } from "../../access/valid.ts";
import { ok, router } from "../../http/router.ts";
import * as ingested from "./queries.ts";
import { Accepted, events } from "./shape.ts";

/** docs/exports.md#events */
export default router().post(
	"/",
	ok(Accepted),
	body(events, undefined, { lines: true, exact: true }),
	async (c) => c.json({ accepted: await ingested.insert(c.var.tenant, c.req.valid("json")) }),
);
