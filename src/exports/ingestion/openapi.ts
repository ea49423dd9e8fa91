import { describe, type OpenApi } from "../../http/openapi.ts";
import type events from "./routes.ts";
import { Accepted, event } from "./shape.ts";

export default {
	tag: {
		name: "Events",
		description:
			"What happened in a project, and to whom. The project's exports read events, and the persons that are derived from them.",
	},
	operations: {
		"POST /": {
			id: "ingestEvents",
			summary: "Ingest events",
			description: `Accepts a list of events, a single event, or one event per line (\`application/x-ndjson\` or \`application/jsonl\`), at most 1 MiB. Stores all of them or none. Anyone who can see the project may do so, with the scope \`project:write\`.

An event whose \`uuid\` the project already has is ignored and changes no person, so you can safely repeat a request. Writes no activity log entry.

A 400 is about the first invalid event. \`attr\` starts with its position, as in \`0__event\`.`,
		},
	},
} satisfies OpenApi<typeof events>;

describe(event, {
	uuid: "Identifies the event in the project. By default a new one, so that sending the event again stores it twice.",
	event: "The name of what happened, at most 400 characters.",
	distinct_id:
		"Identifies who did it in your own system, at most 400 characters. The project has at most one person for each.",
	person_id:
		"The person's id. If missing, it is derived from the project and `distinct_id`, and replaced if you send one later.",
	properties:
		"More about the event: any JSON object, at most 100 levels deep. Numbers keep all digits; a number outside the range of a double returns 400. `{}` by default.",
	person_properties:
		"What the event says about the person, in the form of `properties`. It is merged into the stored properties, key by key; null is a value like any other. Ignored if the person's properties would become larger than 512 KiB.",
	elements_chain: "The page elements that the event is about, as text. Empty by default.",
	timestamp:
		"When it happened, in ISO 8601; UTC if it has no offset. By default, the time when the event is stored. Scheduled exports select events by when they were stored, backfills by this time.",
});

describe(Accepted, { accepted: "How many events the request had, including known ones." });
