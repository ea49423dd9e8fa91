import { describe, type OpenApi } from "../../http/openapi.ts";
import type projects from "./routes.ts";
import { create, filters, Project, update } from "./shape.ts";

type Projects = OpenApi<typeof projects>;

const TAG = {
	name: "Projects",
	description:
		"A project has events, exports and plugin configs. A private project is visible only to admins of the organization and members of the project. `@current` stands for your current one.",
};

/** The operations on a project, with a word for their names and one for their summaries. */
const ofProject = (word: string, of: string) => ({
	"GET /:id": {
		id: `get${word}Project`,
		summary: `Retrieve a project${of}`,
		description: "Returns the project. A project that you can't see is a 404.",
	},
	"PATCH /:id": {
		id: `update${word}Project`,
		summary: `Change a project${of}`,
		description:
			"Requires level 8, in the organization or the project. Fields that aren't in the body don't change. Returns the project.",
	},
	"DELETE /:id": {
		id: `delete${word}Project`,
		summary: `Delete a project${of}`,
		description:
			"Requires level 15 in the organization. Deletes its exports, plugin configs and events, and cancels running exports. If it was a user's current project, the oldest one that they can see becomes the current one. This can't be undone.",
	},
});

export const ofCaller: Projects = {
	tag: TAG,
	operations: {
		"GET /": {
			id: "listProjects",
			summary: "List your projects",
			description:
				"Lists the projects that you can see and that your key can access, grouped by organization, newest first in each.",
		},
		"POST /": {
			id: "createProject",
			summary: "Create a project",
			description:
				"Requires level 8 in the project's organization, by default your current one. A key restricted to projects can't create one.",
			errors: {
				does_not_exist: "You aren't a member of `organization`, or your key can't access it.",
				required:
					"A required field is missing. `organization` is required if you have no current one.",
			},
		},
		...ofProject("", ""),
	},
};

export const ofOrganization: Projects = {
	tag: TAG,
	operations: {
		"GET /": {
			id: "listOrganizationProjects",
			summary: "List the projects of an organization",
			description: "Lists the organization's projects that you can see, newest first.",
		},
		"POST /": {
			id: "createOrganizationProject",
			summary: "Create a project in an organization",
			description: "Requires level 8. Ignores `organization` in the body.",
		},
		...ofProject("Organization", " of an organization"),
	},
};

const NAME = "What people call the project, at most 200 characters. Doesn't have to be unique.";
const TIMEZONE =
	"A name in the IANA time zone database, in any case. Offsets such as `+02:00` are rejected.";
const ACCESS_CONTROL =
	"Whether the project is private: only the organization's admins and owners, and the project's own members, can see it.";

describe(create, {
	name: NAME,
	organization:
		"The id of the organization that the project belongs to. By default your current one; ignored if the path has one.",
	timezone: `${TIMEZONE} \`UTC\` by default.`,
	access_control: `${ACCESS_CONTROL} False by default.`,
});

describe(
	update,
	{ timezone: TIMEZONE, access_control: ACCESS_CONTROL },
	create.pick({ name: true }),
);

describe(Project, {
	id: "Identifies the project, in paths too. Other resources call it `team_id`.",
	uuid: "Another id of the project, which you can't use in paths.",
	organization: "The id of the organization that the project belongs to.",
	name: NAME,
	timezone:
		"The project's time zone: a name in the IANA time zone database, such as `Europe/Berlin`.",
	access_control: ACCESS_CONTROL,
	created_at: "When the project was created.",
});

describe(filters, {
	search: "Only projects whose name contains this text, in any case. At most 200 characters.",
});
