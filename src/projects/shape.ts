import * as z from "zod";
import { as } from "../db/client.ts";
import { projects } from "../db/schema.ts";
import { boolean, name, text, timestamp } from "../http/fields.ts";

function known(timeZone: string) {
	try {
		return Boolean(new Intl.DateTimeFormat("en", { timeZone }));
	} catch {
		return false;
	}
}

/** A name of the IANA time zone database. */
const timezone = text().refine(known, {
	params: { code: "invalid_choice" },
	error: ({ input }) => `"${input}" is not a valid choice.`,
});

/** Behaviour 5. */
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

/** The columns of a `Project`, for a statement that may have an `id` and a `uuid` of its own. */
export const projectColumns = {
	id: as(projects.id, "project_id"),
	uuid: as(projects.uuid, "project_uuid"),
	organization: projects.organization_id,
	name: projects.name,
	timezone: projects.timezone,
	access_control: projects.access_control,
	created_at: projects.created_at,
};

export const update = z.object({
	name: name(200).optional(),
	timezone: timezone.optional(),
	access_control: boolean().optional(),
});
export const create = update.extend({
	name: name(200),
	organization: z.guid().optional(),
});
