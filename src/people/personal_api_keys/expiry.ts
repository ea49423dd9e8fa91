import { and, eq, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Database, inList } from "../../db/client.ts";
import { positionFrom } from "../../db/entries.ts";
import type { SystemKind } from "../../db/event_types.ts";
import { insertEntries } from "../../db/record.ts";
import { members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { changeKeys } from "../../keys/rows.ts";
import { DAY_MS, iso } from "../../lib/time.ts";
import { reaches } from "./reach.ts";

/** The event is written this long before a key expires. */
const NOTICE_MS = 7 * DAY_MS;

/** Keys that live shorter get no event: whoever creates them knows. */
const MIN_LIFETIME_MS = DAY_MS;

/** How many keys a tick handles. */
const BATCH_SIZE = 50;

const KIND: SystemKind = { scope: "Key", activity: "expiring" };

const { client_id, expiry_notified_for, expires_at, session } = personalApiKeys;

/** The exact condition of the partial index. */
const isUnannounced = sql`${session} is null and ${client_id} is null and ${expires_at} is not null and ${expiry_notified_for} is not ${expires_at}`;

/**
 * Writes the event `key.expiring` for keys that expire within seven days, once for each key and
 * `expires_at`, in each organization that the key can access (docs/notifications.md#events).
 */
export async function announceExpiring(env: Env, at: number) {
	const db = drizzle(env.DB);
	const due = await db
		.select()
		.from(personalApiKeys)
		.where(and(isUnannounced, lte(expires_at, iso(at + NOTICE_MS))))
		.orderBy(expires_at)
		.limit(BATCH_SIZE);
	if (due.length === 0) return;
	const isWorthwhile = ({ expires_at, created_at }: (typeof due)[number]) =>
		expires_at !== null &&
		Date.parse(expires_at) > at &&
		Date.parse(expires_at) - Date.parse(created_at) >= MIN_LIFETIME_MS;
	await announce(db, due, await selectReached(db, due.filter(isWorthwhile)), at);
}

type Key = typeof personalApiKeys.$inferSelect;

/** Selects the organizations that each key can access: its own, or its owner's. */
const selectReached = (db: Database, keys: Key[]) =>
	db
		.select({
			key_id: personalApiKeys.id,
			organization_id: members.organization_id,
			user_uuid: users.uuid,
			service_account_id: sql<string | null>`iif(${users.is_service_account}, ${users.uuid}, null)`,
		})
		.from(personalApiKeys)
		.innerJoin(users, eq(users.id, personalApiKeys.user_id))
		.innerJoin(members, eq(members.user_id, users.id))
		.where(
			and(
				inList(
					personalApiKeys.id,
					keys.map(({ id }) => id),
				),
				eq(users.is_active, true),
				reaches(members.organization_id),
			),
		);

/** Writes the events, and records in the keys that they were written. */
async function announce(
	db: Database,
	due: Key[],
	reached: Awaited<ReturnType<typeof selectReached>>,
	at: number,
) {
	const byId = new Map(due.map((key) => [key.id, key]));
	const events = reached.flatMap(({ key_id, organization_id, ...owner }) => {
		const key = byId.get(key_id);
		return key ? [{ ...eventOf(key, owner), organization_id }] : [];
	});
	const stillDue = sql`exists (select 1 from personal_api_keys as k where k.id = value ->> 'item_id'
		and k.expires_at = value ->> 'expires_at' and k.expiry_notified_for is not k.expires_at)`;
	// No second event after expires_at was changed to another time and back.
	const isNew = sql`not exists (select 1 from activity_log as told
		where told.organization_id = value ->> 'organization_id' and told.is_system
		and told.position >= ${positionFrom({ organization: sql`value ->> 'organization_id'`, of: "system" }, iso(at - NOTICE_MS))} and told.scope = 'Key' and told.activity = 'expiring'
		and told.item_id = value ->> 'item_id' and told."trigger" ->> 'expires_at' = value ->> 'expires_at')`;
	await db.batch([
		insertEntries(db, events, sql`${stillDue} and ${isNew}`),
		changeKeys(
			db,
			sql`(${personalApiKeys.id}, ${expires_at}) in (select value ->> 'id', value ->> 'expires_at'
				from json_each(${JSON.stringify(due.map(({ id, expires_at }) => ({ id, expires_at })))}))`,
			{ expiry_notified_for: expires_at },
		),
	]);
}

type Owner = { user_uuid: string; service_account_id: string | null };

const eventOf = ({ id, label, mask_value, expires_at }: Key, owner: Owner) => ({
	expires_at,
	is_system: true,
	...KIND,
	item_id: id,
	name: label,
	trigger: {
		...owner,
		mask_value,
		expires_at,
		next_step: "Give the key a later expires_at, or replace it before then.",
	},
});
