import { and, lte, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { now, webhooks } from "../db/schema.ts";

/**
 * What a message of the queue `DELIVERIES` says: this webhook has events to deliver. `lease` is that
 * of the worker that sent it, which thereby ends its work.
 */
export type Wake = { webhook: string; lease?: string | undefined };

/** How long a message may take to arrive. Until then, no other is sent for the webhook. */
const MESSAGE_MS = 60_000;

/**
 * A statement that returns the webhooks of these organizations that are due and that no worker has,
 * and reserves them for the worker that a message wakes. Without the reservation, each write would
 * send a message until the first one arrives.
 */
export const reserveDue = (db: Database, organizations: SQL[]) =>
	db
		.update(webhooks)
		.set({ lease: null, leased_until: new Date(Date.now() + MESSAGE_MS).toISOString() })
		.where(
			and(
				organizations.length > 0
					? sql`${webhooks.organization_id} in (${sql.join(organizations, sql`, `)})`
					: sql`false`,
				sql`${webhooks.enabled}`,
				lte(webhooks.next_attempt_at, now()),
				or(sql`${webhooks.leased_until} is null`, lte(webhooks.leased_until, now())),
			),
		)
		.returning({ webhook: webhooks.id });

/**
 * Sends a message for each webhook. If that fails, the clock does so within a minute.
 * @param delaySeconds when it arrives, at the earliest
 */
export async function wake({ DELIVERIES }: Env, wakes: (Wake & { delaySeconds?: number })[]) {
	if (wakes.length === 0) return;
	try {
		await DELIVERIES.sendBatch(
			wakes.map(({ delaySeconds = 0, ...body }) => ({ body, delaySeconds })),
		);
	} catch (error) {
		console.error(
			JSON.stringify({ warning: "Could not wake a webhook's worker", error: String(error) }),
		);
	}
}
