import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { arrivalOf, nextId } from "../../db/arrival_id.ts";
import { events, persons } from "../../db/schema/events.ts";
import { projects } from "../../db/schema/organizations.ts";
import { grouped } from "../../lib/groups.ts";
import type { events as Events } from "./shape.ts";

/** D1 accepts values of at most 2,000,000 bytes, more than a request's largest row. */
const MAX_LIST_BYTES = 1_900_000;

/** A person's properties are also a single value, and grow with each event. */
const MAX_PERSON_BYTES = 2 ** 19;

/** Joins rows of JSON into as few JSON lists as D1's limit allows. */
const lists = (rows: Iterable<string>) =>
	grouped(rows, MAX_LIST_BYTES, (row) => Buffer.byteLength(row) + 1).map((part) => `[${part}]`);

type Event = z.infer<typeof Events>[number];

const rowOf = (uuid: string, event: Event) =>
	JSON.stringify([
		uuid,
		event.event,
		event.distinct_id,
		event.person_id ?? null,
		event.properties ?? {},
		event.person_properties ?? null,
		event.elements_chain ?? "",
		event.timestamp === undefined ? null : Date.parse(event.timestamp),
	]);

/** The values that `upsertPersons` reads; empty if the event has no data about a person. */
function personUpdateOf(uuid: string, event: Event) {
	const { distinct_id, person_id = null, person_properties = null } = event;
	if (person_id === null && person_properties === null) return [];
	return [JSON.stringify([uuid, distinct_id, person_id, person_properties])];
}

/**
 * Stores the events and updates the persons, in one batch. Events with an existing `uuid` are
 * ignored, and don't update their persons again.
 * @returns the number of events in the request
 */
export async function insert(tenant: Tenant, body: Event[]) {
	await tenant.read();
	const team_id = tenant.caller.project_id ?? 0;
	const rows = new Map<string, string>();
	const updates: string[] = [];
	for (const event of body) {
		const { uuid = v7() } = event;
		if (rows.has(uuid)) continue;
		rows.set(uuid, rowOf(uuid, event));
		updates.push(...personUpdateOf(uuid, event));
	}
	const changes = [
		...lists(updates).map((list) => upsertPersons(tenant, team_id, list)),
		...lists(rows.values()).map((list) => insertEvents(tenant, team_id, list)),
	];
	if (changes.length > 0) await tenant.write({ changes });
	return body.length;
}

/** Stores events, after their persons, whose `person_id` they get if they have none. */
const insertEvents = ({ db, project }: Tenant, team_id: number, list: string) =>
	db
		.insert(events)
		.select(sql`
			with placed as (
				select first + key as id, value from (select ${nextId(events, team_id)} as first) cross join json_each(${list})
			), arrived as (
				select *, ${arrivalOf(sql`id`)} as at from placed
			)
			select id, ${project}, unhex(value ->> 0, '-'), value ->> 1, value ->> 2, coalesce(value ->> 3, (
				select person_id from persons where team_id = ${project} and distinct_id = value ->> 2
			)), value ->> 4, value ->> 5, value ->> 6, coalesce(value ->> 7, at), at
			from arrived where true`)
		.onConflictDoNothing({ target: [events.team_id, events.uuid] });

/** SQL for the JSON of a row of `json_each`, which converts booleans and loses digits. */
const json = (row: string, document: string) =>
	sql.raw(`case
		when ${row}.type in ('true', 'false') then ${row}.type
		when ${row}.type in ('integer', 'real') then coalesce(${document} -> ${row}.fullkey, json_quote(${row}.value))
		else json_quote(${row}.value) end`);

/**
 * Merges the person properties of new events into the persons, key by key. The last value of a key
 * wins, even if it is null. SQLite's json_patch is different: it removes keys whose value is null,
 * and merges nested objects.
 */
const upsertPersons = ({ db, project }: Tenant, team_id: number, list: string) =>
	db
		.insert(persons)
		.select(sql`
			with sent as (
				select key as position, value ->> 1 as distinct_id, value ->> 2 as person_id, value ->> 3 as properties
				from json_each(${list})
				where not exists (select 1 from events where team_id = ${project} and uuid = unhex(value ->> 0, '-'))
			), who as (
				select distinct_id, person_id, max(iif(person_id is null, -1, position)) from sent group by distinct_id
			), pairs as (
				select distinct_id, new.key, ${json("new", "sent.properties")} as value, position from sent, json_each(sent.properties) as new
				union all
				select distinct_id, old.key, ${json("old", "persons.properties")}, -1
				from who join persons using (distinct_id), json_each(persons.properties) as old where team_id = ${project}
			), latest as (
				select distinct_id, key, value, max(position) from pairs group by distinct_id, key
			), merged as (
				select distinct_id, json_group_object(key, json(value)) as properties from latest group by distinct_id
			), placed as (
				select row_number() over () - 1 + ${nextId(persons, team_id)} as id, distinct_id, person_id from who
			), arrived as (
				select *, ${arrivalOf(sql`id`)} as at from placed
			)
			select arrived.id, ${project}, arrived.distinct_id, coalesce(arrived.person_id, persons.person_id),
				iif(octet_length(merged.properties) <= ${MAX_PERSON_BYTES}, merged.properties, coalesce(persons.properties, '{}')),
				1, at, at
			from arrived left join merged using (distinct_id)
				left join persons on persons.team_id = ${project} and persons.distinct_id = arrived.distinct_id
			where true`)
		.onConflictDoUpdate({
			target: [persons.team_id, persons.distinct_id],
			set: {
				id: sql`excluded.id`,
				person_id: sql`excluded.person_id`,
				properties: sql`excluded.properties`,
				person_version: sql`${persons.person_version} + 1`,
				_inserted_at: sql`excluded._inserted_at`,
			},
		});

const SWEEP_BATCH_SIZE = 5000;

/**
 * Deletes rows of deleted projects that can't be restored. To find them, it reads one row for each
 * project.
 */
export async function deleteOrphans({ DB }: Env) {
	const db = drizzle(DB);
	const orphans = (table: SQLiteTable) => sql`
		with recursive teams (id) as (
			select min(team_id) from ${table}
			union all
			select (select min(team_id) from ${table} where team_id > teams.id) from teams where teams.id is not null
		)
		select id from teams where id is not null and not exists (select 1 from ${projects} where ${projects.id} = teams.id)
			and id not in (select value from deletions, json_each(deletions.projects) where projects is not null)`;
	const clear = (table: SQLiteTable) =>
		db
			.delete(table)
			.where(
				sql`rowid in (select rowid from ${table} where team_id in (${orphans(table)}) limit ${SWEEP_BATCH_SIZE})`,
			);
	await db.batch([clear(events), clear(persons)]);
}
