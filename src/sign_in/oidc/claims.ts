import * as z from "zod";
import { lowerCaseAscii, email as validEmail } from "../../http/fields.ts";
import { namesOf } from "../../lib/person_names.ts";
import { domainOf } from "../../people/connections.ts";
import { SignInError } from "../provider/problems.ts";
import type { Verified } from "../provider/shape.ts";
import type { Connection } from "./connections.ts";

/* The claims of an OpenID provider about somebody (OpenID Connect Core, 5.1). */

/** Names of methods of a second factor in `amr` (RFC 8176). */
const SECOND_FACTORS = ["mfa", "otp", "hwk", "sc"];

/** Some providers write it as text. In any other form it is a no, because a missing one can be a yes. */
const emailVerified = z
	.literal([true, "true"])
	.transform(() => true)
	.optional()
	.catch(false);

const Claims = z.object({
	sub: z.string().min(1).max(255),
	email: z.string().optional().catch(undefined),
	email_verified: emailVerified,
	/** No domain is empty. */
	hd: z.string().optional().catch(""),
	given_name: z.unknown().optional(),
	family_name: z.unknown().optional(),
	name: z.unknown().optional(),
	amr: z.array(z.string()).catch([]),
});

type AllClaims = Record<string, unknown>;

/** Whether the claims have an address. Some providers send null or an empty text. */
export const hasEmail = ({ email }: AllClaims) => validEmail().safeParse(email).success;

/**
 * Returns the claims of an ID token without an address, and of userinfo. Both can say whether the
 * address is verified: it is only if neither denies it.
 */
export function merge(ofToken: AllClaims, userInfo: AllClaims): AllClaims {
	const denial = [ofToken.email_verified, userInfo.email_verified].find(
		(claim) => emailVerified.parse(claim) === false,
	);
	const present = Object.entries(ofToken).filter(([, value]) => value !== null && value !== "");
	return {
		...userInfo,
		...Object.fromEntries(present),
		...("email" in userInfo && { email: userInfo.email }),
		...(denial !== undefined && { email_verified: denial }),
	};
}

/**
 * Returns who the claims of a provider, which were verified, are about.
 * @throws SignInError if they don't say it
 */
export function toVerified({ connection, domain_id }: Connection, all: AllClaims): Verified {
	const parsed = Claims.safeParse(all);
	if (!parsed.success)
		throw new SignInError("invalid_response", "The subject is missing or too long.");
	const claims = parsed.data;
	const email = validEmail().safeParse(claims.email);
	if (!email.success)
		throw new SignInError(
			"email_missing",
			"The provider reported no email address: the claim email is missing or invalid.",
			{ claims: all },
		);
	return {
		...{ connection, domain_id },
		subject: claims.sub,
		email: email.data,
		is_email_verified: isVerified({ connection, domain_id }, claims, email.data),
		...namesOf({ first: claims.given_name, last: claims.family_name, full: claims.name }),
		has_factor: claims.amr.some((method) => SECOND_FACTORS.includes(method)),
		claims: all,
	};
}

/**
 * Whether the address is the person's. The provider of a domain decides about its addresses, so it
 * doesn't have to say so. Google verifies an address only once, unless it hosts its domain (`hd`):
 * somebody who has left a company may still have an account with its address.
 */
function isVerified(
	{ connection, domain_id }: Pick<Connection, "connection" | "domain_id">,
	{ email_verified, hd }: z.infer<typeof Claims>,
	email: string,
) {
	if (domain_id !== null) return email_verified !== false;
	if (connection !== "google-oauth2") return email_verified === true;
	return email_verified === true && lowerCaseAscii(hd ?? "gmail.com") === domainOf(email);
}
