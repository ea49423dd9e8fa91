import * as z from "zod";
import { scopes } from "../auth/scopes.ts";
import type { personalApiKeys } from "../db/schema.ts";
import {
	integer,
	moment,
	name,
	set,
	text,
	timestamp,
	uuid,
} from "../http/fields.ts";
import { documentAs } from "../http/router.ts";

/** Behaviour 2.1. */
export const PersonalApiKey = z
	.object({
		id: z.guid(),
		label: z.string(),
		/** Only in the answer that makes it. */
		value: z.string().nullable(),
		mask_value: z.string(),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))),
		scoped_organizations: z.array(z.guid()),
		scoped_projects: z.array(z.int()),
		expires_at: timestamp().nullable(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
		last_rolled_at: timestamp().nullable(),
	})
	.meta({ id: "PersonalApiKey" });

/** @param value where the answer is the one that makes it */
export const toPersonalApiKey = (
	{ hash: _, user_id: __, ...row }: typeof personalApiKeys.$inferSelect,
	value: string | null = null,
): z.infer<typeof PersonalApiKey> => ({ ...row, value });

export const create = z.object({
	label: name(40),
	scopes: set(text().pipe(z.enum(scopes)), 100).min(1),
	scoped_organizations: set(uuid(), 100).optional(),
	scoped_projects: set(integer(), 100).optional(),
	expires_at: moment().nullable().optional(),
});
export const update = create.partial();
