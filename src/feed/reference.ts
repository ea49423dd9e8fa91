import { describe, type Reference } from "../http/reference.ts";
import type feed from "./routes.ts";
import { FeedEvent, filters } from "./shape.ts";

const reference: Reference<typeof feed> = {
	tag: {
		name: "Feed",
		description:
			"Everything that happens in an organization, in order: changes by people and by the operator, and what happens without a caller, such as the end of an export's run. Events are kept for 365 days.",
	},
	operations: {
		"/": {
			get: {
				id: "listFeedEvents",
				summary: "Follow what happens in an organization",
				description: `Lists events, oldest first. Any member may do so. Events of a private project are shown to those who can see it, and events of deleted projects to admins (level 8).

Call \`next\` until it is null. Then wait, and go on with \`after\` of the last answer: you get each event once, and none is missed, also while others write. A page may have fewer events than \`limit\`, or none, although \`next\` leads on.

With \`Accept: text/csv\` or \`application/x-ndjson\` the answer is a file of all events after \`after\`, whatever \`limit\` is.`,
				errors: {
					does_not_exist:
						"`after` is no event of this organization, or older than 365 days. Leave it out to begin with the oldest event.",
				},
			},
		},
	},
};
export default reference;

describe(FeedEvent, {
	id: "Identifies the event. Entries of the activity log have the same ids.",
	type: "What happened: the kind of the object and what was done, such as `member.updated`. New types are added without a new version of the API.",
	created_at: "When it happened.",
	api_version: "The version of the API that the event follows.",
	actor: [
		"Who did it.",
		{
			type: [
				"The kind of the actor.",
				{
					user: "a person, with one of their keys.",
					service_account: "a service account, with one of its keys.",
					system: "nobody: the service did it by itself, as on a schedule.",
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
		"What it was done to.",
		{
			scope: "The kind of the object, such as `Member`.",
			item_id: "The object's id, as text also if it is a number.",
			organization_id: "The organization's id.",
			project_id: "The project's id; null if it isn't about a project.",
			name: "The object's name when it happened; null if it has none.",
			changes: [
				"Each field that got another value. Empty if the event is not about fields. Secrets are `********`.",
				{
					field: "The field's name.",
					action: [
						"What became of the field.",
						{
							created: "it had no value before.",
							changed: "it has another value.",
							deleted: "it has no value any more.",
						},
					],
					before: "The value before; null for none.",
					after: "The value after; null for none.",
				},
			],
			trigger:
				"More about the event, in a form of its own for each type. Null if there is nothing to add.",
		},
	],
});

describe(filters, {
	after:
		"Only events after the one with this id: `after` of the last answer. By default, the feed begins with the oldest event.",
	types:
		"Only events of these types, such as `member.updated`, or `member.*` for all that begin so. Repeat the parameter, or separate types by commas. A type that doesn't exist matches nothing.",
});
