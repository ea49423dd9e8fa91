/** Removes the names and addresses of erased users from what has no index for it. */
import { and, eq, gt, lte, or, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database, Statement } from "../../db/client.ts";
import { runBatch } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { deletedRows, storedValue } from "../../db/schema/deletions.ts";
import { erasures } from "../../db/schema/erasures.ts";
import { scimRequests } from "../../db/schema/scim.ts";
import { signInStates } from "../../db/schema/sign_in.ts";

/** How many positions of the log a step reads, and how many steps an invocation takes. */
const STEP_POSITIONS = 10_000;
const MAX_STEPS = 20;

type Erasure = typeof erasures.$inferSelect;

const { position, name, changes, trigger, scope, item_id, user_id } = activityLog;

/** The fields of entries about a person that say who it is. */
const PERSONAL = ["first_name", "last_name", "email", "target_email", "message", "external_id"];

/** SQL condition: one of the texts has the address as a whole JSON string. */
const hasString = (address: string, ...columns: SQL[]) =>
	or(...columns.map((column) => sql`instr(${column}, ${JSON.stringify(address)}) > 0`));

/** SQL for JSON in which another string replaces the address. */
const replaced = (json: SQL, address: string, by: string) =>
	sql`replace(${json}, ${JSON.stringify(address)}, ${JSON.stringify(by)})`;

const [jsonOfChanges, jsonOfTrigger] = [sql`${changes}`, sql`${trigger}`];

/** SQL for the changes of an entry, with null in these fields. */
const without = (fields: string[]) => sql`(
	select json_group_array(json(iif(value ->> 'field' in (select value from json_each(${JSON.stringify(fields)})),
		json_set(value, '$.before', null, '$.after', null), value)) order by key) from json_each(${changes}))`;

/** The statements that remove an erased user from the entries between two positions. */
function clearEntries(db: Database, { uuid, addresses, ...from }: Erasure, end: number) {
	const isBetween = and(gt(position, from.position), lte(position, end));
	const after = `${uuid}@deleted.invalid`;
	const isAboutUser = and(eq(scope, "User"), eq(item_id, uuid));
	const clear = (fields: string[], isAbout: SQL | undefined) =>
		db
			.update(activityLog)
			.set({ changes: without(fields) })
			.where(and(isBetween, sql`${changes} is not null`, isAbout));
	const isSent = and(eq(scope, "Invite"), eq(user_id, from.user_id));
	const ofAddresses = addresses.flatMap((address): Statement[] => {
		const isInvite = and(eq(scope, "Invite"), hasString(address, jsonOfChanges));
		return [
			clear(PERSONAL, or(isAboutUser, eq(name, address), isInvite)),
			db
				.update(activityLog)
				.set({
					name: sql`iif(${name} = ${address}, ${after}, ${name})`,
					changes: replaced(jsonOfChanges, address, after),
					trigger: replaced(jsonOfTrigger, address, after),
				})
				.where(
					and(isBetween, or(eq(name, address), hasString(address, jsonOfChanges, jsonOfTrigger))),
				),
		];
	});
	return [clear(["message"], isSent), ...ofAddresses];
}

/** The statements that remove an erased user from everything else, which is short or short-lived. */
function clearRest(db: Database, { user_id, uuid, addresses }: Erasure): Statement[] {
	const path = `$.users."${user_id}"`;
	const has = (...columns: SQL[]) =>
		or(
			...addresses.flatMap((address) =>
				columns.map((column) => sql`instr(lower(${column}), ${address.toLowerCase()}) > 0`),
			),
		);
	const { path: requested, request, response } = scimRequests;
	return [
		db.delete(scimRequests).where(has(sql`${requested}`, sql`${request}`, sql`${response}`)),
		db.delete(deletedRows).where(
			sql`(deletion_id, "table", number) in (select deletion_id, "table", number from deletions
					join deleted_rows on deleted_rows.deletion_id = deletions.id and "table" = 'scim_users'
					where deletions.type = 'organization' and ${storedValue("scim_users", "user_id")} = ${user_id})`,
		),
		db.delete(signInStates).where(has(sql`${signInStates.data}`)),
		// Another file is planned, unless this one was written already: its digest still tells.
		db
			.update(auditStreams)
			.set({
				file: sql`json_set(file, ${`${path}.email`}, ${`${uuid}@deleted.invalid`}, ${`${path}.first_name`}, '')`,
			})
			.where(sql`json_type(${auditStreams.file}, ${path}) is not null`),
		db.delete(erasures).where(eq(erasures.user_id, user_id)),
	];
}

/** Selects the oldest erasure, and the addresses at providers that the user's entries name next. */
const selectNext = (db: Database) =>
	db
		.select({
			row: erasures,
			last: sql<number>`coalesce((select max(position) from activity_log), 0)`,
			linked: sql`(select json_group_array(e.name) from activity_log as e
				where e.position > erasures.position and e.position <= erasures.position + ${STEP_POSITIONS}
					and e.user_id = erasures.user_id and e.scope = 'Identity' and e.name is not null)`.mapWith(
				(json): string[] => JSON.parse(json),
			),
		})
		.from(erasures)
		.orderBy(erasures.created_at)
		.limit(1);

/**
 * Continues the oldest erasures, each step in a transaction of its own, so that a killed invocation
 * loses nothing.
 */
export async function clearErased({ DB }: Env) {
	const db = drizzle(DB);
	for (let step = 0; step < MAX_STEPS; step += 1) {
		const [next] = await selectNext(db);
		if (!next) return;
		const { row, last, linked } = next;
		const end = row.position + STEP_POSITIONS;
		const addresses = [...new Set([...row.addresses, ...linked])];
		await runBatch(db, {
			entries: clearEntries(db, { ...row, addresses }, end),
			progress: db
				.update(erasures)
				.set({ position: end, addresses })
				.where(eq(erasures.user_id, row.user_id)),
			rest: end >= last ? clearRest(db, { ...row, addresses }) : [],
		});
	}
}
