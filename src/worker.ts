import { deleteExpired } from "./activity_log/queries.ts";
import { app } from "./app.ts";
import { deleteOldDays } from "./auth/usage.ts";
import { deleteOrphans } from "./events/queries.ts";
import { isStale } from "./jobs/queue.ts";
import { deleteExpiredKeys } from "./tenant/idempotency.ts";

export { ExportRun } from "./exporter/workflow.ts";
export { Outbound } from "./jobs/outbound.ts";
export { Operator } from "./operator/entrypoint.ts";

export default {
	fetch: app.fetch,

	async scheduled({ scheduledTime }, env) {
		const [exports, jobs, ...others] = await Promise.all([
			import("./exporter/schedule.ts"),
			import("./jobs/tasks.ts"),
			import("./audit_streams/deliver.ts"),
			import("./domains/recheck.ts"),
			import("./notifications/digest.ts"),
			import("./personal_api_keys/expiry.ts"),
		]);
		const tasks = [
			deleteExpired(env),
			deleteOrphans(env),
			deleteExpiredKeys(env),
			deleteOldDays(env),
			jobs.tick(env, scheduledTime),
			exports.tick(env, scheduledTime),
			...others.map(({ tick }) => tick(env, scheduledTime)),
		];
		// One failure must not stop the others.
		for (const task of await Promise.allSettled(tasks))
			if (task.status === "rejected") console.error(JSON.stringify({ error: String(task.reason) }));
	},

	async queue({ messages }, env) {
		const { work } = await import("./jobs/work.ts");
		const handle = async (message: Message) => (isStale(message) ? undefined : work(env));
		for (const message of messages)
			await handle(message).then(
				() => message.ack(),
				(error: unknown) => {
					console.error(JSON.stringify({ error: String(error) }));
					message.retry({ delaySeconds: 30 });
				},
			);
	},
} satisfies ExportedHandler<Env>;
