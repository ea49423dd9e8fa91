import { sql } from "drizzle-orm";
import * as z from "zod";
import { aliased } from "../../db/client.ts";
import { organizationUuid, projects } from "../../db/schema/organizations.ts";
import { boolean, name, notAChoice, rawText, text, timestamp, uuid } from "../../http/fields.ts";

/** In paths. */
export const projectId = z
	.string()
	.regex(/^(\d{1,15}|@current)$/)
	.describe("The project's id, or `@current` for your current one.");

const NAME_TEXT =
	"What people call the project, at most 200 characters. Doesn't have to be unique.";

const TIMEZONE_TEXT =
	"A name in the IANA time zone database, in any case. Offsets such as `+02:00` are rejected.";

const ACCESS_CONTROL_TEXT =
	"Whether the project is private: only the organization's admins and owners, and the project's own members, can see it.";

/** Returns the name as the IANA time zone database capitalizes it; undefined if it isn't there. */
function canonical(timeZone: string) {
	if (!/^[a-z]/i.test(timeZone)) return undefined;
	try {
		const format = new Intl.DateTimeFormat("en", { timeZone });
		const resolved = format.resolvedOptions().timeZone;
		// An alias resolves to another name. It is also valid, and is stored unchanged.
		return resolved.toLowerCase() === timeZone.toLowerCase() ? resolved : timeZone;
	} catch {
		return undefined;
	}
}

const timezone = text()
	.refine((name) => canonical(name) !== undefined, {
		params: { code: "invalid_choice" },
		error: ({ input }) => notAChoice(input),
	})
	.overwrite((name) => canonical(name) ?? name)
	.meta({ examples: ["Europe/Berlin"] });

/** docs/organizations.md#projects. */
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

export const filters = z.object({
	search: rawText(200)
		.optional()
		.describe("Only projects whose name contains this text, in any case. At most 200 characters."),
});

const fields = z.object({
	name: name(200).describe(NAME_TEXT),
	timezone: timezone.optional().describe(TIMEZONE_TEXT),
	access_control: boolean().optional().describe(ACCESS_CONTROL_TEXT),
});

const { shape } = fields;

export const create = z.object({
	name: shape.name,
	organization: uuid()
		.optional()
		.describe(
			"The id of the organization that the project belongs to. By default your current one; ignored if the path has one.",
		),
	timezone: shape.timezone.describe(`${TIMEZONE_TEXT} \`UTC\` by default.`),
	access_control: shape.access_control.describe(`${ACCESS_CONTROL_TEXT} False by default.`),
});

export const update = fields.partial();
