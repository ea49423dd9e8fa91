import { describe, type OpenApi } from "../../http/openapi.ts";
import type feed from "./routes.ts";
import { FeedEvent, filters } from "./shape.ts";

export default {
	tag: {
		name: "Feed",
		description:
			"Everything that happens in an organization, in order: changes by people and the operator, and events without a caller, such as the end of an export run. Changes are kept for 365 days by default, events without a caller for 60.",
	},
	operations: {
		"GET /": {
			id: "listFeedEvents",
			summary: "Follow the events of an organization",
			description: `Lists events, oldest first. Any member may do so. Events of a private project are visible to those who can see it, events of deleted projects to admins (level 8).

Request \`next\` until it is null. Then wait, and send a request with \`after\` of the last response. You get each event once and miss none, even while others write. A page can have fewer events than \`limit\`, or none, although there is a \`next\`.

With \`Accept: text/csv\` or \`application/x-ndjson\` the response is a file with all events after \`after\`. \`limit\` is ignored.`,
			errors: {
				does_not_exist:
					"`after` isn't an event of this organization, or is too old to be kept. To start with the oldest event, omit it.",
			},
		},
	},
} satisfies OpenApi<typeof feed>;

describe(FeedEvent, {
	id: "Identifies the event. Entries of the activity log have the same ids.",
	type: "What happened: the kind of the object and what was done, such as `member.updated`. New types are added without a new version of the API.",
	created_at: "When it happened.",
	api_version: "The version of the API that the event follows.",
	actor: [
		"Who or what caused the event.",
		{
			type: [
				"The kind of the actor.",
				{
					user: "a person, with one of their keys.",
					service_account: "a service account, with one of its keys.",
					system: "the service itself, for example on a schedule.",
					operator: "the operator of the service.",
				},
			],
			uuid: "The uuid of the user or service account; null for others.",
			first_name:
				"The user's first name or the service account's name, as it is now; null for others.",
			email: "The user's email address, as it is now; null for others.",
		},
	],
	data: [
		"The object and its changes.",
		{
			scope: "The kind of the object, such as `Member`.",
			item_id: "The object's id, always as a string.",
			organization_id: "The organization's id.",
			project_id: "The project's id; null if it isn't about a project.",
			name: "The object's name when it happened; null if it has none.",
			changes: [
				"The fields whose values changed. Empty if the event is not about fields. Secrets are `********`.",
				{
					field: "The field's name.",
					action: [
						"How the field changed.",
						{
							created: "it had no value before.",
							changed: "it has a different value.",
							deleted: "it no longer has a value.",
						},
					],
					before: "The value before; null for none.",
					after: "The value after; null for none.",
				},
			],
			trigger: "More information, depending on the type. Null if there is none.",
		},
	],
});

describe(filters, {
	after:
		"Only events after the one with this id: `after` of the last response. By default, the feed begins with the oldest event.",
	types:
		"Only events of these types, such as `member.updated`, or `member.*` for all types with this prefix. Repeat the parameter, or separate types with commas. Unknown types match nothing.",
});
