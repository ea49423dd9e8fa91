import { sql } from "drizzle-orm";
import * as z from "zod";
import { aliased } from "../../db/client.ts";
import { organizationUuid, projects } from "../../db/schema/organizations.ts";
import { boolean, name, notAChoice, rawText, text, timestamp, uuid } from "../../http/fields.ts";

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
		id: z.int(),
		uuid: z.guid(),
		organization: z.guid(),
		name: z.string(),
		timezone: z.string(),
		access_control: z.boolean(),
		created_at: timestamp(),
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
	/** Searches the name. */
	search: rawText(200).optional(),
});

export const create = z.object({
	name: name(200),
	organization: uuid().optional(),
	timezone: timezone.optional(),
	access_control: boolean().optional(),
});
export const update = create.omit({ organization: true }).partial();
