import { describe, type OpenApi } from "../../http/openapi.ts";
import type signIn from "./routes.ts";
import {
	complete,
	methods,
	request,
	SignedIn,
	SignInMethods,
	SignInRequested,
	setUp,
} from "./shape.ts";

const EXPIRED =
	"The token is unknown, older than 15 minutes or used, or five codes were sent with it.";

const SSO = "The domain of the user's address enforces single sign-on.";

export default {
	tag: {
		name: "Signing in",
		description:
			"How a person without a key gets one: with a link by mail and, if they have one or one of their organizations requires it, a second factor. These operations require no key.",
	},
	operations: {
		"GET /methods": {
			id: "findSignInMethods",
			summary: "Find out how to sign in",
			description:
				"Returns how people with this address sign in, best first. This only depends on the settings of the address's domain and of the deployment, so it doesn't reveal whether somebody has the address. An IP address can send 60 requests a minute; more are a 429.",
		},
		"POST /": {
			id: "requestSignIn",
			summary: "Ask for a link to sign in",
			description:
				"Mails a link to the user with this address. It works once and expires after 15 minutes. The response is the same for every address, even if it is unknown, its user is deactivated, or its user already got five mails within an hour and can still use one of their links. If the address's domain enforces single sign-on, the mail says so instead. An IP address, or the first 64 bits of an IPv6 address, can request ten links a minute; more are a 429.",
			errors: { invalid_input: "The operator hasn't set up mail." },
		},
		"POST /two_factor": {
			id: "beginSignInTwoFactor",
			summary: "Start to set up a second factor when signing in",
			description:
				"For users for whom `completeSignIn` returned `two_factor_setup_required`. Creates a secret for an authenticator app, which only this response shows. Then complete signing in with a code of it. Doesn't use up the link.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				two_factor_required: "The user has a second factor: sign in with a code of it.",
			},
		},
		"POST /complete": {
			id: "completeSignIn",
			summary: "Sign in",
			description:
				"Requires the token of a link, and a code if the user needs a second factor. Creates a key with the label Console and the scope `*` that expires after twelve hours. Only this response shows its `value`. You can list and revoke it like any other key. Uses up the link and the user's other links. Deletes expired sessions and, if the user has 25 keys, the oldest session; if it sets up the second factor, all other sessions. If the email address was never proved before, all earlier keys of the user are revoked. An error doesn't use up the link. A link allows five codes, and a user ten wrong codes an hour; more are a 429.",
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
} satisfies OpenApi<typeof signIn>;

const TOKEN = "The secret part of the link: what follows `#token=`.";

describe(request, { email: "The address of the user, in any case." });

describe(SignInRequested, { detail: "What happens next, as text for people." });

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

describe(methods, {
	email: "The person's address. Without it, only what everyone can use is listed.",
});

describe(SignInMethods, {
	is_enforced: "Whether the domain of the address requires its only method.",
	methods: [
		"The methods, best first.",
		{
			method:
				"`mail`, `oidc` or `saml` for the domain's provider, `google-oauth2`, `github` or `gitlab`.",
			path: "The page that starts the sign-in, in a browser; null for a mail (`requestSignIn`).",
		},
	],
});
