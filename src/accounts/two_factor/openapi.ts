import { describe, type OpenApi } from "../../http/openapi.ts";
import type twoFactor from "./routes.ts";
import { Code, TwoFactor, TwoFactorSetup, TwoFactorWithCodes } from "./shape.ts";

const WRONG = "The code is wrong, or was used before.";

const ATTEMPTS = "A user may send ten wrong codes an hour; more are a 429 with `Retry-After`.";

export default {
	tag: {
		name: "Second factor",
		description:
			"Your second factor for signing in: codes of an authenticator app (TOTP, RFC 6238), and recovery codes in case you lose it. API keys work without it. Service accounts have no second factor and get a 403.",
	},
	operations: {
		"GET /": {
			id: "getTwoFactor",
			summary: "Retrieve your second factor",
			description: "Returns whether your second factor is enabled, and whether you need one.",
		},
		"POST /begin": {
			id: "beginTwoFactor",
			summary: "Start to set up a second factor",
			description:
				"Creates a secret for an authenticator app. Only this response shows it. To enable it, send a code to `confirmTwoFactor`. Replaces an unconfirmed secret.",
			errors: { invalid_input: "Your second factor is enabled already." },
		},
		"POST /confirm": {
			id: "confirmTwoFactor",
			summary: "Enable the second factor",
			description: `Requires a code of the secret that \`beginTwoFactor\` created. From then on, signing in requires a code. Your other sessions end. Only this response shows the recovery codes: each works once, in place of a code. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_input: "Your second factor is enabled already, or there is no secret yet.",
			},
		},
		"POST /disable": {
			id: "disableTwoFactor",
			summary: "Disable the second factor",
			description: `Requires a code or a recovery code. Deletes the secret and the recovery codes. Your other sessions end. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG,
				invalid_input:
					"Your second factor isn't enabled, or an organization that you belong to requires one.",
			},
		},
		"POST /recovery_codes": {
			id: "replaceTwoFactorCodes",
			summary: "Replace your recovery codes",
			description: `Requires a code or a recovery code. The old recovery codes stop working; only this response shows the new ones. ${ATTEMPTS}`,
			errors: { invalid_code: WRONG, invalid_input: "Your second factor isn't enabled." },
		},
	},
} satisfies OpenApi<typeof twoFactor>;

describe(TwoFactor, {
	is_enabled: "Whether signing in requires a second factor.",
	enabled_at: "When it was enabled; null if it isn't.",
	is_required:
		"Whether an organization that you belong to requires a second factor. If so, you can't disable it.",
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

describe(Code, {
	code: "The six digits that your authenticator app shows, or a recovery code. Spaces and hyphens don't matter. A code works once.",
});
