import { ACTIVITIES } from "../../db/event_types.ts";
import { describe, type OpenApi } from "../../http/openapi.ts";
import type activityLog from "./routes.ts";
import { ActivityEntry, filters } from "./shape.ts";

/** The scopes of entries that have a caller. */
const LOGGED_SCOPES = Object.keys(ACTIVITIES)
	.filter((scope) => !["Key", "PluginJob", "BatchExportRun"].includes(scope))
	.map((scope) => `\`${scope}\``)
	.join(", ");

type ActivityLog = OpenApi<typeof activityLog>;

const TAG = {
	name: "Activity log",
	description:
		"Every change writes an entry in the same transaction, with who made it and what it changed. Entries are kept for 365 days by default; secrets are masked.",
};

export const ofOrganization: ActivityLog = {
	tag: TAG,
	operations: {
		"GET /": {
			id: "listActivity",
			summary: "List the activity of an organization",
			description:
				"Lists the entries of the organization and of its projects, newest first. A page reads at most 5,000 entries: follow `next` until it is null, even if a page is empty. With filters other than `item_id` in a longer log, `count` is an upper limit. Any member may do so. Entries of a private project are visible to those who can see it, entries of deleted projects to admins (level 8). Changes to a person's own account, such as keys, are in the log of their current organization.\n\nWith `Accept: text/csv` or `application/x-ndjson` the response is a file with all entries that match the filters. `limit` and `offset` are ignored.",
		},
	},
};

export const ofProject: ActivityLog = {
	tag: TAG,
	operations: {
		"GET /": {
			id: "listProjectActivity",
			summary: "List the activity of a project",
			description:
				"Lists the entries of the project, its exports and its plugin configs, newest first. A page reads at most 5,000 entries: follow `next` until it is null, even if a page is empty. With filters other than `item_id` in a longer log, `count` is an upper limit. Anyone who can see the project may do so.\n\nWith `Accept: text/csv` or `application/x-ndjson` the response is a file with all entries that match the filters. `limit` and `offset` are ignored.",
		},
	},
};

describe(ActivityEntry, {
	id: "Identifies the entry.",
	user: [
		"The user or service account that did it; null for the operator of the service.",
		{
			uuid: "Identifies the user, or the service account.",
			first_name: "The user's first name, or the service account's name, as it is now.",
			last_name: "The user's last name, as it is now.",
			email:
				"The user's email address, as it is now. For a service account, an address under `.invalid` that can't receive mail.",
		},
	],
	activity:
		"What was done: `created`, `updated` or `deleted`, or the action, such as `job_triggered`, `upgraded`, `paused` or `verified`.",
	scope: `The kind of the object: ${LOGGED_SCOPES}.`,
	item_id:
		"The object's id, always as a string. For a `PluginConfigOrder`, the project's id; for a `BatchExportDestination` (an unsaved destination that was tested), its type.",
	detail: [
		"What was changed, and why.",
		{
			name: "The object's name when it was changed, such as the email address of a member; null if it has none.",
			changes: [
				"The fields whose values changed. Empty if the entry is not about fields.",
				{
					field:
						"The field's name. For the source of a plugin, the file's name; for a `PluginConfigOrder`, the id of a config.",
					action: [
						"How the field changed.",
						{
							created: "it had no value before.",
							changed: "it has a different value.",
							deleted: "it no longer has a value.",
						},
					],
					before: "The value before; null for none. `********` for a secret.",
					after: "The value after; null for none. `********` for a secret.",
				},
			],
			trigger:
				'More information, depending on the activity: `{"job": "operator"}` for the operator, the `job` that was started, the `run_id` or `backfill_id` that it is about. Null if there is none.',
		},
	],
	created_at: "When it happened.",
});

describe(filters, {
	scope: "Only entries about this kind of object, such as `Member` or `BatchExport`. Case matters.",
	item_id:
		"Only entries about the object with this id. Use it with `scope`: a project and a plugin may have the same id.",
	user: "Only entries of the user with this uuid. There are none for an unknown user.",
	email:
		"Only entries of the user with this email address, also after the user has left. Ignores case.",
	activity: "Only this activity, such as `created` or `job_triggered`. Case matters.",
	after: "Only entries that are newer than this time, in ISO 8601; UTC if it has no offset.",
	before: "Only entries that are older than this time, in ISO 8601; UTC if it has no offset.",
});
