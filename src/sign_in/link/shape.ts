import * as z from "zod";
import { email, rawText } from "../../http/fields.ts";
import { User } from "../../people/users/shape.ts";
import { OptionalProof } from "../totp/shape.ts";
import { PasskeyAssertion } from "../webauthn/shape.ts";

export const methods = z.object({
	email: email()
		.optional()
		.describe("The person's address. Without it, only what everyone can use is listed."),
});

/** How people with an address sign in (docs/sign-on.md#how-people-sign-in). */
export const SignInMethods = z
	.object({
		is_enforced: z
			.boolean()
			.describe(
				"Whether the domain of the address requires the first method. Then, `mail` follows only if the owners have named people who can sign in without the provider, and works only for these.",
			),
		methods: z
			.array(
				z.object({
					method: z
						.string()
						.describe(
							"`mail`, `oidc` or `saml` for the domain's provider, `google-oauth2`, `github` or `gitlab`.",
						),
					path: z
						.string()
						.nullable()
						.describe(
							"The page that starts the sign-in, in a browser; null for a mail (`requestSignIn`).",
						),
				}),
			)
			.describe("The methods, best first."),
	})
	.meta({ id: "SignInMethods" });

export const request = z.object({
	email: email().describe("The address of the user, in any case."),
});

/** The response, which is the same for every email address (docs/keys.md#signing-in). */
export const SignInRequested = z
	.object({ detail: z.string().describe("What happens next, as text for people.") })
	.meta({ id: "SignInRequested" });

const token = rawText(100).min(1).describe("The secret part of the link: what follows `#token=`.");

export const link = z.object({ token });

export const complete = z.object({ token, ...OptionalProof.shape });

/** A token of a link, if the passkey is its second factor. */
export const passkeyOptions = z.object({
	token: token
		.optional()
		.describe(`${token.description} Leave it out to sign in with a passkey alone.`),
});

export const passkey = z.object({
	passkey: PasskeyAssertion.describe(
		"The use of a passkey, as `toJSON()` returns it in the browser.",
	),
});

/** A token that completes signing in, as one in a link does. */
export const SignInToken = z
	.object({ token: z.string().describe("Send it to `completeSignIn`.") })
	.meta({ id: "SignInToken" });

/** Who a link signs in, their current organization, and whether signing in revokes keys. */
export const SignInPreview = z
	.object({
		email: z.string().describe("The address of the user."),
		organization_name: z
			.string()
			.nullable()
			.describe("The name of the user's current organization; null if there is none."),
		loses_keys: z
			.boolean()
			.describe(
				"Whether signing in revokes API keys of the user, for example the one from accepting an invite, because nobody has proved the email address before.",
			),
	})
	.meta({ id: "SignInPreview" });

/** The user who has signed in. The session is in a cookie. */
export const SignedIn = z
	.object({
		user: User.describe("Who has signed in."),
		recovery_codes: z
			.array(z.string())
			.nullable()
			.describe(
				"Ten codes, each of which works once in place of a code of the app, if the second factor was set up with this request; else null. They are shown only here.",
			),
	})
	.meta({ id: "SignedIn" });
