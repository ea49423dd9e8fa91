import * as oauth from "oauth4webapi";
import * as z from "zod";
import { email } from "../../http/fields.ts";
import { namesOf } from "../../lib/person_names.ts";
import { SignInError } from "../provider/problems.ts";
import type { Verified } from "../provider/shape.ts";
import type { Connection } from "./connections.ts";

const Profile = z.object({ id: z.int(), name: z.unknown().optional() });

const Addresses = z.array(
	z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }),
);

/**
 * Returns who has signed in to GitHub, which has no ID tokens, with the primary address.
 * https://docs.github.com/en/rest/users
 */
export async function profileOf(
	{ GITHUB_API_URL }: Env,
	{ connection, domain_id }: Connection,
	{
		access_token,
		options,
	}: { access_token: string; options: oauth.ProtectedResourceRequestOptions },
): Promise<Verified> {
	const headers = new Headers({ accept: "application/vnd.github+json" });
	async function get<T>(path: string, shape: z.ZodType<T>) {
		const url = new URL(`${GITHUB_API_URL}${path}`);
		const response = await oauth.protectedResourceRequest(
			...([access_token, "GET", url, headers, null, options] as const),
		);
		const parsed = shape.safeParse(await response.json().catch(() => undefined));
		if (response.ok && parsed.success) return parsed.data;
		throw new SignInError("invalid_response", `GitHub answered ${response.status} to ${path}.`);
	}
	const [profile, addresses] = await Promise.all([
		get("/user", Profile),
		get("/user/emails", Addresses),
	]);
	const primary = addresses.find((each) => each.primary);
	const address = email().safeParse(primary?.email);
	if (!primary || !address.success)
		throw new SignInError("email_missing", "The GitHub account has no primary email address.");
	return {
		...{ connection, domain_id },
		subject: String(profile.id),
		email: address.data,
		is_email_verified: primary.verified,
		...namesOf({ full: profile.name }),
		has_factor: false,
		claims: { ...profile, emails: addresses },
	};
}
