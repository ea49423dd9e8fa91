import * as z from "zod";
import {
	ACCESS_LEVELS,
	type AccessLevel,
	RESOURCES,
	type Resource,
} from "../../db/schema/levels.ts";
import { choice, explain, text, timestamp, uuid, uuidOr } from "../../http/fields.ts";
import { User } from "../users/shape.ts";

const names = <const T extends Record<string, unknown>>(record: T): (keyof T & string)[] =>
	Object.keys(record);

export const RESOURCE_TEXT =
	"What the access is to. `organization_member` stands for members, invites, service accounts and roles.";
const RESOURCE_ID_TEXT =
	"The id of a single project, export, plugin, webhook or domain, as text; null for all of the resource. What is said about a plugin holds for its configs.";
const ROLE_TEXT = "The role that gets the access; null if it isn't given to a role.";
const MEMBER_TEXT = "The member who gets the access; null if it isn't given to a single member.";

/** The schema of a resource in a response. */
export const resource = () => z.enum(RESOURCES).describe(RESOURCE_TEXT);

/** The schema of a level of access in a response. */
export const accessLevel = () =>
	explain(z.enum(names(ACCESS_LEVELS)), "The level of access.", {
		none: "it can't be seen.",
		viewer: "it can be read.",
		editor: "it can also be changed, but not deleted.",
		manager: "it can also be deleted, and the `allowed_hosts` of plugin configs changed.",
	});

/** docs/access.md */
export const AccessControl = z
	.object({
		id: z.guid().describe("Identifies the access control."),
		resource: resource(),
		resource_id: z.string().nullable().describe(RESOURCE_ID_TEXT),
		role: z
			.object({
				id: z.guid().describe("The role's id."),
				name: z.string().describe("The role's name."),
			})
			.nullable()
			.describe(ROLE_TEXT),
		member: User.nullable().describe(MEMBER_TEXT),
		access_level: accessLevel(),
		created_at: timestamp().describe("When the access control was created."),
		created_by: User.nullable().describe(
			"Who created it; null for one that the organization had from the start.",
		),
	})
	.meta({ id: "AccessControl" });

const levels: AccessLevel[] = names(ACCESS_LEVELS);
const accessChoice = () => choice(levels).describe("`none`, `viewer`, `editor` or `manager`.");
const resources: readonly Resource[] = RESOURCES;

export const create = z.object({
	resource: choice(resources).describe(RESOURCE_TEXT),
	resource_id: text(64).nullable().optional().describe(`${RESOURCE_ID_TEXT} Null by default.`),
	role: uuid().nullable().optional().describe("The id of the role that gets the access."),
	member: uuid()
		.nullable()
		.optional()
		.describe(
			"The uuid of the user, or the id of the service account, that gets the access. Without `role` and `member`, everyone gets it.",
		),
	access_level: accessChoice(),
});

export const update = z.object({ access_level: accessChoice() }).partial();

export const filters = z.object({
	resource: choice(resources).optional().describe("Only those about this resource."),
	resource_id: text(64).optional().describe("Only those about the object with this id."),
	role: uuid().optional().describe("Only those of this role."),
	member: uuid().optional().describe("Only those given to this member, without those of roles."),
});

/** Which access to explain. */
export const question = z.object({
	member: uuidOr("@me")
		.optional()
		.describe(
			"The uuid of a user, the id of a service account, or `@me`. Without it, the list has all members who can view.",
		),
	resource: choice(resources)
		.optional()
		.describe("The resource. Without it, the list has all resources, of `member` or yourself."),
	resource_id: text(64).optional().describe("The id of an object, as text. Needs `resource`."),
});

/** An access control that gives access, with whom it was given to. */
const Deciding = z.object({
	id: z.guid().describe("The id of the access control."),
	resource_id: z.string().nullable().describe("The object that it is about; null for all."),
	access_level: accessLevel(),
	given_to: explain(z.enum(["member", "role", "everyone"]), "Whom it was given to.", {
		member: "the member.",
		role: "a role of the member.",
		everyone: "everyone in the organization.",
	}),
	role: z.string().nullable().describe("The name of the role; null for others."),
	decides: z.boolean().describe("Whether the access is what this access control says."),
});

/** docs/access.md#who-can-see-this */
export const MemberAccess = z
	.object({
		member: User.describe("The user or service account."),
		level: z.int().describe("The level of the membership: 1, 8 or 15."),
		resource: resource(),
		resource_id: z.string().nullable().describe("The object; null for the resource as a whole."),
		access_level: accessLevel(),
		can_view: z.boolean().describe("Whether the member can read it."),
		can_edit: z.boolean().describe("Whether the member can change it."),
		can_delete: z.boolean().describe("Whether the member can delete it."),
		can_manage: z
			.boolean()
			.describe("Whether the member can do all, such as change the `allowed_hosts` of a config."),
		decided_by: explain(
			z.enum(["level", "access_control", "auditor", "private_project", "project", "default"]),
			"What decides.",
			{
				level: "the level of the membership, in the organization or the project.",
				access_control: "those in `access_controls` that say so.",
				auditor: "the role `Auditor`.",
				private_project: "the project is private, and the member isn't one of its members.",
				project: "the access to the project, which limits that to everything in it.",
				default: "nothing is said about it.",
			},
		),
		access_controls: z
			.array(Deciding)
			.describe("The access controls about it that apply to the member, the most specific first."),
	})
	.meta({ id: "MemberAccess" });
