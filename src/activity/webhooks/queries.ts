import { and, eq, getTableColumns, gte, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { removeKept } from "../../access/deletions.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes, settable } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { nextPositions, positionFrom } from "../../db/entries.ts";
import { type ActivityOf, kindsOf } from "../../db/event_types.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { NO_LEASE } from "../../delivery/lease.ts";
import { invalid } from "../../http/errors.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { type Overlap, overlapEnd } from "../../keys/overlap.ts";
import { now } from "../../lib/time.ts";
import { newSecret, sealRoutingKey, sealSecret } from "./secret.ts";
import {
	create,
	nameOf,
	PAGERDUTY_URL,
	type replay as Replay,
	type update as Update,
	type Webhook,
	type WebhookDelivery,
} from "./shape.ts";

/**
 * Converts event types for a comparison in SQL: `member.updated` → `Member.updated`, `member.*` →
 * `Member`. A type that doesn't exist remains unchanged, and matches no event.
 */
const selectorsOf = (types: string[]) =>
	types.map((type) => {
		const [kind] = kindsOf([type]);
		if (!kind) return type;
		return type.endsWith(".*") ? kind.scope : `${kind.scope}.${kind.activity}`;
	});

const { deliveries, ...columns } = getTableColumns(webhooks);

const lastDelivery = sql<z.infer<
	typeof WebhookDelivery
> | null>`json_remove(${deliveries} -> 0, '$.position')`
	.mapWith((text: string) => JSON.parse(text))
	.as("last_delivery");

const select = ({ db }: Tenant) =>
	db.select({ ...columns, last_delivery: lastDelivery }).from(webhooks);

export type Row = Awaited<ReturnType<typeof select>>[number];

/**
 * Converts a row to the response.
 * @param secret only in the response that created it
 */
function toWebhook(row: Row, secret: string | null = null): z.infer<typeof Webhook> {
	const { id, format, url, types, description, enabled, has_origin } = row;
	const { disabled_reason, failing_since } = row;
	const { last_error, next_attempt_at, missed_events, last_delivery, created_at } = row;
	const until = row.previous_secret_expires_at;
	const previous_secret_expires_at = until !== null && until > now() ? until : null;
	return {
		...{ id, format, url, types, description, enabled, has_origin, disabled_reason },
		...{ secret, previous_secret_expires_at },
		...{ failing_since, last_error, next_attempt_at, missed_events },
		...{ last_delivery, created_at },
	};
}

const ofOrganization = (tenant: Tenant) => eq(columns.organization_id, tenant.organization);

export const byId = (tenant: Tenant, id: string) =>
	and(ofOrganization(tenant), eq(columns.id, id.toLowerCase()));

/** Lists webhooks, newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	mapResults(
		await readPage(tenant, page, {
			select: () => select(tenant).$dynamic(),
			where: and(ofOrganization(tenant), viewable(tenant, "webhook", columns.id)),
			by: [columns.id],
			keys: ({ id }) => [id],
		}),
		(row) => toWebhook(row),
	);

async function read(tenant: Tenant, id: string) {
	return tenant.find(select(tenant).where(byId(tenant, id)));
}

export const find = async (tenant: Tenant, id: string) => toWebhook(await read(tenant, id));

export const entryOf = <A extends ActivityOf<"Webhook">>(
	activity: A,
	row: { id: string; url: string },
) => ({
	activity,
	scope: "Webhook" as const,
	item_id: row.id,
	name: nameOf(row),
});

/** What the log says of a webhook. Its URL may contain secrets. */
const valuesOf = (row: object) => settable(create, { ...row, url: null });

/** @throws 400 if the URL's host isn't public */
async function checkHost(tenant: Tenant, url: string) {
	const { checkPublicHost } = await import("../../outbound/reach.ts");
	const failure = await checkPublicHost(tenant.env, new URL(url).hostname);
	// If the resolver doesn't respond, the URL is accepted, since each delivery checks it again.
	if (failure && !failure.retryable) throw invalid("url", failure.error);
}

/** SQL for the last position in the feed. */
const LAST_POSITION = sql<number>`coalesce((select max(position) from activity_log), 0)`;

export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	const { url = PAGERDUTY_URL } = body;
	await tenant.read();
	await checkHost(tenant, url);
	const id = v7();
	const secret = newSecret();
	const row = await tenant.write({
		checks: [assertRoom(tenant, webhooks, ofOrganization(tenant))],
		changes: [
			tenant.db.insert(webhooks).values({
				...body,
				id,
				url,
				routing_key: await sealRoutingKey(tenant.env, id, body.routing_key),
				organization_id: tenant.organization,
				selectors: selectorsOf(body.types ?? []),
				secret: await sealSecret(tenant.env, id, secret),
				position: LAST_POSITION,
			}),
		],
		entries: [{ ...entryOf("created", { id, url }), values: valuesOf(body) }],
		// The receiver can't verify the event of the webhook's creation before it has this response.
		afterEntries: [
			tenant.db
				.update(webhooks)
				.set({ position: LAST_POSITION, next_attempt_at: null })
				.where(byId(tenant, id)),
		],
		answer: select(tenant).where(byId(tenant, id)),
	});
	return toWebhook(row, secret);
}

/**
 * Returns the columns that make the next event due at the time of the request, as its first
 * attempt. The request then starts a worker; one that is delivering stops.
 */
const restart = ({ at }: Tenant, enabled: boolean | undefined) => ({
	...NO_LEASE,
	attempts: 0,
	failing_since: null,
	last_error: null,
	disabled_reason: null,
	next_attempt_at: sql<string>`case when ${enabled ?? columns.enabled} then ${at} end`,
});

/** SQL for the position after a change of types. They don't apply to events already passed. */
const positionForTypes = sql<number>`case when ${columns.enabled} and ${columns.next_attempt_at} is null
	then ${LAST_POSITION} else ${columns.position} end`;

/** Returns the changes of a row. Deliveries restart unless only the description or `has_origin` changes. */
function changeOf(tenant: Tenant, row: Row, body: z.infer<typeof Update>) {
	const { description: _, has_origin: __, ...rest } = body;
	const retyped = changes(row, { types: body.types }).length > 0;
	return {
		...body,
		...(changes(row, rest).length > 0 && restart(tenant, body.enabled)),
		...(body.types &&
			retyped && { selectors: selectorsOf(body.types), position: positionForTypes }),
	};
}

/** Updates a webhook. Repeats if it was enabled or disabled in the meantime. */
export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const row = await read(tenant, id);
	if (body.url !== undefined && body.url !== row.url) await checkHost(tenant, body.url);
	// Otherwise, an admin could have the key that another admin entered sent to their own server.
	if (row.routing_key !== null && new URL(body.url ?? row.url).origin !== new URL(row.url).origin)
		throw invalid("url", "The routing key is for another server. Add a new webhook instead.");
	const { scope, name } = entryOf("updated", { ...row, url: body.url ?? row.url });
	const isCurrent = and(byId(tenant, row.id), eq(columns.enabled, row.enabled));
	const after = await tenant.patch(row, body, { scope, name, masked: ["url"] }, () => ({
		checks: [assertExists(tenant.db, webhooks, isCurrent)],
		changes: [
			tenant.db
				.update(webhooks)
				.set(changeOf(tenant, row, body))
				.where(byId(tenant, row.id)),
		],
		answer: select(tenant).where(byId(tenant, row.id)),
	}));
	return toWebhook(after);
}

export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	await removeKept(
		tenant,
		{
			type: "webhook",
			item_id: row.id,
			name: nameOf(row),
			values: valuesOf(row),
			shown: toWebhook(row),
		},
		{ table: webhooks, where: byId(tenant, row.id) },
	);
}

type Roll = { overlap?: Overlap | undefined };

/** Rolls the secret. Throws 400 if another request did so first. */
export const roll = (tenant: Tenant, id: string, { overlap = "24h" }: Roll) =>
	retry(() => tryRoll(tenant, id, overlap), {
		retries: 0,
		error: () => invalid(null, "The webhook was rolled or removed by another request."),
	});

async function tryRoll(tenant: Tenant, id: string, overlap: Overlap) {
	const row = await read(tenant, id);
	const secret = newSecret();
	const sealed = await sealSecret(tenant.env, row.id, secret);
	const until = overlapEnd(overlap);
	const after = await tenant.write({
		checks: [
			assertExists(tenant.db, webhooks, and(byId(tenant, row.id), eq(columns.secret, row.secret))),
		],
		changes: [
			tenant.db
				.update(webhooks)
				.set({
					...NO_LEASE,
					secret: sealed,
					previous_secret: until && row.secret,
					previous_secret_expires_at: until,
				})
				.where(byId(tenant, row.id)),
		],
		entries: [{ ...entryOf("rolled", row), trigger: { overlap } }],
		answer: select(tenant).where(byId(tenant, row.id)),
	});
	return toWebhook(after, secret);
}

/** SQL for the position before the organization's first event since a time. */
const positionBefore = ({ organization }: Tenant, since: string) => {
	const from = (of: "people" | "system") =>
		sql`coalesce(${positionFrom({ organization, of }, since)}, ${Number.MAX_SAFE_INTEGER})`;
	const first = nextPositions(
		{
			organization,
			after: sql`min(${from("people")}, ${from("system")}) - 1`,
			where: gte(activityLog.created_at, since),
		},
		1,
	);
	return sql<number>`coalesce((select position - 1 from (${first})), ${LAST_POSITION})`;
};

/** Delivers all events since a time again, and none before it. */
export async function replay(tenant: Tenant, id: string, { since }: z.infer<typeof Replay>) {
	const row = await read(tenant, id);
	const after = await tenant.write({
		checks: [assertExists(tenant.db, webhooks, byId(tenant, row.id))],
		changes: [
			tenant.db
				.update(webhooks)
				.set({
					...restart(tenant, undefined),
					position: positionBefore(tenant, since),
					missed_events: 0,
				})
				.where(byId(tenant, row.id)),
		],
		entries: [{ ...entryOf("replayed", row), trigger: { since } }],
		answer: select(tenant).where(byId(tenant, row.id)),
	});
	return toWebhook(after);
}
