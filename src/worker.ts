import { prune } from "./activity_log/queries.ts";
import { app } from "./app.ts";
import { sweep } from "./events/queries.ts";
import { tick as runExports } from "./exporter/schedule.ts";
import { tick as runTasks } from "./jobs/schedule.ts";
import { fail, type Message, work } from "./jobs/work.ts";

export { ExportRun } from "./exporter/run.ts";
export { Outbound } from "./jobs/outbound.ts";
export { Operator } from "./operator/entrypoint.ts";

/** The queue of what failed too often; in an environment its name goes on: tenantry-jobs-dead-staging. */
const DEAD = "tenantry-jobs-dead";

export default {
	fetch: app.fetch,

	async scheduled({ scheduledTime }, env) {
		const duties = [
			prune(env),
			sweep(env),
			runTasks(env, scheduledTime),
			runExports(env, scheduledTime),
		];
		// One that fails keeps none of the others from its end.
		for (const duty of await Promise.allSettled(duties))
			if (duty.status === "rejected")
				console.error(JSON.stringify({ error: String(duty.reason) }));
	},

	async queue({ queue, messages }, env) {
		const handle = (id: number) =>
			queue.startsWith(DEAD)
				? fail(env, id, "The job could not be run, however often it was tried.")
				: work(env, id);
		for (const message of messages)
			await handle(message.body.id).then(
				() => message.ack(),
				(error: unknown) => {
					console.error(
						JSON.stringify({ job: message.body.id, error: String(error) }),
					);
					message.retry({ delaySeconds: 30 });
				},
			);
	},
} satisfies ExportedHandler<Env, Message>;
