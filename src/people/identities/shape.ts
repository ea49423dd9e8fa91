import * as z from "zod";
import { timestamp } from "../../http/fields.ts";

/** An account at a provider that signs the user in (docs/sign-on.md#how-people-sign-in). */
export const Identity = z
	.object({
		id: z
			.string()
			.describe(
				"The connection: `google-oauth2`, `github`, `gitlab`, or `oidc:` or `saml:` with the id of a domain.",
			),
		method: z
			.string()
			.describe(
				"The kind of the connection: `google-oauth2`, `github`, `gitlab`, `oidc` or `saml`.",
			),
		email: z
			.string()
			.describe("The email address that the provider reported when the account was linked."),
		organization_name: z
			.string()
			.nullable()
			.describe("The organization of the connection's domain; null for Google, GitHub and GitLab."),
		created_at: timestamp().describe("When the account was linked."),
		last_used_at: timestamp()
			.nullable()
			.describe("When it last signed you in after it was linked; null if never."),
	})
	.meta({ id: "Identity" });
