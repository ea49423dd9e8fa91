import * as z from "zod";
import { scopes } from "../auth/scopes.ts";
import { moment, name, timestamp } from "../http/fields.ts";

/** Behaviour 2.1. */
export const PersonalApiKey = z
	.object({
		id: z.guid(),
		label: z.string(),
		/** Only in the answer that makes it. */
		value: z.string().nullable(),
		mask_value: z.string(),
		scopes: z.array(z.string()),
		scoped_organizations: z.array(z.guid()),
		scoped_projects: z.array(z.int()),
		expires_at: timestamp().nullable(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
		last_rolled_at: timestamp().nullable(),
	})
	.meta({ id: "PersonalApiKey" });

export const create = z.object({
	label: name(40),
	scopes: z.array(z.enum(scopes)).min(1),
	scoped_organizations: z.array(z.guid().toLowerCase()).optional(),
	scoped_projects: z.array(z.int32()).optional(),
	expires_at: moment().nullable().optional(),
});
export const update = create.partial();
