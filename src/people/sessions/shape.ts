import * as z from "zod";
import { timestamp } from "../../http/fields.ts";

/** A session of a user (docs/keys.md#your-sessions). */
export const Session = z
	.object({
		id: z.guid(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
		expires_at: timestamp().nullable(),
		method: z.string(),
		connection: z.string().nullable(),
		address: z.string().nullable(),
		user_agent: z.string().nullable(),
		is_current: z.boolean(),
	})
	.meta({ id: "Session" });
