import * as z from "zod";
import { timestamp } from "../../http/fields.ts";

/** An account at a provider that signs the user in (docs/sign-on.md#how-people-sign-in). */
export const Identity = z
	.object({
		id: z.string(),
		method: z.string(),
		email: z.string(),
		organization_name: z.string().nullable(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
	})
	.meta({ id: "Identity" });
