import { describe, type OpenApi } from "../../http/openapi.ts";
import { OptionalProof } from "../totp/shape.ts";
import type signIn from "./routes.ts";
import {
	complete,
	link,
	methods,
	passkey,
	passkeyOptions,
	request,
	SignedIn,
	SignInMethods,
	SignInPreview,
	SignInRequested,
	SignInToken,
} from "./shape.ts";

const EXPIRED =
	"The token is unknown, older than 15 minutes or used, or five codes were sent with it.";

const SSO = "The domain of the user's address enforces single sign-on.";

export default {
	tag: {
		name: "Signing in",
		description:
			"How a person signs in to the console: with a link by mail and, if they have one or one of their organizations requires it, a second factor; or with a key. These operations are for the console: programs use API keys.",
	},
	operations: {
		"GET /methods": {
			id: "findSignInMethods",
			summary: "Find out how to sign in",
			description:
				"Returns how people with this address sign in, best first. This only depends on the settings of the address's domain and of the deployment, so it doesn't reveal whether somebody has the address. An IP address can send 60 requests a minute; more are a 429.",
			errors: { blank: "`email` is empty." },
		},
		"POST /": {
			id: "requestSignIn",
			summary: "Ask for a link to sign in",
			description:
				"Mails a link to the user with this address. It works once and expires after 15 minutes. The response is the same for every address, even if it is unknown, its user is deactivated, or its user already got five mails within an hour and can still use one of their links. If the address's domain enforces single sign-on, the mail says so instead. An IP address, or the first 64 bits of an IPv6 address, can request ten links a minute; more are a 429.",
			errors: { invalid_input: "The operator hasn't set up mail." },
		},
		"POST /preview": {
			id: "previewSignIn",
			summary: "See whom a link signs in",
			description:
				"Returns the user of a link, so that the console can ask before the link ends the session of somebody else. Doesn't use up the link.",
			errors: { expired: EXPIRED, sso_required: SSO },
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
		"POST /passkey/options": {
			id: "beginSignInPasskey",
			summary: "Start to use a passkey when signing in",
			description:
				"Returns what a browser needs to use a passkey: convert it with `PublicKeyCredential.parseRequestOptionsFromJSON`, and pass it to `navigator.credentials.get`. With the token of a link, `allowCredentials` has the passkeys of its user, which are its second factor: send the one that was used to `completeSignIn`. If it is empty, the user has none. Without one, the passkey is all that is needed: send it to `enterSignIn`. Valid for ten minutes, and once. An IP address can send ten of these and of `requestSignIn` a minute; more are a 429.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				invalid_input: "The operator hasn't set `APP_URL`.",
			},
		},
		"POST /passkey": {
			id: "enterSignIn",
			summary: "Sign in with a passkey",
			description:
				"Verifies a passkey whose device has verified the user, for example with a fingerprint or PIN. Returns a token for `completeSignIn`, which signs in without a second factor. It works once, for a minute.",
			errors: {
				invalid_passkey:
					"The passkey or its challenge is unknown, its signature or counter is wrong, the device didn't verify the user, or the user can't sign in.",
				invalid_input: "The operator hasn't set `APP_URL`.",
			},
		},
		"POST /complete": {
			id: "completeSignIn",
			summary: "Sign in",
			description:
				"For the console. Requires the token of a link or passkey, and a code or passkey if the user needs a second factor. Starts a session with the scope `*`, and sets its cookie, which works only for pages of this service: programs use API keys. Uses up the link and the user's other links. Ends the session that the browser had before. Deletes expired sessions and, if the user has 25 sessions, the oldest; if it sets up the second factor, all other sessions. If the email address was never proved before, all earlier keys of the user are revoked. An error doesn't use up the link. A link allows five codes, and a user ten wrong codes an hour; more are a 429. Pages of other origins get a 403.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				two_factor_required: "The user has a second factor, and the request has no code.",
				two_factor_setup_required:
					"An organization of the user requires a second factor, and the user has none. Set it up with `beginSignInTwoFactor`.",
				invalid_code: "The code is wrong, or was used before.",
				invalid_passkey: "The passkey isn't the user's, or its signature or challenge isn't valid.",
			},
		},
		"POST /key": {
			id: "useSignInKey",
			summary: "Sign in with a key",
			description:
				"For the console. Sets the cookie to the key in the header `Authorization`, whose scopes and restrictions stay, until it expires or is revoked. Without an expiry date, the cookie lasts until the browser is closed. Pages of other origins get a 403.",
		},
		"POST /end": {
			id: "endSignIn",
			summary: "Sign out",
			description:
				"For the console. Removes the cookie, and ends its session. A key that was used to sign in stays. Only pages of this service can do this; other requests get a 403.",
		},
	},
} satisfies OpenApi<typeof signIn>;

const TOKEN = "The secret part of the link: what follows `#token=`.";

describe(request, { email: "The address of the user, in any case." });

describe(SignInRequested, { detail: "What happens next, as text for people." });

describe(link, { token: TOKEN });

describe(SignInPreview, {
	email: "The address of the user.",
	organization_name: "The name of the user's current organization; null if there is none.",
	loses_keys:
		"Whether signing in revokes API keys of the user, for example the one from accepting an invite, because nobody has proved the email address before.",
});

describe(complete, { token: TOKEN }, OptionalProof);

describe(passkeyOptions, { token: `${TOKEN} Leave it out to sign in with a passkey alone.` });

describe(passkey, { passkey: "The use of a passkey, as `toJSON()` returns it in the browser." });

describe(SignInToken, { token: "Send it to `completeSignIn`." });

describe(SignedIn, {
	user: "Who has signed in.",
	recovery_codes:
		"Ten codes, each of which works once in place of a code of the app, if the second factor was set up with this request; else null. They are shown only here.",
});

describe(methods, {
	email: "The person's address. Without it, only what everyone can use is listed.",
});

describe(SignInMethods, {
	is_enforced:
		"Whether the domain of the address requires the first method. Then, `mail` follows only if the owners have named people who can sign in without the provider, and works only for these.",
	methods: [
		"The methods, best first.",
		{
			method:
				"`mail`, `oidc` or `saml` for the domain's provider, `google-oauth2`, `github` or `gitlab`.",
			path: "The page that starts the sign-in, in a browser; null for a mail (`requestSignIn`).",
		},
	],
});
