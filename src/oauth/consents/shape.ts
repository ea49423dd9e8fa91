import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { User } from "../../people/users/shape.ts";

/** The access of an app, as everyone sees it who can end it. */
const common = z.object({
	id: z.guid().describe("Identifies the access."),
	client_id: z
		.string()
		.describe(
			"Identifies the app: the URL of the document about it, or the id that it got when it was registered.",
		),
	client_name: z.string().describe("What the app calls itself. Anyone can choose any name."),
	client_host: z
		.string()
		.nullable()
		.describe(
			"The host of the app's document, whose owner is responsible for the app; null if there is no document.",
		),
	audience: z.string().describe("What the tokens are for: `api` or `mcp`."),
	scopes: z.array(documentAs(z.string(), z.enum(scopes))).describe("The permissions of the app."),
	created_at: timestamp().describe("When the access was given."),
	last_used_at: timestamp()
		.nullable()
		.describe("When the access was last used. Up to an hour older than the last request."),
	ends_at: timestamp()
		.nullable()
		.describe("When the access ends; null if it ends when it isn't used for 30 days."),
});

/** The access that the caller has given (docs/oauth.md#your-apps). */
export const OauthGrant = common
	.extend({
		scoped_organizations: z
			.array(z.guid())
			.describe(
				"The ids of the organizations that the app can access. An empty list means all of yours.",
			),
		scoped_projects: z
			.array(z.int())
			.describe(
				"The integer ids of the projects that the app can access. An empty list means all that you can see.",
			),
	})
	.meta({ id: "OauthGrant" });

/** The access that a member has given (docs/oauth.md#apps-of-an-organization). */
export const OrganizationOauthGrant = common
	.extend({ user: User.describe("The member who has given the access.") })
	.meta({ id: "OrganizationOauthGrant" });
