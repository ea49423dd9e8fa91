import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { User } from "../../people/users/shape.ts";

/** The access of an app, as everyone sees it who can end it. */
const common = z.object({
	id: z.guid(),
	client_id: z.string(),
	client_name: z.string(),
	client_host: z.string().nullable(),
	audience: z.string(),
	scopes: z.array(documentAs(z.string(), z.enum(scopes))),
	created_at: timestamp(),
	last_used_at: timestamp().nullable(),
	ends_at: timestamp().nullable(),
});

/** What the caller has allowed an app (docs/oauth.md#your-apps). */
export const OauthGrant = common
	.extend({
		scoped_organizations: z.array(z.guid()),
		scoped_projects: z.array(z.int()),
	})
	.meta({ id: "OauthGrant" });

/** What a member has allowed an app (docs/oauth.md#apps-of-an-organization). */
export const OrganizationOauthGrant = common
	.extend({ user: User })
	.meta({ id: "OrganizationOauthGrant" });
