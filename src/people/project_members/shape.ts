import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integerChoice, timestamp, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { User } from "../users/shape.ts";

const LEVEL_TEXT =
	"1 lets the user see the project while it is private. 8 also lets the user change the project and its members, but not delete it.";

/** docs/organizations.md#projects. */
export const ProjectMember = z
	.object({
		id: z
			.guid()
			.describe("Identifies the project membership. In paths, use the `uuid` of the `user`."),
		user: User.describe("The user who is the member."),
		level: documentAs(z.int(), z.literal([MEMBER, ADMIN])).describe(LEVEL_TEXT),
		joined_at: timestamp().describe("When the user was added to the project."),
		updated_at: timestamp().describe(
			"When the level was last changed; the same as `joined_at` if it never was.",
		),
	})
	.meta({ id: "ProjectMember" });

export const create = z.object({
	user_uuid: uuid().describe(
		"The `uuid` of the user, who has to be an active member of the organization.",
	),
	level: integerChoice([MEMBER, ADMIN]).describe(LEVEL_TEXT),
});

export const update = create.pick({ level: true }).partial();
