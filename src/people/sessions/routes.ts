import type { Context } from "hono";
import * as z from "zod";
import { revokes } from "../../access/receipts.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as sessions from "./queries.ts";
import { Session } from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

/** docs/keys.md#your-sessions */
export default router({
	name: "Sessions",
	description:
		"Where you are signed in to the console. API keys, also one that you signed in with, are no sessions.",
	parameters: { id: z.guid().describe("The session's id.") },
})
	.get(
		"/",
		paginated(Session, {
			id: "listSessions",
			summary: "List your sessions",
			description: "Lists your sessions that haven't expired, newest first.",
		}),
		async (c) => c.json(await sessions.list(c.var.tenant, uuid(c), page(c))),
	)
	.post(
		"/end_others",
		noContent({
			id: "endOtherSessions",
			summary: "End your other sessions",
			description:
				"Ends all your sessions but the one of this request. With an API key, all your sessions end.",
		}),
		async (c) => {
			await sessions.removeOthers(c.var.tenant, uuid(c));
			return c.body(null, 204);
		},
	)
	.delete(
		"/:id",
		revokes({
			id: "endSession",
			summary: "End a session",
			description: "The next request of the session is rejected. It can be the current session.",
		}),
		async (c) => {
			await sessions.remove(c.var.tenant, uuid(c), c.req.param("id"));
			return c.body(null, 204);
		},
	);
