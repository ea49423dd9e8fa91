/** The attempts of a webhook, and those that requests start. */

import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { assertExists } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { envelope, type Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { type EventRow, selectEvents } from "../events/event.ts";
import { withDeliveries } from "./attempt.ts";
import { byId, entryOf } from "./queries.ts";
import { endpointOf } from "./secret.ts";
import type { filters, WebhookDelivery } from "./shape.ts";

const selectWebhook = (tenant: Tenant, id: string) =>
	tenant.db.select().from(webhooks).where(byId(tenant, id));

/** Converts an attempt to the response. */
const toResult = ({ position: _, ...shown }: Delivery): z.infer<typeof WebhookDelivery> => shown;

/** Lists attempts, newest first. */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ status, type }: z.infer<typeof filters>,
) {
	const { deliveries } = await tenant.find(selectWebhook(tenant, id));
	const matching = deliveries.filter(
		(delivery) =>
			(status === undefined || status.includes(delivery.status)) &&
			(type === undefined || delivery.type === type),
	);
	// Ids are in the order of attempts.
	const [last] = page.after?.keys ?? [];
	const rest =
		last === undefined
			? matching.slice(page.offset)
			: matching.filter((delivery) => delivery.id < String(last));
	return envelope(page, {
		rows: rest.slice(0, page.limit + 1),
		count: page.after?.count ?? matching.length,
		keys: ({ id }) => [id],
		to: toResult,
	});
}

/** Sends an event immediately, and stores the result. */
async function sendNow(
	tenant: Tenant,
	webhook: typeof webhooks.$inferSelect,
	reason: "test" | "replay",
	event: EventRow,
): Promise<z.infer<typeof WebhookDelivery>> {
	const { env, db } = tenant;
	const { attempts } = await import("./attempt.ts");
	const endpoint = endpointOf(env, webhook);
	const { delivery: made } = await attempts(env)(endpoint, event, { reason, attempt: 1 });
	const isThisWebhook = byId(tenant, webhook.id);
	const activity = reason === "test" ? "tested" : "delivery_replayed";
	const kept = await tenant.write({
		checks: [assertExists(db, webhooks, isThisWebhook)],
		changes: [
			db
				.update(webhooks)
				.set({ deliveries: withDeliveries([made]) })
				.where(isThisWebhook),
		],
		entries: [
			{ ...entryOf(activity, webhook), trigger: { event_id: event.id, status: made.status } },
		],
		answer: db.select({ deliveries: webhooks.deliveries }).from(webhooks).where(isThisWebhook),
	});
	return toResult(orNotFound(kept.deliveries.find(({ id }) => id === made.id)));
}

/** Returns an event that isn't in the feed. */
const testEvent = ({ caller }: Tenant, webhook: typeof webhooks.$inferSelect): EventRow => ({
	position: 0,
	id: v7(),
	user: null,
	is_system: true,
	...entryOf("tested", webhook),
	activity: "test",
	organization_id: caller.organization_uuid,
	project_id: null,
	changes: [],
	trigger: null,
	origin: null,
	created_at: now(),
});

/** Sends a `webhook.test` event. */
export async function test(tenant: Tenant, id: string) {
	const webhook = await tenant.find(selectWebhook(tenant, id));
	return sendNow(tenant, webhook, "test", testEvent(tenant, webhook));
}

/** Sends the event of an attempt again. Throws 400 for a test, or a deleted event. */
export async function replay(tenant: Tenant, id: string, delivery_id: string) {
	const position = sql`(select attempt.value ->> 'position' from ${webhooks}, json_each(${webhooks.deliveries}) as attempt
		where ${byId(tenant, id)} and attempt.value ->> 'id' = ${delivery_id.toLowerCase()})`;
	const [[row], [event]] = await tenant.read(
		selectWebhook(tenant, id),
		selectEvents(tenant.db).where(
			and(
				eq(activityLog.organization_id, tenant.organization),
				sql`${activityLog.position} = ${position}`,
			),
		),
	);
	const webhook = orNotFound(row);
	const { reason } = orNotFound(
		webhook.deliveries.find((delivery) => delivery.id === delivery_id.toLowerCase()),
	);
	if (reason === "test") throw invalid(null, "A test can't be replayed. Send another one.");
	if (!event) throw invalid(null, "The event is too old: it no longer exists.");
	return sendNow(tenant, webhook, "replay", event);
}
