import * as z from "zod";
import { deletedFilter } from "../../access/deletions.ts";
import { boolean, name, notAChoice, rawText, text, uuid } from "../../http/fields.ts";
import { ACCESS_CONTROL_TEXT, NAME_TEXT } from "../../people/users/project.ts";

/** In paths. */
export const projectId = z
	.string()
	.regex(/^(\d{1,15}|@current)$/)
	.describe("The project's id, or `@current` for your current one.");

const TIMEZONE_TEXT =
	"A name in the IANA time zone database, in any case. Offsets such as `+02:00` are rejected.";

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

export const filters = z.object({
	search: rawText(200)
		.optional()
		.describe("Only projects whose name contains this text, in any case. At most 200 characters."),
});

export const filtersOfOrganization = filters.extend(deletedFilter().shape);

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
			"The id of the organization that the project belongs to. By default your current one.",
		),
	timezone: shape.timezone.describe(`${TIMEZONE_TEXT} \`UTC\` by default.`),
	access_control: shape.access_control.describe(`${ACCESS_CONTROL_TEXT} False by default.`),
});

export const update = fields.partial();
