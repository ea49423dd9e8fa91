import { prune } from "./activity_log/queries.ts";
import { app } from "./app.ts";

export default {
	fetch: app.fetch,
	async scheduled(_, env) {
		await prune(env);
	},
} satisfies ExportedHandler<Env>;
