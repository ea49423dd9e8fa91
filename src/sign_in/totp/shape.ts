import * as z from "zod";
import { issue, text, timestamp } from "../../http/fields.ts";
import { PasskeyAssertion } from "../webauthn/shape.ts";

/** The second factor of a user (docs/keys.md#the-second-factor). */
export const TwoFactor = z
	.object({
		is_enabled: z
			.boolean()
			.describe(
				"Whether signing in by mail requires a second factor, because you have an authenticator app or a passkey.",
			),
		enabled_at: timestamp()
			.nullable()
			.describe("When the authenticator app was enabled; null if you have none."),
		passkeys: z.int().describe("How many passkeys you have."),
		is_required: z
			.boolean()
			.describe(
				"Whether an organization that you belong to requires a second factor. If so, you can't remove the last one.",
			),
		recovery_codes_left: z.int().describe("How many recovery codes haven't been used yet."),
	})
	.meta({ id: "TwoFactor" });

/** The data that an authenticator app needs. */
export const TwoFactorSetup = z
	.object({
		secret: z.string().describe("The secret in base32, for typing it into an authenticator app."),
		otpauth_url: z
			.string()
			.describe("The secret as a URL, for showing it to an authenticator app as a QR code."),
	})
	.meta({ id: "TwoFactorSetup" });

/** The second factor with new recovery codes, which are shown only here. */
export const TwoFactorWithCodes = TwoFactor.extend({
	recovery_codes: z
		.array(z.string())
		.describe("Ten codes, each of which works once in place of a code of the app."),
}).meta({ id: "TwoFactorWithCodes" });

/* The texts of operations that require a proof of the second factor. */

export const ATTEMPTS =
	"A user may send ten wrong codes and passkeys an hour; more are a 429 with `Retry-After`.";

export const WRONG_CODE = "The code is wrong, or was used before.";

export const WRONG_PASSKEY = "The passkey isn't yours, or its signature or challenge isn't valid.";

export const PROVE_ADDRESS =
	"You haven't proved your email address yet: sign in with a link by mail.";

/** A code of an authenticator app, or a recovery code. */
const code = text(50)
	.min(1)
	.describe(
		"The six digits that your authenticator app shows, or a recovery code. Spaces and hyphens don't matter. A code works once.",
	);

export const Code = z.object({ code });

/** A proof of the second factor, if one is needed: one of the two. */
export const OptionalProof = z.object({
	code: code.optional(),
	passkey: PasskeyAssertion.optional().describe(
		"A use of one of your passkeys, in place of a code (`challengePasskey`).",
	),
});

/** A proof of the second factor. */
export const RequiredProof = OptionalProof.check(({ value, issues }) => {
	if (value.code === undefined && value.passkey === undefined)
		issues.push({ ...issue(undefined, "required", "This field is required."), path: ["code"] });
});
