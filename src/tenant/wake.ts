import { and, eq, is, lte, or, SQL, sql } from "drizzle-orm";
import { CachedStatement, cacheByForm, placeholder } from "../db/cached_statements.ts";
import type { Connected, Database } from "../db/client.ts";
import { iso } from "../db/now.ts";
import { webhooks } from "../db/schema/webhooks.ts";
import { MINUTE_MS } from "../http/durations.ts";
import { logWarning } from "../log/log.ts";

/**
 * A message of the queue `DELIVERIES`: this webhook has events to deliver. `lease` is the lease of
 * the worker that sent the message, and that thereby ends its work.
 */
export type Wake = { webhook: string; lease?: string | undefined };

/**
 * How long a message may take to arrive, in milliseconds. During this time, no other message is
 * sent for the webhook.
 */
const MESSAGE_MS = MINUTE_MS;

type Times = Record<"from" | "until", string | SQL<string>>;

const reserve = (db: Database, organization: SQL, { from, until }: Times) =>
	db
		.update(webhooks)
		.set({ lease: null, leased_until: until })
		.where(
			and(
				eq(webhooks.organization_id, organization),
				sql`${webhooks.enabled}`,
				lte(webhooks.next_attempt_at, from),
				or(sql`${webhooks.leased_until} is null`, lte(webhooks.leased_until, from)),
			),
		)
		.returning({ webhook: webhooks.id });

const cachedReserve = cacheByForm((db) => {
	const times = { from: placeholder<string>("from"), until: placeholder<string>("until") };
	return new CachedStatement(reserve(db, placeholder("organization"), times));
});

/**
 * Returns a statement that selects the organization's due webhooks without a worker, and reserves
 * them for the worker that a message starts. Without the reservation, each write would send a
 * message until the first one arrives.
 * @param organization null if there is none, so nothing is due
 */
export function reserveDue(env: Env, db: Connected, organization: number | SQL | null) {
	const at = Date.now();
	const times = { from: iso(at), until: iso(at + MESSAGE_MS) };
	return is(organization, SQL)
		? reserve(db, organization, times)
		: cachedReserve(env, {}).bind(db, { organization, ...times });
}

/**
 * Sends a message for each webhook. If that fails, the schedule sends it within a minute.
 * @param delaySeconds the minimum delay of the message
 */
export async function wake({ DELIVERIES }: Env, wakes: (Wake & { delaySeconds?: number })[]) {
	if (wakes.length === 0) return;
	try {
		await DELIVERIES.sendBatch(
			wakes.map(({ delaySeconds = 0, ...body }) => ({ body, delaySeconds })),
		);
	} catch (error) {
		logWarning("A webhook's worker was not started", error);
	}
}
