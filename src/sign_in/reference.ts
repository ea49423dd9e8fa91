import { describe, type Reference } from "../http/reference.ts";
import type signIn from "./routes.ts";
import { complete, request, SignedIn, SignInRequested, setUp } from "./shape.ts";

const EXPIRED =
	"The token is unknown, older than 15 minutes or used, or five codes were tried with it.";

const SSO = "The domain of the user's address enforces single sign-on.";

const reference: Reference<typeof signIn> = {
	tag: {
		name: "Signing in",
		description:
			"How a person gets a key without having one: with a link that is mailed to them and, if they have one or an organization of theirs requires it, a second factor. These operations take no key.",
	},
	operations: {
		"/": {
			post: {
				id: "requestSignIn",
				summary: "Ask for a link to sign in",
				description:
					"Mails a link to the user with this address. It works once, for 15 minutes. The answer is the same for every address, also if nobody has it, or its user is deactivated or already got five mails within an hour. If the address's domain enforces single sign-on, the mail says so instead. An address on the network may ask ten times a minute; more are a 429.",
				errors: { invalid_input: "The operator hasn't set up mail." },
			},
		},
		"/two_factor": {
			post: {
				id: "beginSignInTwoFactor",
				summary: "Begin to set up a second factor when signing in",
				description:
					"For those whom `completeSignIn` answers `two_factor_setup_required`. Makes a secret for an authenticator app, which only this answer shows. Then complete signing in with a code of it. Doesn't use the link up.",
				errors: {
					expired: EXPIRED,
					sso_required: SSO,
					two_factor_required: "The user has a second factor: sign in with a code of it.",
				},
			},
		},
		"/complete": {
			post: {
				id: "completeSignIn",
				summary: "Sign in",
				description:
					"Takes the token of a link, and a code if a second factor is needed. Makes a key called Console with the scope `*` that expires after twelve hours: only this answer shows its `value`. It is listed and revoked like every other key. Uses the link up, and ends the user's other links. Removes keys of sessions that have expired and, if the user has 25 keys, the oldest of the other sessions. If nobody has proved before that the address is theirs, all keys of the user are revoked. A refusal doesn't use the link up. Five codes may be tried with a link, and a user may send ten wrong ones an hour; more are a 429.",
				errors: {
					expired: EXPIRED,
					sso_required: SSO,
					two_factor_required: "The user has a second factor, and the request has no code.",
					two_factor_setup_required:
						"An organization of the user requires a second factor, and the user has none. Set it up with `beginSignInTwoFactor`.",
					invalid_code: "The code is wrong, or was used before.",
					invalid_input: "The user has 25 keys, and none of them is one of a session.",
				},
			},
		},
	},
};
export default reference;

const TOKEN = "The secret part of the link: what follows `#token=`.";

describe(request, { email: "The address of the user, in any case." });

describe(SignInRequested, { detail: "What happens now, for people." });

describe(setUp, { token: TOKEN });

describe(complete, {
	token: TOKEN,
	code: "The six digits that the authenticator app shows, or a recovery code, if a second factor is needed. A code works once.",
});

describe(SignedIn, {
	user: "Who has signed in.",
	personal_api_key: "The key of the session. Its `value` is shown only here.",
	recovery_codes:
		"Ten codes, each of which works once in place of a code of the app, if the second factor was set up with this request; else null. They are shown only here.",
});
