/** The attempts of a webhook, and those that requests start. */
import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { inList } from "../db/client.ts";
import { paged } from "../db/list.ts";
import { now } from "../db/now.ts";
import { activityLog } from "../db/schema/activity_log.ts";
import { users } from "../db/schema/users.ts";
import { webhookDeliveries, webhooks } from "../db/schema/webhooks.ts";
import { type EventRow, eventColumns, toEvent } from "../feed/event.ts";
import { found, invalid } from "../http/errors.ts";
import { envelope, mapResults, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { deleteOldDeliveries, insertDeliveries, toDelivery } from "./delivery_rows.ts";
import { byId, entryOf } from "./queries.ts";
import { openSecrets } from "./secret.ts";
import type { filters, WebhookDelivery } from "./shape.ts";

const columns = getTableColumns(webhookDeliveries);

const { webhook_id, number, ...shown } = columns;

const selectWebhook = (tenant: Tenant, id: string) =>
	tenant.db.select().from(webhooks).where(byId(tenant, id));

/**
 * WHERE clause: the attempt with this id. Without an index, since a webhook has at most a hundred.
 */
const delivery = (webhook: string, id: string) =>
	and(eq(webhook_id, webhook.toLowerCase()), eq(columns.id, id.toLowerCase()));

/** Lists attempts, newest first. */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ status, type }: z.infer<typeof filters>,
) {
	const rowsOf = () =>
		tenant.db
			.select({ number, ...shown })
			.from(webhookDeliveries)
			.$dynamic();
	const keys = (row: { number: number }) => [row.number];
	const [rows, [counted], [parent]] = await tenant.read(
		...paged(tenant.db, page, rowsOf, {
			where: and(
				eq(webhook_id, id.toLowerCase()),
				status && inList(columns.status, status),
				type ? eq(columns.type, type) : undefined,
			),
			by: [number],
			keys,
		}),
		tenant.db.select({ id: webhooks.id }).from(webhooks).where(byId(tenant, id)),
	);
	found(parent);
	return mapResults(
		envelope(page, rows, counted?.count ?? 0, keys),
		({ number: _, ...item }) => item,
	);
}

type Sent = {
	reason: "test" | "replay";
	activity: "tested" | "delivery_replayed";
	event: EventRow;
};

/** Sends an event immediately, and stores the result. */
async function sendNow(
	tenant: Tenant,
	webhook: typeof webhooks.$inferSelect,
	{ reason, activity, event: row }: Sent,
): Promise<z.infer<typeof WebhookDelivery>> {
	const { env, db } = tenant;
	const event = toEvent(row);
	const made = await tenant.once(async () => {
		const { attempts } = await import("./attempt.ts");
		const secrets = openSecrets(env, webhook);
		secrets.catch(() => {});
		const message = { id: event.id, payload: JSON.stringify(event) };
		const outcome = await attempts(env)({ url: webhook.url, secrets }, message);
		return toDelivery(webhook.id, { event_id: event.id, type: event.type, reason, ...outcome });
	});
	const [kept] = await tenant.write({
		entry: { ...entryOf(activity, webhook), trigger: { event_id: event.id, status: made.status } },
		change: insertDeliveries(db, webhook.id, [made]),
		after: () => [deleteOldDeliveries(db, webhook.id)],
		answer: db.select(shown).from(webhookDeliveries).where(delivery(webhook.id, made.id)),
	});
	return found(kept);
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
	created_at: now(),
});

/** Sends a `webhook.test` event. */
export async function test(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(selectWebhook(tenant, id));
	const webhook = found(row);
	const event = testEvent(tenant, webhook);
	return sendNow(tenant, webhook, { reason: "test", activity: "tested", event });
}

/**
 * Sends the event of an attempt again.
 * @throws 400 if it was a test, or the event has been deleted
 */
export async function replay(tenant: Tenant, id: string, delivery_id: string) {
	const ofAttempt = sql`(select ${columns.event_id} from ${webhookDeliveries} where ${delivery(id, delivery_id)})`;
	const [[row], [attempt], [event]] = await tenant.read(
		selectWebhook(tenant, id),
		tenant.db.select(shown).from(webhookDeliveries).where(delivery(id, delivery_id)),
		tenant.db
			.select(eventColumns)
			.from(activityLog)
			.leftJoin(users, eq(users.id, activityLog.user_id))
			.where(
				and(eq(activityLog.organization_id, tenant.organization), eq(activityLog.id, ofAttempt)),
			)
			.orderBy(desc(activityLog.position)),
	);
	const webhook = found(row);
	const { reason } = found(attempt);
	if (reason === "test") throw invalid(null, "A test can't be replayed. Send another one.");
	if (!event) throw invalid(null, "The event is older than 365 days and no longer exists.");
	return sendNow(tenant, webhook, { reason: "replay", activity: "delivery_replayed", event });
}
