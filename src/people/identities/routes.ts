import type { Context } from "hono";
import * as z from "zod";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as member from "./of_member.ts";
import * as identities from "./queries.ts";
import { Identity } from "./shape.ts";

const SECTION = {
	name: "Identities",
	description: "The accounts at providers with which people can sign in.",
	parameters: { id: z.string().min(1).describe("The connection.") },
};

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

/** docs/sign-on.md#how-people-sign-in */
export default router(SECTION)
	.get(
		"/",
		paginated(Identity, {
			id: "listIdentities",
			summary: "List your accounts at providers",
			description: "Lists the accounts that sign you in, by connection.",
		}),
		async (c) => c.json(await identities.list(c.var.tenant, uuid(c), page(c))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteIdentity",
			summary: "Remove an account at a provider",
			description:
				"The account no longer signs you in, and the sessions that it started end. If your domain still signs people in through the provider, your next sign-in there links an account again.",
		}),
		async (c) => {
			await identities.remove(c.var.tenant, uuid(c), c.req.param("id"));
			return c.body(null, 204);
		},
	);

const memberUuid = (c: Context<App>) => c.req.param("user__uuid") ?? "";

/** docs/sign-on.md#unlinking */
export const ofMember = router(SECTION)
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(Identity, {
			id: "listMemberIdentities",
			summary: "List the accounts of a member at providers",
			description:
				"Lists the accounts that sign a member in through the domains of the organization: at the provider of a domain and, if the member's address is in a verified domain, at Google, GitHub and GitLab. This also works for people who are no longer members. Requires level 8.",
		}),
		async (c) => c.json(await member.list(c.var.tenant, memberUuid(c), page(c))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteMemberIdentity",
			summary: "Unlink an account of a member at a provider",
			description:
				"The account no longer signs the member in, and the sessions that it started end. The member gets a mail. The next sign-in through the provider links an account again, for example that of somebody who was hired again. Requires level 8, and at least the member's level.",
		}),
		async (c) => {
			await member.remove(c.var.tenant, memberUuid(c), c.req.param("id"));
			return c.body(null, 204);
		},
	);
