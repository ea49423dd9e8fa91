import { query } from "../../access/input.ts";
import { type Download, download } from "../../http/download.ts";
import { feedPage, page } from "../../http/page.ts";
import { feedOf, router } from "../../http/router.ts";
import { originCells } from "../activity_log/actor.ts";
import { type EventRow, toEvent } from "./event.ts";
import * as feed from "./queries.ts";
import { FeedEvent, filters } from "./shape.ts";

/** The columns of events in a CSV file (docs/events.md#downloads). */
export const columns: Download<EventRow>["columns"] = {
	id: (row) => row.id,
	type: (row) => toEvent(row).type,
	created_at: (row) => row.created_at,
	api_version: (row) => toEvent(row).api_version,
	actor_type: (row) => toEvent(row).actor.type,
	actor_uuid: (row) => toEvent(row).actor.uuid,
	actor_first_name: (row) => toEvent(row).actor.first_name,
	actor_email: (row) => toEvent(row).actor.email,
	scope: (row) => row.scope,
	item_id: (row) => row.item_id,
	organization_id: (row) => row.organization_id,
	project_id: (row) => row.project_id,
	name: (row) => row.name,
	changes: (row) => JSON.stringify(row.changes),
	trigger: (row) => (row.trigger ? JSON.stringify(row.trigger) : null),
	...originCells,
};

/** docs/events.md#follow-the-feed. Mounted under an organization. */
export default router({
	name: "Feed",
	description:
		"Everything that happens in an organization, in order: changes by people and the operator, and events without a caller, such as the end of an export run. Changes are kept for 365 days by default, events without a caller for 60.",
}).get(
	"/",
	feedOf(FeedEvent, {
		id: "listFeedEvents",
		summary: "Follow the events of an organization",
		description: `Lists events, oldest first. Any member may do so. Events of a private project are visible to those who can see it, events of deleted projects to admins (level 8).

Request \`next\` until it is null. Then wait, and send a request with \`after\` of the last response. You get each event once and miss none, even while others write. A page can have fewer events than \`limit\`, or none, although there is a \`next\`.

With \`Accept: text/csv\` or \`application/x-ndjson\` the response is a file with all events after \`after\`. \`limit\` is ignored.`,
		errors: {
			does_not_exist:
				"`after` isn't an event of this organization, or is too old to be kept. To start with the oldest event, omit it.",
		},
	}),
	query(filters),
	async (c) => {
		const asked = page(c);
		const pages = () => feed.readAll(c.var.tenant, c.req.valid("query"));
		const file = await download(c, () => ({
			name: "events",
			columns,
			toJson: toEvent,
			pages: pages(),
		}));
		if (file) return file;
		const { limit } = asked;
		const part = await feed.read(c.var.tenant, { ...c.req.valid("query"), limit });
		return c.json(feedPage(asked, part.events.map(toEvent), part));
	},
);
