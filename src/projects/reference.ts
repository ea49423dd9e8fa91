import { describe, type Reference } from "../http/reference.ts";
import type projects from "./routes.ts";
import { create, filters, Project, update } from "./shape.ts";

type Projects = Reference<typeof projects>;

const TAG = {
	name: "Projects",
	description:
		"A project has events, exports and plugin configs. A private one is seen only by admins of the organization and its own members. `@current` stands for the one you work in.",
};

const ONE = {
	get: "Answers with the project. One that you can't see is a 404.",
	patch:
		"Requires level 8, in the organization or the project. Fields that aren't in the body stay as they are. Answers with the project.",
	delete:
		"Requires level 15 in the organization. Deletes its exports, plugin configs and events, and cancels what runs. Users who worked in it move to the oldest project that they see. This can't be undone.",
};

export const ofCaller: Projects = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listProjects",
				summary: "List your projects",
				description:
					"Lists the projects that you can see and that your key may reach, by organization, and newest first within one.",
			},
			post: {
				id: "createProject",
				summary: "Create a project",
				description:
					"Requires level 8 in the project's organization: that of the body, by default the one you work in. A key restricted to projects can't create one.",
				errors: {
					does_not_exist: "You aren't a member of `organization`, or your key may not reach it.",
					required:
						"A required field is missing. That is `organization`, too, if you work in none.",
				},
			},
		},
		"/:id": {
			get: { id: "getProject", summary: "Retrieve a project", description: ONE.get },
			patch: { id: "updateProject", summary: "Change a project", description: ONE.patch },
			delete: { id: "deleteProject", summary: "Delete a project", description: ONE.delete },
		},
	},
};

export const ofOrganization: Projects = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listOrganizationProjects",
				summary: "List the projects of an organization",
				description: "Lists the organization's projects that you can see, newest first.",
			},
			post: {
				id: "createOrganizationProject",
				summary: "Create a project in an organization",
				description:
					"Requires level 8. An `organization` in the body is ignored: the path says it.",
			},
		},
		"/:id": {
			get: {
				id: "getOrganizationProject",
				summary: "Retrieve a project of an organization",
				description: ONE.get,
			},
			patch: {
				id: "updateOrganizationProject",
				summary: "Change a project of an organization",
				description: ONE.patch,
			},
			delete: {
				id: "deleteOrganizationProject",
				summary: "Delete a project of an organization",
				description: ONE.delete,
			},
		},
	},
};

const NAME = "What people call the project, at most 200 characters. Needn't be unique.";
const TIMEZONE =
	"A name in the IANA time zone database, in any case. Offsets such as `+02:00` are refused.";
const ACCESS_CONTROL =
	"Whether the project is private: only the organization's admins and owners, and the project's own members, can see it.";

describe(create, {
	name: NAME,
	organization:
		"The id of the organization that the project belongs to. By default the one you work in; ignored if the path names one.",
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
	uuid: "Another id of the project. Paths don't take it.",
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
