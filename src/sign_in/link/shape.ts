import * as z from "zod";
import { email, rawText } from "../../http/fields.ts";
import { User } from "../../people/users/shape.ts";
import { OptionalProof } from "../totp/shape.ts";
import { PasskeyAssertion } from "../webauthn/webauthn.ts";

export const methods = z.object({ email: email().optional() });

/** How people with an address sign in (docs/sign-on.md#how-people-sign-in). */
export const SignInMethods = z
	.object({
		is_enforced: z.boolean(),
		methods: z.array(z.object({ method: z.string(), path: z.string().nullable() })),
	})
	.meta({ id: "SignInMethods" });

export const request = z.object({ email: email() });

/** The response, which is the same for every email address (docs/keys.md#signing-in). */
export const SignInRequested = z.object({ detail: z.string() }).meta({ id: "SignInRequested" });

/** The token in a link. */
const token = () => rawText(100).min(1);

export const link = z.object({ token: token() });

export const complete = z.object({ token: token(), ...OptionalProof.shape });

/** A token of a link, if the passkey is its second factor. */
export const passkeyOptions = z.object({ token: token().optional() });

export const passkey = z.object({ passkey: PasskeyAssertion });

/** A token that completes signing in, as one in a link does. */
export const SignInToken = z.object({ token: z.string() }).meta({ id: "SignInToken" });

/** Who a link signs in, their current organization, and whether signing in revokes keys. */
export const SignInPreview = z
	.object({
		email: z.string(),
		organization_name: z.string().nullable(),
		loses_keys: z.boolean(),
	})
	.meta({ id: "SignInPreview" });

/** The user who has signed in. The session is in a cookie. */
export const SignedIn = z
	.object({
		user: User,
		/** Null unless the second factor was set up. */
		recovery_codes: z.array(z.string()).nullable(),
	})
	.meta({ id: "SignedIn" });
