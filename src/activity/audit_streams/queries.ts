import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom, removeRow } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { lastPosition } from "../../db/entries.ts";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { NO_LEASE } from "../../delivery/lease.ts";
import { orNotFound } from "../../http/errors.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { cipherOf } from "../../keys/secrets.ts";
import { now } from "../../lib/time.ts";
import { genesis } from "./chain.ts";
import { type create, toAuditStream, type update as Update } from "./shape.ts";
import { merged, removedSecrets, sealed } from "./sinks/index.ts";

/** Encrypts and decrypts the secrets of a stream's destination. */
export const streamCipher = (env: Env, id: string) => cipherOf(env, "audit_streams", id);

const columns = {
	id: auditStreams.id,
	name: auditStreams.name,
	destination: auditStreams.destination,
	enabled: auditStreams.enabled,
	sequence: auditStreams.sequence,
	digest: auditStreams.digest,
	last_file: auditStreams.last_file,
	last_delivered_at: auditStreams.last_delivered_at,
	delivered_until: auditStreams.delivered_until,
	delivered_events: auditStreams.delivered_events,
	missing_events: auditStreams.missing_events,
	latest_error: auditStreams.latest_error,
	next_attempt_at: auditStreams.next_attempt_at,
	created_at: auditStreams.created_at,
};

const select = ({ db }: Tenant) => db.select(columns).from(auditStreams);

type Row = Awaited<ReturnType<typeof select>>[number];

const ofTenant = (tenant: Tenant) => eq(auditStreams.organization_id, tenant.organization);

const byId = (tenant: Tenant, id: string) =>
	and(ofTenant(tenant), eq(auditStreams.id, id.toLowerCase()));

/** The fields of an activity log entry that identify the stream. */
export const activityOf = ({ id, name }: Pick<Row, "id" | "name">) => ({
	scope: "AuditStream" as const,
	item_id: id,
	name,
});

/** The fields of an entry about a stream's beginning or end. All members may read it. */
const lifeOf = (row: Pick<Row, "id" | "name" | "enabled" | "destination">) => ({
	...activityOf(row),
	values: { name: row.name, enabled: row.enabled, destination: row.destination.type },
});

/** Lists streams, newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	mapResults(
		await readPage(tenant, page, {
			select: () => select(tenant).$dynamic(),
			where: ofTenant(tenant),
			by: [auditStreams.id],
			keys: ({ id }) => [id],
		}),
		toAuditStream,
	);

/** Returns the stream as stored, with encrypted secrets. */
export async function read(tenant: Tenant, id: string) {
	return tenant.find(select(tenant).where(byId(tenant, id)));
}

export const find = async (tenant: Tenant, id: string) => toAuditStream(await read(tenant, id));

export async function insert(
	tenant: Tenant,
	{ from = "start", enabled = true, destination, name }: z.infer<typeof create>,
) {
	await tenant.read();
	const { db, env, organization } = tenant;
	const id = v7();
	const newest = sql`coalesce(${lastPosition({ organization, after: sql`0` })}, 0)`;
	const row = {
		id,
		name,
		enabled,
		organization_id: organization,
		organization_uuid: orNotFound(tenant.caller.organization_uuid),
		destination: await sealed(streamCipher(env, id), destination.type, destination.config ?? {}),
		position: from === "now" ? newest : 0,
		digest: genesis(id),
		next_attempt_at: enabled ? now() : null,
	};
	const answer = await tenant.write({
		checks: [assertRoom(tenant, auditStreams, ofTenant(tenant))],
		changes: [db.insert(auditStreams).values(row)],
		entries: [{ ...lifeOf(row), activity: "created", trigger: { from } }],
		answer: select(tenant).where(byId(tenant, id)),
	});
	return toAuditStream(answer);
}

/** Updates a stream. Repeats if another request has changed it in the meantime. */
export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const row = await read(tenant, id);
	const { destination, ...rest } = body;
	const set = {
		...rest,
		...(destination && {
			destination: await merged(streamCipher(tenant.env, row.id), row.destination, destination),
		}),
	};
	const { name = row.name, enabled = row.enabled } = body;
	const isRestarted =
		changes(row, { destination: set.destination, enabled: set.enabled }).length > 0;
	const removed = removedSecrets(row.destination, set.destination);
	const entry = { scope: "AuditStream" as const, name, masked: ["destination"], ...removed };
	const unchanged = and(
		byId(tenant, id),
		eq(auditStreams.destination, row.destination),
		eq(auditStreams.enabled, row.enabled),
	);
	const answer = await tenant.patch(row, set, entry, () => ({
		checks: [assertExists(tenant.db, auditStreams, unchanged)],
		changes: [
			tenant.db
				.update(auditStreams)
				.set({ ...set, ...(isRestarted && restarting(enabled)) })
				.where(byId(tenant, id)),
		],
		answer: select(tenant).where(byId(tenant, id)),
	}));
	return toAuditStream(answer);
}

/**
 * Returns the columns of a restart or a pause, which ends a delivery in progress. The next one sends
 * the whole file, as it may go to another server.
 */
const restarting = (enabled: boolean) => ({
	...NO_LEASE,
	attempts: 0,
	file: sql`json_remove(${auditStreams.file}, '$.progress')`,
	next_attempt_at: enabled ? now() : null,
});

export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	await removeRow(tenant, lifeOf(row), auditStreams, byId(tenant, id));
}
