import type { alias } from "drizzle-orm/sqlite-core";
import * as z from "zod";
import { aliased } from "../../db/client.ts";
import { level } from "../../db/schema/levels.ts";
import { users } from "../../db/schema/people.ts";
import { integer, text, uuid } from "../../http/fields.ts";
import { Project } from "./project.ts";

/** A user, embedded in other resources. */
export const User = z
	.object({
		id: z.int().describe("A number that identifies the user. In paths and bodies, use the `uuid`."),
		uuid: z.guid().describe("Identifies the user, in paths too."),
		distinct_id: z
			.string()
			.describe("A random id for the user's own events in analytics. It never changes."),
		first_name: z.string().describe("At most 150 characters; may be empty."),
		last_name: z.string().describe("At most 150 characters; may be empty."),
		email: z.email().describe("In lower case, unique among all users. It can't be changed."),
		is_email_verified: z
			.boolean()
			.describe(
				"Whether the user has proved that the email address is theirs, by accepting an invite that was mailed to it, or by signing in with a link. Users that the operator creates count as verified.",
			),
		mascot_config: z
			.record(z.string(), z.unknown())
			.describe("How the product draws the user's mascot; `{}` by default. Read-only."),
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

/** The columns of a `User` of an alias of `users`, for rows that have several. */
export const userColumnsOf = <A extends string>(
	table: typeof users | ReturnType<typeof alias<typeof users, A>>,
	prefix: string,
) => ({
	id: aliased(table.id, `${prefix}_id`),
	uuid: aliased(table.uuid, `${prefix}_uuid`),
	distinct_id: aliased(table.distinct_id, `${prefix}_distinct_id`),
	first_name: aliased(table.first_name, `${prefix}_first_name`),
	last_name: aliased(table.last_name, `${prefix}_last_name`),
	email: aliased(table.email, `${prefix}_email`),
	is_email_verified: aliased(table.is_email_verified, `${prefix}_is_email_verified`),
	mascot_config: aliased(table.mascot_config, `${prefix}_mascot_config`),
});

export const Membership = z.object({
	id: z.guid().describe("Identifies the organization."),
	name: z.string().describe("The organization's name."),
	slug: z.string().describe("The organization's unique name for URLs."),
	membership_level: level().describe(
		"The user's level: 1 for a member, 8 for an admin, 15 for an owner.",
	),
});
export type Membership = z.infer<typeof Membership>;

/** The caller, with its organizations (docs/organizations.md#users). */
export const Me = z
	.object({
		...User.shape,
		is_service_account: z
			.boolean()
			.describe(
				"Whether the key is one of a service account. Then `uuid` is the account's id, `first_name` its name, and no mail can be sent to `email`.",
			),
		organization: Membership.nullable().describe(
			"Your current organization: the one you chose, else the oldest of your memberships. Null if there is none, or your key can't access it.",
		),
		project: Project.nullable().describe(
			"Your current project: the one you chose, else the oldest that you can see in your current organization. Null if there is none, or your key can't access it.",
		),
		team: Project.pick({
			id: true,
			uuid: true,
			organization: true,
			name: true,
			timezone: true,
		})
			.nullable()
			.describe("The same as `project`, under another name."),
		organizations: z
			.array(Membership)
			.describe(
				"The organizations that you belong to and that your key can access. The one you joined last is first.",
			),
	})
	.meta({ id: "Me" });

export const update = z.object({
	first_name: text(150).optional().describe("At most 150 characters; may be empty."),
	last_name: text(150).optional().describe("At most 150 characters; may be empty."),
	organization: uuid().optional().describe("The id of the new current organization."),
	project: integer()
		.optional()
		.describe("The id of the new current project. Also sets its organization."),
});
