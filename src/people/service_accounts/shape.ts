import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integer, integerChoice, name, set, timestamp } from "../../http/fields.ts";
import { User } from "../users/shape.ts";

/** A service account can't be an owner. */
export const LEVELS = [MEMBER, ADMIN] as const;

/** docs/organizations.md#service-accounts. */
export const ServiceAccount = z
	.object({
		id: z.guid(),
		name: z.string(),
		level: z.literal(LEVELS),
		/** The ids of the private projects that it belongs to. */
		projects: z.array(z.int()),
		created_at: timestamp(),
		created_by: User,
		last_used_at: timestamp().nullable(),
	})
	.meta({ id: "ServiceAccount" });

export const create = z.object({
	name: name(64),
	level: integerChoice(LEVELS).optional(),
	projects: set(integer(), 100).optional(),
});
export const update = create.partial();
