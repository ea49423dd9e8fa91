import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import { integer, integerChoice, timestamp } from "../../http/fields.ts";

/** A token of a domain (docs/sign-on.md#tokens). */
export const ScimToken = z
	.object({
		id: z.guid(),
		/** Only in the response to create. Null in all others. */
		value: z.string().nullable(),
		mask_value: z.string(),
		created_at: timestamp(),
		/** Null until the token is replaced. */
		expires_at: timestamp().nullable(),
		last_used_at: timestamp().nullable(),
	})
	.meta({ id: "ScimToken" });

/** A group can't grant the level of an owner. */
const LEVELS = [MEMBER, ADMIN] as const;

/** A group of the provider, with what it grants (docs/sign-on.md#groups). */
export const ScimGroup = z
	.object({
		id: z.guid(),
		display_name: z.string(),
		external_id: z.string().nullable(),
		members: z.int(),
		level: z.literal(LEVELS).nullable(),
		projects: z.array(z.object({ id: z.int(), level: z.literal(LEVELS) })),
		created_at: timestamp(),
		updated_at: timestamp(),
	})
	.meta({ id: "ScimGroup" });

export const MAX_PROJECTS = 50;

export const update = z.object({
	level: integerChoice(LEVELS).nullable().optional(),
	projects: z
		.array(z.object({ id: integer(), level: integerChoice(LEVELS) }))
		.max(MAX_PROJECTS)
		.optional(),
});

/** A request of the provider (docs/sign-on.md#the-last-requests). */
export const ScimRequest = z
	.object({
		id: z.guid(),
		method: z.string(),
		path: z.string(),
		status: z.int(),
		request: z.string().nullable(),
		response: z.string().nullable(),
		ignored: z.array(z.string()),
		created_at: timestamp(),
	})
	.meta({ id: "ScimRequest" });
