import * as z from "zod";
import { aliased } from "../../db/client.ts";
import { level } from "../../db/schema/levels.ts";
import { users } from "../../db/schema/people.ts";
import { integer, text, uuid } from "../../http/fields.ts";
import { Project } from "../../organizations/projects/shape.ts";

/** A user, embedded in other resources. */
export const User = z
	.object({
		id: z.int(),
		uuid: z.guid(),
		distinct_id: z.string(),
		first_name: z.string(),
		last_name: z.string(),
		email: z.email(),
		is_email_verified: z.boolean(),
		mascot_config: z.record(z.string(), z.unknown()),
	})
	.meta({ id: "User" });

/** The columns of a `User`. `id` is aliased, for joins with tables that also have one. */
export const userColumns = {
	id: aliased(users.id, "user_id"),
	uuid: users.uuid,
	distinct_id: users.distinct_id,
	first_name: users.first_name,
	last_name: users.last_name,
	email: users.email,
	is_email_verified: users.is_email_verified,
	mascot_config: users.mascot_config,
};

export const Membership = z.object({
	id: z.guid(),
	name: z.string(),
	slug: z.string(),
	membership_level: level(),
});
export type Membership = z.infer<typeof Membership>;

/** The caller, with its organizations (docs/organizations.md#users). */
export const Me = z
	.object({
		...User.shape,
		/** Whether the caller is a service account (docs/organizations.md#service-accounts). */
		is_service_account: z.boolean(),
		organization: Membership.nullable(),
		project: Project.nullable(),
		/** The same as `project`, under the name that existing clients expect. */
		team: Project.pick({
			id: true,
			uuid: true,
			organization: true,
			name: true,
			timezone: true,
		}).nullable(),
		organizations: z.array(Membership),
	})
	.meta({ id: "Me" });

export const update = z.object({
	first_name: text(150).optional(),
	last_name: text(150).optional(),
	/** Becomes the current organization. */
	organization: uuid().optional(),
	project: integer().optional(),
});
