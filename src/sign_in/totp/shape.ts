import * as z from "zod";
import { issue, text, timestamp } from "../../http/fields.ts";
import { PasskeyAssertion } from "../webauthn/webauthn.ts";

/** The second factor of a user (docs/keys.md#the-second-factor). */
export const TwoFactor = z
	.object({
		is_enabled: z.boolean(),
		enabled_at: timestamp().nullable(),
		passkeys: z.int(),
		is_required: z.boolean(),
		recovery_codes_left: z.int(),
	})
	.meta({ id: "TwoFactor" });

/** The data that an authenticator app needs. */
export const TwoFactorSetup = z
	.object({
		secret: z.string(),
		otpauth_url: z.string(),
	})
	.meta({ id: "TwoFactorSetup" });

/** The second factor with new recovery codes, which are shown only here. */
export const TwoFactorWithCodes = TwoFactor.extend({
	recovery_codes: z.array(z.string()),
}).meta({ id: "TwoFactorWithCodes" });

/** A code of an authenticator app, or a recovery code. */
export const code = () => text(50).min(1);

export const Code = z.object({ code: code() });

/** A proof of the second factor, if one is needed: one of the two. */
export const OptionalProof = z.object({
	code: code().optional(),
	passkey: PasskeyAssertion.optional(),
});

/** A proof of the second factor. */
export const RequiredProof = OptionalProof.check(({ value, issues }) => {
	if (value.code === undefined && value.passkey === undefined)
		issues.push({ ...issue(undefined, "required", "This field is required."), path: ["code"] });
});
