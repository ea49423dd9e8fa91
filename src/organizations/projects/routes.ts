import type * as z from "zod";
import { listDeleted } from "../../access/deletions.ts";
import { body, query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import {
	applyOnly,
	created,
	noContent,
	ok,
	paginated,
	router,
	type Text,
} from "../../http/router.ts";
import { Project } from "../../people/users/project.ts";
import { Contents, ofProject } from "../contents.ts";
import * as projects from "./queries.ts";
import { create, filters, filtersOfOrganization, projectId, update } from "./shape.ts";

type Texts = {
	list: Text;
	create: Text;
	body: typeof create;
	filters: typeof filters | typeof filtersOfOrganization;
	/** A word for the names of the other operations, and one for their summaries. */
	word: string;
	of: string;
};

/** docs/organizations.md#projects */
const routes = ({ list, create: creation, body: project, filters, word, of }: Texts) =>
	router({
		name: "Projects",
		description:
			"A project has events, exports and plugin configs. A private project is visible only to admins of the organization and members of the project. `@current` stands for your current one.",
		parameters: { id: projectId },
	})
		.get("/", paginated(Project, list), query(filters), async (c) => {
			const parameters = c.req.valid("query");
			return c.json(
				await ("deleted" in parameters && parameters.deleted
					? listDeleted<z.infer<typeof Project>>(c.var.tenant, page(c), "project")
					: projects.list(c.var.tenant, page(c), parameters)),
			);
		})
		.post("/", created(Project, creation), body(project), async (c) =>
			c.json(await projects.insert(c.var.tenant, c.req.valid("json")), 201),
		)
		.get(
			"/:id",
			ok(Project, {
				id: `get${word}Project`,
				summary: `Retrieve a project${of}`,
				description: "Returns the project. A project that you can't see is a 404.",
			}),
			async (c) => c.json(await projects.find(c.var.tenant)),
		)
		.get(
			"/:id/contents",
			ok(Contents, {
				id: `get${word}ProjectContents`,
				summary: `Count what belongs to a project${of}`,
				description:
					"Counts what is deleted with the project, each kind up to 1,000. Changes nothing. Requires level 8, in the organization or the project.",
			}),
			atLeast(ADMIN),
			async (c) => c.json(await ofProject(c.var.tenant)),
		)
		.patch(
			"/:id",
			ok(Project, {
				id: `update${word}Project`,
				summary: `Change a project${of}`,
				description:
					"Requires level 8, in the organization or the project. Fields that aren't in the body don't change. Returns the project.",
			}),
			atLeast(ADMIN),
			body(update),
			async (c) => c.json(await projects.update(c.var.tenant, c.req.valid("json"))),
		)
		.delete(
			"/:id",
			noContent({
				id: `delete${word}Project`,
				summary: `Delete a project${of}`,
				description:
					"Requires level 15 in the organization. Deletes its exports, plugin configs and events, and cancels running exports. If it was a user's current project, the oldest one that they can see becomes the current one. It can be restored for 30 days.",
			}),
			atLeast(OWNER),
			async (c) => {
				await projects.remove(c.var.tenant);
				return c.body(null, 204);
			},
		);

export const ofCaller = () =>
	routes({
		list: {
			id: "listProjects",
			summary: "List your projects",
			description:
				"Lists the projects that you can see and that your key can access, grouped by organization, newest first in each.",
		},
		create: {
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
		body: create,
		filters,
		word: "",
		of: "",
	});

export const ofOrganization = () =>
	routes({
		list: {
			id: "listOrganizationProjects",
			summary: "List the projects of an organization",
			description: "Lists the organization's projects that you can see, newest first.",
		},
		create: {
			id: "createOrganizationProject",
			summary: "Create a project in an organization",
			description: "Requires level 8.",
		},
		body: applyOnly(create, Object.keys(update.shape)),
		filters: filtersOfOrganization,
		word: "Organization",
		of: " of an organization",
	});
