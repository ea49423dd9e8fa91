import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integerChoice, timestamp, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { User } from "../users/shape.ts";

/** docs/organizations.md#projects. */
export const ProjectMember = z
	.object({
		id: z.guid(),
		user: User,
		level: documentAs(z.int(), z.literal([MEMBER, ADMIN])),
		joined_at: timestamp(),
		updated_at: timestamp(),
	})
	.meta({ id: "ProjectMember" });

export const create = z.object({
	user_uuid: uuid(),
	level: integerChoice([MEMBER, ADMIN]),
});
