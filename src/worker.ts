import { deleteExpiredKeys } from "./access/idempotency.ts";
import { app } from "./app.ts";
import { deleteOldDays } from "./keys/usage.ts";
import { logErrors } from "./lib/background.ts";

export { ExportRun } from "./exports/engine/workflow.ts";
export { Operator } from "./operator/entrypoint.ts";
export { Outbound } from "./plugins/jobs/outbound.ts";

/** A part of the schedule, which gets the time of the tick. The first tick loads its code. */
type Part = (env: Env, at: number) => Promise<unknown>;

/**
 * The parts of the schedule, by the names in the log (docs/internals/scale.md#what-one-tick-does).
 */
const EVERY_MINUTE: Record<string, Part> = {
	"old activity": async (env) =>
		(await import("./activity/activity_log/retention.ts")).deleteExpired(env),
	"events of deleted projects": async (env) =>
		(await import("./exports/ingestion/queries.ts")).deleteOrphans(env),
	"deleted objects": async (env, at) =>
		(await import("./deletions/purge.ts")).purgeDeleted(env, at),
	plugins: async (env, at) => (await import("./plugins/jobs/tasks.ts")).runDueTasks(env, at),
	"plugins to compile": async (env, at) =>
		(await import("./plugins/plugins/compile_later.ts")).compileDue(env, at),
	exports: async (env, at) => (await import("./exports/engine/schedule.ts")).runDueExports(env, at),
	"audit streams": async (env, at) =>
		(await import("./activity/audit_streams/deliver.ts")).enqueueDueStreams(env, at),
	"look-ups of domains": async (env, at) =>
		(await import("./organizations/domains/recheck.ts")).recheckDue(env, at),
	digests: async (env, at) =>
		(await import("./activity/notifications/digest.ts")).sendDueDigests(env, at),
	"keys that expire": async (env, at) =>
		(await import("./people/personal_api_keys/expiry.ts")).announceExpiring(env, at),
	"old sign-in links": async (env, at) =>
		(await import("./sign_in/link/clean.ts")).deleteOldLinks(env, at),
	"erased users": async (env) => (await import("./sign_in/erasure/clear.ts")).clearErased(env),
	webhooks: async (env, at) =>
		(await import("./activity/webhooks/deliver.ts")).enqueueDueWebhooks(env, at),
};

const EVERY_HOUR: Record<string, Part> = {
	"old use of keys": deleteOldDays,
	"old idempotency keys": deleteExpiredKeys,
	"old invite mails": async (env, at) =>
		(await import("./people/invites/clean.ts")).deleteOld(env, at),
	"signing keys": async (env, at) =>
		(await import("./keys/signing_keys.ts")).rotateSigningKeys(env, at),
	"old consents of apps": async (env, at) => (await import("./oauth/clean.ts")).deleteOld(env, at),
};

/** Runs the next plugin job. If that fails, the schedule sends another message. */
async function runJob(message: Message, env: Env) {
	const [{ isStale }, { work }] = await Promise.all([
		import("./plugins/jobs/queue.ts"),
		import("./plugins/jobs/work.ts"),
	]);
	if (!isStale(message)) await work(env);
}

/** Delivers a webhook's events, or audit streams. */
async function deliver(message: Message, env: Env) {
	const { body } = message;
	if (typeof body !== "object" || body === null || !("audit_streams" in body))
		return (await import("./activity/webhooks/deliver.ts")).deliver(env, body);
	const [{ isStale }, { deliverDue }] = await Promise.all([
		import("./plugins/jobs/queue.ts"),
		import("./activity/audit_streams/deliver.ts"),
	]);
	if (!isStale(message)) await deliverDue(env, body);
}

export default {
	fetch: app.fetch,

	async scheduled({ scheduledTime }, env) {
		const isFullHour = new Date(scheduledTime).getUTCMinutes() === 0;
		const parts = { ...EVERY_MINUTE, ...(isFullHour && EVERY_HOUR) };
		await Promise.all(
			Object.entries(parts).map(([part, run]) => logErrors(part, run(env, scheduledTime))),
		);
	},

	/**
	 * Messages are acknowledged even if their work fails, since rows say what is due and the schedule
	 * sends other messages. A delivery is acknowledged before it begins, because it may wait for a
	 * slow server.
	 */
	async queue({ messages, queue }, env, context) {
		for (const message of messages)
			if (queue.startsWith("tenantry-deliveries"))
				context.waitUntil(logErrors("delivery", deliver(message, env)));
			else await logErrors("plugin job", runJob(message, env));
	},
} satisfies ExportedHandler<Env>;
