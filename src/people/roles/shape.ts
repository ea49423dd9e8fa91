import * as z from "zod";
import { longText, name, timestamp, uuid } from "../../http/fields.ts";
import { User } from "../users/shape.ts";

const NAME_TEXT =
	"The name of the role, at most 64 characters. Unique in the organization; `Auditor` is taken.";
const DESCRIPTION_TEXT = "What the role is for, in your own words. At most 1,000 bytes.";

/** A role (docs/access.md#roles). */
export const Role = z
	.object({
		id: z.guid().describe("Identifies the role, in paths and bodies."),
		name: z.string().describe(NAME_TEXT),
		description: z.string().describe(DESCRIPTION_TEXT),
		is_built_in: z
			.boolean()
			.describe("Whether every organization has the role. It can't be changed or deleted."),
		members: z.int().describe("How many members have the role."),
		created_at: timestamp().describe("When the role was created."),
		created_by: User.nullable().describe("Who created it; null for a role that is built in."),
	})
	.meta({ id: "Role" });

const fields = z.object({
	name: name(64).describe(NAME_TEXT),
	description: longText(1000).optional().describe(DESCRIPTION_TEXT),
});

export const create = fields;
export const update = fields.partial();

/** A member who has a role. */
export const RoleMember = z
	.object({
		user: User.describe("The user or service account that has the role."),
		created_at: timestamp()
			.nullable()
			.describe("When the role was given to the member; null if only SCIM groups give it."),
	})
	.meta({ id: "RoleMember" });

export const addMember = z.object({
	member: uuid().describe("The uuid of the user, or the id of the service account."),
});
