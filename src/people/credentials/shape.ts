import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { choices, explain, queryMoment, rawText, timestamp, uuid } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

export const KINDS = [
	"personal_api_key",
	"service_account_key",
	"oauth_grant",
	"trusted_issuer",
	"scim_token",
	"webhook",
] as const;

const OWNERS = ["user", "service_account", "domain", "organization"] as const;

/** What lets a program act in an organization, or speak for it (docs/audit.md#credentials). */
export const Credential = z
	.object({
		id: z.guid().describe("Its id. A webhook's secret has the id of the webhook."),
		kind: explain(z.enum(KINDS), "What it is.", {
			personal_api_key: "an API key of a member.",
			service_account_key: "an API key of a service account.",
			oauth_grant: "an app that a member gave access.",
			trusted_issuer: "an issuer whose tokens are exchanged for keys of a service account.",
			scim_token: "a token with which a provider manages the members of a domain.",
			webhook: "the secret that signs the messages of a webhook.",
		}),
		label: z
			.string()
			.describe(
				"The label of a key, the name of an app or issuer, the last four characters of a SCIM token, or the description of a webhook, otherwise its host.",
			),
		owner: z
			.object({
				kind: explain(z.enum(OWNERS), "What it belongs to.", {
					user: "a member.",
					service_account: "a service account.",
					domain: "a domain.",
					organization: "the organization.",
				}),
				id: z.guid().describe("The owner's id; of a member, the `uuid` of the user."),
				name: z.string().describe("The owner's name; empty if a member has none."),
				email: z.email().nullable().describe("A member's email address; null for others."),
			})
			.describe("Who answers for it."),
		scopes: z
			.array(documentAs(z.string(), z.enum(scopes)))
			.describe("What it may do; `*` for everything. Empty for SCIM tokens and webhooks."),
		scoped_projects: z
			.array(z.int())
			.describe(
				"The projects of the organization that it is restricted to. Empty for all that its owner can see.",
			),
		created_at: timestamp().describe("When it was created."),
		last_used_at: timestamp()
			.nullable()
			.describe(
				"When it was last used, to within an hour; of a webhook, when it last sent a message. Null if never. A key that isn't restricted to the organization may have been used in another.",
			),
		expires_at: timestamp()
			.nullable()
			.describe("When it ends; null if it has no end. An app also ends after 30 days without use."),
	})
	.meta({ id: "Credential" });

export const filters = z.object({
	kind: choices(KINDS).optional().describe("Only credentials of these kinds. May be repeated."),
	owner: uuid()
		.optional()
		.describe("Only the credentials of this member, service account, domain or organization."),
	search: rawText(200)
		.optional()
		.describe(
			"Only credentials whose label or id, or whose owner's name or email address, contains this text, in any case. At most 200 characters.",
		),
	unused_since: queryMoment()
		.optional()
		.describe("Only credentials that weren't used since this time, and were created before it."),
	expires_before: queryMoment().optional().describe("Only credentials that end before this time."),
});
