import { eventsOf, personsOf } from "../../support/events.ts";
import { world } from "../../support/world.ts";

export const LINES = { "content-type": "application/x-ndjson" };
export const seen = (more: object = {}) => ({
	event: "seen",
	distinct_id: "someone",
	...more,
});

/** A project, and functions that post events to it and read them. */
export async function project() {
	const home = await world();
	const path = `/api/projects/${home.project}/events/`;
	return {
		...home,
		path,
		post: (body: unknown) => home.ask("POST", path, { body }),
		lines: (raw: string) => home.ask("POST", path, { raw, headers: LINES }),
		kept: () => eventsOf(home.project),
		known: async () =>
			(await personsOf(home.project)).map((row) => ({
				...row,
				properties: JSON.parse(row.properties),
			})),
	};
}
