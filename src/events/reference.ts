import type { Reference } from "../http/reference.ts";
import type events from "./routes.ts";

const reference: Reference<typeof events> = {
	tag: {
		name: "Events",
		description: "What a project's exports and plugins work with.",
	},
	operations: {
		"/": {
			post: {
				id: "ingestEvents",
				summary: "Ingest events",
				description:
					"Takes a list of events, a single one, or JSON lines, at most 1 MiB. All are taken or none. An event whose `uuid` is known isn't taken again, so a request can safely be repeated.",
			},
		},
	},
};
export default reference;
