import * as z from "zod";
import { level, pluginsAccessLevel } from "../../db/schema/levels.ts";
import { boolean, integer, name, set, text, timestamp, uuid } from "../../http/fields.ts";
import { Project } from "../projects/shape.ts";

/** In minutes. */
const DAY = 24 * 60;

const Feature = z.object({
	key: z.string(),
	name: z.string(),
	description: z.string().optional(),
	limit: z.number().optional(),
});

/** A project, embedded in its organization (docs/organizations.md#organizations). */
const Team = Project.omit({ created_at: true });
export type Team = z.infer<typeof Team>;

/** An organization, as the caller sees it (docs/organizations.md#organizations). */
export const Organization = z
	.object({
		id: z.guid(),
		name: z.string(),
		slug: z.string(),
		logo_media_id: z.guid().nullable(),
		created_at: timestamp(),
		updated_at: timestamp(),
		membership_level: level(),
		plugins_access_level: pluginsAccessLevel(),
		teams: z.array(Team),
		available_product_features: z.array(Feature),
		is_member_join_email_enabled: z.boolean(),
		metadata: z.string(),
		customer_id: z.string().nullable(),
		enforce_2fa: z.boolean().nullable(),
		keys_must_expire: z.boolean(),
		allowed_apps: z.array(z.string()).nullable(),
		session_idle_minutes: z.int(),
		session_max_minutes: z.int(),
		member_count: z.string(),
	})
	.meta({ id: "Organization" });

export const create = z.object({
	name: name(64),
	logo_media_id: uuid().nullable().optional(),
	is_member_join_email_enabled: boolean().optional(),
	enforce_2fa: boolean().nullable().optional(),
	keys_must_expire: boolean().optional(),
	allowed_apps: set(text(500).min(1), 50).nullable().optional(),
	session_idle_minutes: integer(15, 30 * DAY).optional(),
	session_max_minutes: integer(60, 90 * DAY).optional(),
});
export const update = create.partial();
