import { sql } from "drizzle-orm";
import * as z from "zod";
import { deletion } from "../../access/deletions.ts";
import { aliased } from "../../db/client.ts";
import { organizationUuid, projects } from "../../db/schema/organizations.ts";
import { timestamp } from "../../http/fields.ts";

export const NAME_TEXT =
	"What people call the project, at most 200 characters. Doesn't have to be unique.";

export const ACCESS_CONTROL_TEXT =
	"Whether the project is private: only the organization's admins and owners, and the project's own members, can see it.";

/** A project (docs/organizations.md#projects), also the current one of a user. */
export const Project = z
	.object({
		id: z
			.int()
			.describe("Identifies the project, in paths too. Other resources call it `team_id`."),
		uuid: z.guid().describe("Another id of the project, which you can't use in paths."),
		organization: z.guid().describe("The id of the organization that the project belongs to."),
		name: z.string().describe(NAME_TEXT),
		timezone: z
			.string()
			.describe(
				"The project's time zone: a name in the IANA time zone database, such as `Europe/Berlin`.",
			),
		access_control: z.boolean().describe(ACCESS_CONTROL_TEXT),
		created_at: timestamp().describe("When the project was created."),
		deletion: deletion(),
	})
	.meta({ id: "Project" });

/** The columns of a `Project`. `id` and `uuid` are aliased, for joins with other tables. */
export const projectColumns = {
	id: aliased(projects.id, "project_id"),
	uuid: aliased(projects.uuid, "project_uuid"),
	organization: sql<string>`${organizationUuid(projects.organization_id)}`.as(
		"project_organization",
	),
	name: projects.name,
	timezone: projects.timezone,
	access_control: projects.access_control,
	created_at: projects.created_at,
};
