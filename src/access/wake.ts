import { and, eq, is, SQL, sql } from "drizzle-orm";
import { CachedStatement, cacheByForm, placeholder } from "../db/cached_statements.ts";
import type { Connected, Database } from "../db/client.ts";
import { momentText } from "../db/entries.ts";
import { webhooks } from "../db/schema/webhooks.ts";
import { logWarning } from "../lib/log.ts";

/** A message of the queue `DELIVERIES`: this webhook has events to deliver. */
type DeliveryMessage = { webhook: string };

const madeDue = (db: Database, organization: SQL) =>
	db
		.select({ webhook: webhooks.id })
		.from(webhooks)
		.where(
			and(
				eq(webhooks.organization_id, organization),
				sql`${webhooks.enabled}`,
				eq(
					webhooks.next_attempt_at,
					sql`(select ${momentText} from activity_log order by position desc limit 1)`,
				),
			),
		);

const cachedMadeDue = cacheByForm(
	(db) => new CachedStatement(madeDue(db, placeholder("organization"))),
);

/**
 * Returns a statement that selects the organization's webhooks that the batch has made due: since
 * the time of the newest entry. Webhooks that were due before already have a worker, or a message
 * that starts one.
 */
export const selectWebhooksDue = (env: Env, db: Connected, organization: number | SQL | null) =>
	is(organization, SQL)
		? madeDue(db, organization)
		: cachedMadeDue(env, {}).bind(db, { organization });

/**
 * Sends a message for each delivery. If that fails, the schedule sends it within a minute.
 * @param delaySeconds the minimum delay of the message
 */
export async function enqueueDeliveries(
	{ DELIVERIES }: Env,
	deliveries: (DeliveryMessage & { delaySeconds?: number })[],
) {
	if (deliveries.length === 0) return;
	try {
		await DELIVERIES.sendBatch(
			deliveries.map(({ delaySeconds = 0, ...body }) => ({ body, delaySeconds })),
		);
	} catch (error) {
		logWarning("A webhook's worker was not started", error);
	}
}
