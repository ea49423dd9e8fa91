import { deleteExpired } from "./activity_log/queries.ts";
import { app } from "./app.ts";
import { deleteOrphans } from "./events/queries.ts";
import { tick as runExports } from "./exporter/schedule.ts";
import { isStale } from "./jobs/queue.ts";
import { tick as runTasks } from "./jobs/tasks.ts";
import { work } from "./jobs/work.ts";
import { deleteExpiredKeys } from "./tenant/idempotency.ts";

export { ExportRun } from "./exporter/run.ts";
export { Outbound } from "./jobs/outbound.ts";
export { Operator } from "./operator/entrypoint.ts";

export default {
	fetch: app.fetch,

	async scheduled({ scheduledTime }, env) {
		const tasks = [
			deleteExpired(env),
			deleteOrphans(env),
			deleteExpiredKeys(env),
			runTasks(env, scheduledTime),
			runExports(env, scheduledTime),
		];
		// One failure must not stop the others.
		for (const task of await Promise.allSettled(tasks))
			if (task.status === "rejected") console.error(JSON.stringify({ error: String(task.reason) }));
	},

	async queue({ messages }, env) {
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
