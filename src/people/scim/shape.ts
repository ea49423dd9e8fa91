import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integer, integerChoice, timestamp, uuid } from "../../http/fields.ts";

const LEVEL_TEXT =
	"The level that the group gives its members: 1 for a member, 8 for an admin. Null: the group doesn't change it.";

const PROJECTS_TEXT = "The projects that the group makes its members members of.";
const PROJECT_ID_TEXT = "The id of the project.";

const ROLES_TEXT = "The ids of the roles that the group gives its members.";

const PROJECT_LEVEL_TEXT = "The level in the project: 1 for a member, 8 for an admin.";

/** A token of a domain (docs/sign-on.md#tokens). */
export const ScimToken = z
	.object({
		id: z.guid().describe("Identifies the token, in paths too."),
		value: z
			.string()
			.nullable()
			.describe("The token, only in the response that creates it; else null."),
		mask_value: z.string().describe("The last four characters of the value, to tell tokens apart."),
		created_at: timestamp().describe("When the token was created."),
		expires_at: timestamp()
			.nullable()
			.describe("When the token ends, because another one has replaced it; null if none has."),
		last_used_at: timestamp()
			.nullable()
			.describe("When the token was last used, to within an hour; null if it never was."),
	})
	.meta({ id: "ScimToken" });

/** A group can't grant the level of an owner. */
const LEVELS = [MEMBER, ADMIN] as const;

/** A group of the provider, with what it grants (docs/sign-on.md#groups). */
export const ScimGroup = z
	.object({
		id: z.guid().describe("Identifies the group, in paths and in SCIM."),
		display_name: z.string().describe("The name of the group at the provider."),
		external_id: z
			.string()
			.nullable()
			.describe("The provider's own id of the group; null if it sends none."),
		members: z.int().describe("The number of its members."),
		level: z.literal(LEVELS).nullable().describe(LEVEL_TEXT),
		projects: z
			.array(
				z.object({
					id: z.int().describe(PROJECT_ID_TEXT),
					level: z.literal(LEVELS).describe(PROJECT_LEVEL_TEXT),
				}),
			)
			.describe(PROJECTS_TEXT),
		roles: z.array(z.guid()).describe(ROLES_TEXT),
		created_at: timestamp().describe("When the provider created the group."),
		updated_at: timestamp().describe("When the group was last changed."),
	})
	.meta({ id: "ScimGroup" });

const MAX_PROJECTS = 50;
const MAX_ROLES = 50;

export const update = z.object({
	level: integerChoice(LEVELS).nullable().optional().describe(LEVEL_TEXT),
	projects: z
		.array(
			z.object({
				id: integer().describe(PROJECT_ID_TEXT),
				level: integerChoice(LEVELS).describe(PROJECT_LEVEL_TEXT),
			}),
		)
		.max(MAX_PROJECTS)
		.optional()
		.describe(`${PROJECTS_TEXT} At most 50. The list replaces the old one.`),
	roles: z
		.array(uuid())
		.max(MAX_ROLES)
		.overwrite((ids) => [...new Set(ids)])
		.optional()
		.describe(`${ROLES_TEXT} At most 50. The list replaces the old one.`),
});

/** A request of the provider (docs/sign-on.md#the-last-requests). */
export const ScimRequest = z
	.object({
		id: z.guid().describe("Identifies the request. Ids sort by time."),
		method: z.string().describe("The method of the request."),
		path: z.string().describe("The path below the base URL, with its query."),
		status: z.int().describe("The status of the response."),
		request: z
			.string()
			.nullable()
			.describe(
				"The body of the request as JSON, without secrets, at most 4,000 characters; null if it had none.",
			),
		response: z.string().nullable().describe("The body of the response, in the same way."),
		ignored: z
			.array(z.string())
			.describe(
				"What of a successful request wasn't carried out, and why: at most 50 texts, each with the name of the attribute or the path. Empty if all was.",
			),
		created_at: timestamp().describe("When the request was made."),
	})
	.meta({ id: "ScimRequest" });
