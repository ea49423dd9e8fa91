import type { Reference } from "../http/reference.ts";
import type activityLog from "./routes.ts";

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
