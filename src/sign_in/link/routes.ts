import { createMiddleware } from "hono/factory";
import { asCaller, controlled } from "../../access/middleware.ts";
import { anyKey } from "../../access/scopes.ts";
import type { App } from "../../env.ts";
import { accepted, noContent, ok, router } from "../../http/router.ts";
import { body, query } from "../../http/valid.ts";
import { authenticateKey } from "../../keys/authenticate.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import { TwoFactorSetup, WRONG_CODE } from "../totp/shape.ts";
import { PasskeyRequest } from "../webauthn/shape.ts";
import { sameOrigin, useKey } from "./key_cookie.ts";
import * as shape from "./shape.ts";

/** Returns 429 after too many requests for links from an IP address, or a /64 of IPv6 addresses. */
const limitByAddress = createMiddleware<App>(async (c, next) => {
	await limitNetwork(c, "links", 10);
	await next();
});

/** There is no key when signing in, so no other errors take precedence over those of the body. */
const nothing = async () => {};

const EXPIRED =
	"The token is unknown, older than 15 minutes or used, or five codes were sent with it.";

const UNPROVED =
	"An admin reset the user's second factor: a link by mail has to prove the address first.";

const SSO = "The domain of the user's address enforces single sign-on.";

/** docs/keys.md#signing-in */
export default router({
	name: "Signing in",
	description:
		"How a person signs in to the console: with a link by mail and, if they have one or one of their organizations requires it, a second factor; or with a key. These operations are for the console: programs use API keys.",
})
	.get(
		"/methods",
		ok(shape.SignInMethods, {
			id: "findSignInMethods",
			summary: "Find out how to sign in",
			description:
				"Returns how people with this address sign in, best first. This only depends on the settings of the address's domain and of the deployment, so it doesn't reveal whether somebody has the address. An IP address can send 60 requests a minute; more are a 429.",
			errors: { blank: "`email` is empty." },
		}),
		query(shape.methods, nothing),
		async (c) => {
			await limitNetwork(c, "methods", 60);
			const { methodsOf } = await import("./methods.ts");
			return c.json(await methodsOf(c, c.req.valid("query").email));
		},
	)
	.post(
		"/",
		accepted(shape.SignInRequested, {
			id: "requestSignIn",
			summary: "Ask for a link to sign in",
			description:
				"Mails a link to the user with this address. It works once and expires after 15 minutes. The response is the same for every address, even if it is unknown, its user is deactivated, or its user already got five mails within an hour and can still use one of their links. If the address's domain enforces single sign-on, the mail says so instead. An IP address, or the first 64 bits of an IPv6 address, can request ten links a minute; more are a 429.",
			errors: { invalid_input: "The operator hasn't set up mail." },
		}),
		limitByAddress,
		body(shape.request, nothing),
		async (c) => {
			const { requestLink } = await import("./request.ts");
			return c.json(requestLink(c, c.req.valid("json").email), 202);
		},
	)
	.post(
		"/preview",
		ok(shape.SignInPreview, {
			id: "previewSignIn",
			summary: "See whom a link signs in",
			description:
				"Returns the user of a link, so that the console can ask before the link ends the session of somebody else. Doesn't use up the link.",
			errors: { expired: EXPIRED, sso_required: SSO, verification_required: UNPROVED },
		}),
		body(shape.link, nothing),
		async (c) => {
			const { preview } = await import("./complete.ts");
			return c.json(await preview(c, c.req.valid("json").token));
		},
	)
	.post(
		"/two_factor",
		ok(TwoFactorSetup, {
			id: "beginSignInTwoFactor",
			summary: "Start to set up a second factor when signing in",
			description:
				"For users for whom `completeSignIn` returned `two_factor_setup_required`. Creates a secret for an authenticator app, which only this response shows. Then complete signing in with a code of it. Doesn't use up the link.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				verification_required: UNPROVED,
				two_factor_required: "The user has a second factor: sign in with a code of it.",
			},
		}),
		body(shape.link, nothing),
		async (c) => {
			const { setUp } = await import("./set_up.ts");
			return c.json(await setUp(c, c.req.valid("json").token));
		},
	)
	.post(
		"/passkey/options",
		ok(PasskeyRequest, {
			id: "beginSignInPasskey",
			summary: "Start to use a passkey when signing in",
			description:
				"Returns what a browser needs to use a passkey: convert it with `PublicKeyCredential.parseRequestOptionsFromJSON`, and pass it to `navigator.credentials.get`. With the token of a link, `allowCredentials` has the passkeys of its user, which are its second factor: send the one that was used to `completeSignIn`. If it is empty, the user has none. Without one, the passkey is all that is needed: send it to `enterSignIn`. Valid for ten minutes, and once. An IP address can send ten of these and of `requestSignIn` a minute; more are a 429.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				verification_required: UNPROVED,
				invalid_input: "The operator hasn't set `APP_URL`.",
			},
		}),
		limitByAddress,
		body(shape.passkeyOptions, nothing),
		async (c) => {
			const { options } = await import("./passkey.ts");
			return c.json(await options(c, c.req.valid("json").token));
		},
	)
	.post(
		"/passkey",
		ok(shape.SignInToken, {
			id: "enterSignIn",
			summary: "Sign in with a passkey",
			description:
				"Verifies a passkey whose device has verified the user, for example with a fingerprint or PIN. Returns a token for `completeSignIn`, which signs in without a second factor. It works once, for a minute.",
			errors: {
				invalid_passkey:
					"The passkey or its challenge is unknown, its signature or counter is wrong, the device didn't verify the user, or the user can't sign in.",
				invalid_input: "The operator hasn't set `APP_URL`.",
			},
		}),
		body(shape.passkey, nothing),
		async (c) => {
			const { verifyPasskey } = await import("./passkey.ts");
			return c.json(await verifyPasskey(c, c.req.valid("json").passkey));
		},
	)
	.post(
		"/complete",
		ok(shape.SignedIn, {
			id: "completeSignIn",
			summary: "Sign in",
			description:
				"For the console. Requires the token of a link or passkey, and a code or passkey if the user needs a second factor. Starts a session with the scope `*`, and sets its cookie, which works only for pages of this service: programs use API keys. Uses up the link and the user's other links. Ends the session that the browser had before. Deletes expired sessions and, if the user has 25 sessions, the oldest; if it sets up the second factor, all other sessions. If the email address was never proved before, all earlier keys of the user are revoked. An error doesn't use up the link. A link allows five codes, and a user ten wrong codes an hour; more are a 429. Pages of other origins get a 403.",
			errors: {
				expired: EXPIRED,
				sso_required: SSO,
				verification_required: UNPROVED,
				two_factor_required: "The user has a second factor, and the request has no code.",
				two_factor_setup_required:
					"An organization of the user requires a second factor, and the user has none. Set it up with `beginSignInTwoFactor`.",
				invalid_code: WRONG_CODE,
				invalid_passkey: "The passkey isn't the user's, or its signature or challenge isn't valid.",
			},
		}),
		sameOrigin,
		body(shape.complete, nothing),
		async (c) => {
			const { complete } = await import("./complete.ts");
			return c.json(await complete(c, c.req.valid("json")));
		},
	)
	.post(
		"/key",
		noContent({
			id: "useSignInKey",
			summary: "Sign in with a key",
			description:
				"For the console. Sets the cookie to the key in the header `Authorization`, whose scopes and restrictions stay, until it expires or is revoked. Without an expiry date, the cookie lasts until the browser is closed. Pages of other origins get a 403.",
		}),
		sameOrigin,
		authenticateKey,
		anyKey,
		controlled({ because: "Signing in needs no access." }),
		asCaller,
		async (c) => {
			await useKey(c);
			return c.body(null, 204);
		},
	)
	.post(
		"/end",
		noContent({
			id: "endSignIn",
			summary: "Sign out",
			description:
				"For the console. Removes the cookie, and ends its session. A key that was used to sign in stays. Only pages of this service can do this; other requests get a 403.",
		}),
		sameOrigin,
		async (c) => {
			const { end } = await import("./end.ts");
			await end(c);
			return c.body(null, 204);
		},
	);
