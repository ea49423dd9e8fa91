import type { Reference } from "../http/reference.ts";
import type projects from "./routes.ts";

type Projects = Reference<typeof projects>;

const TAG = {
	name: "Projects",
	description:
		"A project has events, exports and plugin configs. A private one is seen only by admins and its own members. `@current` stands for the one you work in.",
};

const ONE = {
	get: "Answers with the project. One that you can't see is a 404.",
	patch:
		"Requires level 8, in the organization or the project. Fields that aren't in the body stay as they are.",
	delete:
		"Requires level 15. Deletes its exports, plugin configs and events, and cancels what runs.",
};

export const ofCaller: Projects = {
	tag: TAG,
	operations: {
		"/": {
			get: {
				id: "listProjects",
				summary: "List your projects",
				description:
					"Lists the projects that you can see, by organization, and newest first within one.",
			},
			post: {
				id: "createProject",
				summary: "Create a project",
				description:
					"Requires level 8. The project belongs to `organization`, by default the one you work in.",
				errors: { does_not_exist: "You aren't a member of the organization." },
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
