import { and, eq, is, lte, or, SQL, sql } from "drizzle-orm";
import type { Connected, Database } from "../db/client.ts";
import { Kept, keepByForm, placeholder } from "../db/kept.ts";
import { webhooks } from "../db/schema/webhooks.ts";

/**
 * What a message of the queue `DELIVERIES` says: this webhook has events to deliver. `lease` is that
 * of the worker that sent it, which thereby ends its work.
 */
export type Wake = { webhook: string; lease?: string | undefined };

/** How long a message may take to arrive. Until then, no other is sent for the webhook. */
const MESSAGE_MS = 60_000;

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

const kept = keepByForm((db) => {
	const times = { from: placeholder<string>("from"), until: placeholder<string>("until") };
	return new Kept(reserve(db, placeholder("organization"), times));
});

/**
 * A statement that returns the webhooks of the organization that are due and that no worker has,
 * and reserves them for the worker that a message wakes. Without the reservation, each write would
 * send a message until the first one arrives.
 * @param organization null: there is none, so nothing is due
 */
export function reserveDue(env: Env, db: Connected, organization: string | SQL | null) {
	const at = Date.now();
	const times = {
		from: new Date(at).toISOString(),
		until: new Date(at + MESSAGE_MS).toISOString(),
	};
	return is(organization, SQL)
		? reserve(db, organization, times)
		: kept(env, {}).bind(db, { organization, ...times });
}

/**
 * Sends a message for each webhook. If that fails, the schedule does so within a minute.
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
