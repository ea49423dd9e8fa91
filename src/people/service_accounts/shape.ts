import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integer, integerChoice, name, set, timestamp } from "../../http/fields.ts";
import { User } from "../users/shape.ts";

const NAME_TEXT = "What the account is for, in your own words. At most 64 characters.";

const LEVEL_TEXT =
	"Its level in the organization: 1 for a member, 8 for an admin. The scopes of its keys limit it further.";

const PROJECTS_TEXT =
	"The ids of the private projects that it can see, in addition to public ones. With level 8, it can see all.";

/** The section of the operations on service accounts and what belongs to them. */
export const SECTION = {
	name: "Service accounts",
	description:
		"Accounts of an organization for programs. They have a level and keys, and don't depend on the people who created them.",
};

/** A service account can't be an owner. */
export const LEVELS = [MEMBER, ADMIN] as const;

/** docs/organizations.md#service-accounts. */
export const ServiceAccount = z
	.object({
		id: z
			.guid()
			.describe(
				"Identifies the account, in paths too. In the activity log it is the `uuid` of the user.",
			),
		name: z.string().describe(NAME_TEXT),
		level: z.literal(LEVELS).describe(LEVEL_TEXT),
		projects: z.array(z.int()).describe(PROJECTS_TEXT),
		created_at: timestamp().describe("When the account was created."),
		created_by: User.describe("The user or service account that created it."),
		last_used_at: timestamp()
			.nullable()
			.describe("When one of its keys was last used, to within an hour; null if none was."),
	})
	.meta({ id: "ServiceAccount" });

const fields = z.object({
	name: name(64).describe(NAME_TEXT),
	level: integerChoice(LEVELS).optional().describe(LEVEL_TEXT),
	projects: set(integer(), 100)
		.optional()
		.describe(`${PROJECTS_TEXT} At most 100. The list replaces the old one.`),
});

export const create = fields.extend({
	level: fields.shape.level.describe(`${LEVEL_TEXT} 1 by default.`),
	projects: fields.shape.projects.describe(`${PROJECTS_TEXT} At most 100; empty by default.`),
});

export const update = fields.partial();
