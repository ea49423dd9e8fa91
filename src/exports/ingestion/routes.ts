import { body } from "../../access/input.ts";
import { ok, router } from "../../http/router.ts";
import * as ingested from "./queries.ts";
import { Accepted, events } from "./shape.ts";

/** docs/exports.md#events */
export default router({
	name: "Events",
	description:
		"What happened in a project, and to whom. The project's exports read events, and the persons that are derived from them.",
}).post(
	"/",
	ok(Accepted, {
		id: "ingestEvents",
		summary: "Ingest events",
		description: `Accepts a list of events, a single event, or one event per line (\`application/x-ndjson\` or \`application/jsonl\`), at most 1 MiB. Stores all of them or none. Anyone who can see the project may do so, with the scope \`project:write\`.

An event whose \`uuid\` the project already has is ignored and changes no person, so you can safely repeat a request. Writes no activity log entry.

A 400 is about the first invalid event. \`attr\` starts with its position, as in \`0__event\`.`,
	}),
	body(events, undefined, { lines: true, exact: true }),
	async (c) => c.json({ accepted: await ingested.insert(c.var.tenant, c.req.valid("json")) }),
);
