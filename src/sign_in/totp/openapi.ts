import { describe, type OpenApi } from "../../http/openapi.ts";
import type twoFactor from "./routes.ts";
import { Code, OptionalProof, TwoFactor, TwoFactorSetup, TwoFactorWithCodes } from "./shape.ts";

const WRONG = "The code is wrong, or was used before.";

export const PROVE_ADDRESS =
	"You haven't proved your email address yet: sign in with a link by mail.";

const WRONG_PASSKEY = "The passkey isn't yours, or its signature or challenge isn't valid.";

const ATTEMPTS =
	"A user may send ten wrong codes and passkeys an hour; more are a 429 with `Retry-After`.";

export default {
	tag: {
		name: "Second factor",
		description:
			"Your second factor for signing in: codes of an authenticator app (TOTP, RFC 6238) or passkeys, and recovery codes in case you lose them. API keys work without it. Service accounts have no second factor and get a 403.",
	},
	operations: {
		"GET /": {
			id: "getTwoFactor",
			summary: "Retrieve your second factor",
			description: "Returns whether your second factor is enabled, and whether you need one.",
		},
		"POST /begin": {
			id: "beginTwoFactor",
			summary: "Start to set up an authenticator app",
			description: `Creates a secret for an authenticator app. Only this response shows it. To enable it, send a code to \`confirmTwoFactor\`. Replaces an unconfirmed secret. If you have passkeys, it requires one of them or a recovery code. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input: "Your authenticator app is enabled already.",
				two_factor_required: "You have passkeys, and the body has no proof.",
				verification_required: PROVE_ADDRESS,
			},
		},
		"POST /confirm": {
			id: "confirmTwoFactor",
			summary: "Enable the authenticator app",
			description: `Requires a code of the secret that \`beginTwoFactor\` created. From then on, signing in by mail requires a code. Your other sessions end. Only this response shows the recovery codes, which replace earlier ones: each works once, in place of a code. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_input: "Your second factor is enabled already, or there is no secret yet.",
			},
		},
		"POST /disable": {
			id: "disableTwoFactor",
			summary: "Disable the authenticator app",
			description: `Requires a code, a recovery code or a passkey. Deletes the secret and, if you have no passkeys, the recovery codes. Your other sessions end. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input:
					"Your authenticator app isn't enabled; or you have no passkeys, and an organization that you belong to requires a second factor.",
			},
		},
		"POST /recovery_codes": {
			id: "replaceTwoFactorCodes",
			summary: "Replace your recovery codes",
			description: `Requires a code, a recovery code or a passkey. The old recovery codes stop working; only this response shows the new ones. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input: "You have no second factor.",
			},
		},
	},
} satisfies OpenApi<typeof twoFactor>;

describe(TwoFactor, {
	is_enabled:
		"Whether signing in by mail requires a second factor, because you have an authenticator app or a passkey.",
	enabled_at: "When the authenticator app was enabled; null if you have none.",
	passkeys: "How many passkeys you have.",
	is_required:
		"Whether an organization that you belong to requires a second factor. If so, you can't remove the last one.",
	recovery_codes_left: "How many recovery codes haven't been used yet.",
});

describe(TwoFactorSetup, {
	secret: "The secret in base32, for typing it into an authenticator app.",
	otpauth_url: "The secret as a URL, for showing it to an authenticator app as a QR code.",
});

describe(
	TwoFactorWithCodes,
	{ recovery_codes: "Ten codes, each of which works once in place of a code of the app." },
	TwoFactor,
);

const CODE =
	"The six digits that your authenticator app shows, or a recovery code. Spaces and hyphens don't matter. A code works once.";

describe(Code, { code: CODE });

describe(OptionalProof, {
	code: CODE,
	passkey: "A use of one of your passkeys, in place of a code (`challengePasskey`).",
});
