import { describe, type OpenApi } from "../../http/openapi.ts";
import type notifications from "./routes.ts";
import { Notifications, Subscription, update } from "./shape.ts";

export default {
	tag: {
		name: "Notifications",
		description:
			"Which events of an organization are sent by mail, and to whom: failed export runs, expiring keys, and so on. A mail lists the events since the last one. There is at most one mail an hour for each type.",
	},
	operations: {
		"GET /": {
			id: "getNotifications",
			summary: "Retrieve the notifications",
			description:
				"Returns all event types that can be mailed, with their recipients. Any member may do so.",
		},
		"PATCH /": {
			id: "updateNotifications",
			summary: "Change the notifications",
			description:
				"Requires level 8. Types that aren't in the body don't change. `recipients` `[]` turns off the mails of a type. Returns all types.",
			errors: {
				invalid_input: "A type is listed twice.",
				does_not_exist: "One of `recipients` isn't an active member of the organization.",
			},
		},
	},
} satisfies OpenApi<typeof notifications>;

const RECIPIENTS =
	"Who gets mail: `admins` (members of level 8 and 15), `owner` (the owner of the key, only for `key.expiring`; admins if it belongs to a service account), or a list of at most 100 UUIDs of members, empty for nobody.";

describe(Subscription, {
	type: [
		"The type of the events.",
		{
			"batch_export.paused":
				"an export was paused because its runs failed. Mailed to admins by default.",
			"batch_export_run.failed": "a run of an export failed. Mailed to admins by default.",
			"batch_export_run.skipped":
				"windows of an export were skipped after downtime. Mailed to admins by default.",
			"batch_export_run.completed": "a run of an export completed. Not mailed by default.",
			"plugin_job.failed": "a job or task of a plugin failed. Not mailed by default.",
			"key.expiring": "an API key expires within seven days. Mailed to its owner by default.",
			"domain.unverified":
				"the TXT record of a verified domain is missing. Mailed to admins by default.",
			"webhook.disabled":
				"a webhook was disabled, because its endpoint returned 410 or failed for five days. Mailed to admins by default.",
			"audit_stream.failed":
				"an audit stream can't deliver the activity log. Mailed to admins by default.",
		},
	],
	recipients: `${RECIPIENTS} Members who have left are omitted; if everyone on a list has left, it is \`admins\`.`,
});

describe(Notifications, {
	subscriptions: "All types that can be mailed, always in the same order.",
});

describe(update, {
	subscriptions: [
		"The types to change, each at most once.",
		{ type: "The type of the events.", recipients: RECIPIENTS },
	],
});
