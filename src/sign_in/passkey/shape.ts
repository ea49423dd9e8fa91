import * as z from "zod";
import { name, timestamp } from "../../http/fields.ts";
import { OptionalProof } from "../totp/shape.ts";
import { PasskeyRegistration } from "../webauthn/shape.ts";

const NAME = "A name to recognize it by, of at most 100 characters.";

/** A passkey of a user (docs/keys.md#passkeys). */
export const Passkey = z
	.object({
		id: z.guid().describe("Identifies the passkey, in paths too."),
		name: z.string().describe(NAME),
		transports: z
			.array(z.string())
			.describe(
				"How a browser can reach the authenticator: `internal`, `hybrid`, `usb`, `nfc`, `ble`, `smart-card` or `cable`.",
			),
		is_backed_up: z.boolean().describe("Whether it is synchronized between devices."),
		created_at: timestamp().describe("When it was registered."),
		last_used_at: timestamp().nullable().describe("When it was last used; null if it never was."),
	})
	.meta({ id: "Passkey" });

/** A new passkey. */
export const NewPasskey = Passkey.extend({
	recovery_codes: z
		.array(z.string())
		.nullable()
		.describe(
			"Ten codes, each of which works once in place of a second factor, if this is your first factor; else null.",
		),
}).meta({ id: "NewPasskey" });

export const create = z.object({
	name: name(100).describe(NAME),
	credential: PasskeyRegistration.describe(
		"The new passkey, as `toJSON()` returns it in the browser.",
	),
	...OptionalProof.shape,
});

export const update = z.object({ name: name(100).optional().describe(NAME) });
