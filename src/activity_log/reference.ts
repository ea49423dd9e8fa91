import { describe, type Reference } from "../http/reference.ts";
import type activityLog from "./routes.ts";
import { filters } from "./shape.ts";

type ActivityLog = Reference<typeof activityLog>;

const TAG = {
	name: "Activity log",
	description:
		"Every change is recorded in the same transaction, with who made it and what it changed. Entries are kept for 365 days; secrets are masked.",
};

export const ofOrganization: ActivityLog = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listActivity",
				summary: "List the activity of an organization",
				description:
					"Lists the entries of the organization and of the projects that you can see, newest first. Entries of deleted projects are shown to admins.",
			},
		},
	},
};

export const ofProject: ActivityLog = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listProjectActivity",
				summary: "List the activity of a project",
				description: "Lists the entries of the project, newest first.",
			},
		},
	},
};

describe(filters, {
	scope: "Only entries about objects of this kind, such as `Member` or `BatchExport`.",
	item_id: "Only entries about the object with this id.",
	user: "Only what the user with this uuid did.",
	activity: "Only entries of this activity, such as `created` or `updated`.",
	after: "Only entries that were written after this time.",
	before: "Only entries that were written before this time.",
});
