import * as z from "zod";
import { name, timestamp } from "../../http/fields.ts";
import { OptionalProof } from "../totp/shape.ts";
import { PasskeyRegistration } from "../webauthn/webauthn.ts";

/** A passkey of a user (docs/keys.md#passkeys). */
export const Passkey = z
	.object({
		id: z.guid(),
		name: z.string(),
		transports: z.array(z.string()),
		is_backed_up: z.boolean(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
	})
	.meta({ id: "Passkey" });

/** A new passkey. */
export const NewPasskey = Passkey.extend({
	/** Null unless it is the user's first factor. They are shown only here. */
	recovery_codes: z.array(z.string()).nullable(),
}).meta({ id: "NewPasskey" });

export const create = z.object({
	name: name(100),
	credential: PasskeyRegistration,
	...OptionalProof.shape,
});

export const update = z.object({ name: name(100).optional() });
