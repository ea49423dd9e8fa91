import { ok, router } from "../../http/router.ts";
import * as attention from "./queries.ts";
import { Attention } from "./shape.ts";

/** docs/notifications.md#what-needs-attention */
export default router({
	name: "Attention",
	description: "What doesn't work in an organization, or soon won't.",
}).get(
	"/",
	ok(Attention, {
		id: "getAttention",
		summary: "List what needs attention",
		description:
			"Exports with windows that weren't delivered, paused exports, failing plugin configs, and your keys that expire within seven days; for admins also audit streams, webhooks, keys of service accounts and domains. Leaves out what the key has no scope to read.",
	}),
	async (c) => c.json(await attention.list(c.var.tenant)),
);
