import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { Contents, ofOrganization } from "../contents.ts";
import * as organizations from "./queries.ts";
import { create, Organization, organizationId, update } from "./shape.ts";

/** docs/organizations.md#organizations */
export default router({
	name: "Organizations",
	description:
		"An organization has members, projects, domains, plugins and exports. `@current` stands for your current one.",
	parameters: { id: organizationId },
})
	.get(
		"/",
		paginated(Organization, {
			id: "listOrganizations",
			summary: "List your organizations",
			description:
				"Lists the organizations that you are a member of and that your key can access, newest first.",
		}),
		async (c) => c.json(await organizations.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(Organization, {
			id: "createOrganization",
			summary: "Create an organization",
			description:
				"You become its owner. A project `Default project` is created with it, and both become your current ones. A user can create 50 in a day, unless the operator has set another limit; more are a 429 with `Retry-After`. A key restricted to organizations or projects can't create one.",
		}),
		body(create),
		async (c) => c.json(await organizations.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(Organization, {
			id: "getOrganization",
			summary: "Retrieve an organization",
			description:
				"Returns the organization, with your level and the projects that you can see. An organization that you don't belong to is a 404.",
		}),
		async (c) => c.json(await organizations.find(c.var.tenant)),
	)
	.get(
		"/:id/contents",
		ok(Contents, {
			id: "getOrganizationContents",
			summary: "Count what belongs to an organization",
			description:
				"Counts what `deleteOrganization` deletes, each kind up to 1,000, also what others may not view. Changes nothing. Requires level 8, or the role `Auditor`.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await ofOrganization(c.var.tenant)),
	)
	.patch(
		"/:id",
		ok(Organization, {
			id: "updateOrganization",
			summary: "Change an organization",
			description:
				"Requires level 8. Fields that aren't in the body don't change. Returns the organization.",
		}),
		atLeast(ADMIN),
		body(update),
		async (c) => c.json(await organizations.update(c.var.tenant, c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteOrganization",
			summary: "Delete an organization",
			description:
				"Requires level 15. Deletes its memberships, invites, domains and projects with everything in them, and cancels running exports. Users aren't deleted; if it was their current organization, another of theirs becomes the current one. For 30 days, its owners can restore it with a link that they get by mail.",
		}),
		atLeast(OWNER),
		async (c) => {
			await organizations.remove(c.var.tenant);
			return c.body(null, 204);
		},
	);
