import { deleteExpiredKeys } from "./access/idempotency.ts";
import { app } from "./app.ts";
import { deleteOldDays } from "./auth/usage.ts";
import { logErrors } from "./lib/background.ts";
import { logError } from "./lib/log.ts";

export { ExportRun } from "./exports/engine/workflow.ts";
export { Operator } from "./operator/entrypoint.ts";
export { Outbound } from "./plugins/jobs/outbound.ts";

async function runJob(message: Message, env: Env) {
	const [{ isStale }, { work }] = await Promise.all([
		import("./plugins/jobs/queue.ts"),
		import("./plugins/jobs/work.ts"),
	]);
	const run = isStale(message) ? Promise.resolve() : work(env);
	await run.then(
		() => message.ack(),
		(error: unknown) => {
			logError("plugin job", error);
			message.retry({ delaySeconds: 30 });
		},
	);
}

/**
 * Starts a delivery of a webhook's events or of audit streams. The message is acknowledged immediately: if this worker is killed,
 * the schedule sends another message.
 */
function startDelivery(message: Message, env: Env, context: ExecutionContext) {
	message.ack();
	const { body } = message;
	const isAboutStreams = typeof body === "object" && body !== null && "audit_streams" in body;
	const run = async () => {
		if (!isAboutStreams) return (await import("./activity/webhooks/deliver.ts")).deliver(env, body);
		const [{ isStale }, { deliverDue }] = await Promise.all([
			import("./plugins/jobs/queue.ts"),
			import("./activity/audit_streams/deliver.ts"),
		]);
		if (!isStale(message)) await deliverDue(env, body);
	};
	const part = isAboutStreams ? "audit streams" : "delivery of a webhook";
	context.waitUntil(logErrors(part, run()));
}

export default {
	fetch: app.fetch,

	async scheduled({ scheduledTime }, env) {
		const [
			activityLog,
			events,
			exports,
			jobs,
			sources,
			streams,
			domains,
			digests,
			keys,
			invites,
			links,
			webhooks,
		] = await Promise.all([
			import("./activity/activity_log/retention.ts"),
			import("./exports/ingestion/queries.ts"),
			import("./exports/engine/schedule.ts"),
			import("./plugins/jobs/tasks.ts"),
			import("./plugins/plugins/compile_later.ts"),
			import("./activity/audit_streams/schedule.ts"),
			import("./accounts/domains/recheck.ts"),
			import("./activity/notifications/digest.ts"),
			import("./accounts/personal_api_keys/expiry.ts"),
			import("./accounts/invites/clean.ts"),
			import("./accounts/sign_in/clean.ts"),
			import("./activity/webhooks/schedule.ts"),
		]);
		const parts = {
			"old activity": activityLog.deleteExpired(env),
			"events of deleted projects": events.deleteOrphans(env),
			"old use of keys": deleteOldDays(env, scheduledTime),
			plugins: jobs.tick(env, scheduledTime),
			"plugins to compile": sources.tick(env, scheduledTime),
			exports: exports.tick(env, scheduledTime),
			"audit streams": streams.tick(env, scheduledTime),
			"look-ups of domains": domains.tick(env, scheduledTime),
			digests: digests.tick(env, scheduledTime),
			"keys that expire": keys.tick(env, scheduledTime),
			"old sign-in links": links.tick(env, scheduledTime),
			webhooks: webhooks.tick(env, scheduledTime),
			...(new Date(scheduledTime).getUTCMinutes() === 0 && {
				"old idempotency keys": deleteExpiredKeys(env),
				"old invite mails": invites.deleteOld(env, scheduledTime),
			}),
		};
		await Promise.all(Object.entries(parts).map(([part, work]) => logErrors(part, work)));
	},

	async queue({ messages, queue }, env, context) {
		for (const message of messages)
			if (queue.startsWith("tenantry-deliveries")) startDelivery(message, env, context);
			else await runJob(message, env);
	},
} satisfies ExportedHandler<Env>;
