import * as z from "zod";
import { timestamp } from "../../http/fields.ts";

/** A session of a user (docs/keys.md#your-sessions). */
export const Session = z
	.object({
		id: z.guid().describe("Identifies the session."),
		created_at: timestamp().describe("When you signed in."),
		last_used_at: timestamp()
			.nullable()
			.describe("When the session was last used. Up to an hour older than its last request."),
		expires_at: timestamp().nullable().describe("When the session ends if it isn't used any more."),
		method: z
			.string()
			.describe("How you signed in: `mail`, `passkey`, or the kind of provider, such as `saml`."),
		connection: z.string().nullable().describe("The provider that signed you in; null for others."),
		address: z
			.string()
			.nullable()
			.describe("The IP address that you signed in from; null if it is unknown."),
		user_agent: z
			.string()
			.nullable()
			.describe("The browser that you signed in with, as it names itself; null if it doesn't."),
		is_current: z.boolean().describe("Whether this request belongs to the session."),
	})
	.meta({ id: "Session" });
