import { env } from "cloudflare:workers";
import { asc, eq, sql } from "drizzle-orm";
import { firstId, idAt } from "../../src/db/arrival_id.ts";
import { events, persons } from "../../src/db/schema/events.ts";
import { derivePersonId } from "../../src/exports/engine/sources/queried.ts";
import { db } from "./world.ts";

type Filling = {
	/**
	 * The range over which the times of the events are spread evenly, without `end`. By default, one
	 * day.
	 */
	start?: string;
	end?: string;
	/** When they arrived. By default, when they happened. */
	arrived?: string;
	/** The number of additional characters in the properties. */
	padding?: number;
};

const DAY = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"] as const;

/** The number of rows that have an id so far. */
let taken = 0;

/** Returns a new id for a row that arrives at a time. */
export function newId(team_id: number, at: string) {
	taken += 1;
	return String(BigInt(firstId(team_id, Date.parse(at))) + BigInt(taken % 2 ** 16));
}

/**
 * Inserts `n` events into a project. Event number `i` has the name `event <i % 10>` and the
 * property `i`.
 */
export async function fill(
	team_id: number,
	n: number,
	{ start = DAY[0], end = DAY[1], arrived, padding = 0 }: Filling = {},
) {
	const from = Date.parse(start);
	const arrival = arrived ? sql`${Date.parse(arrived)}` : sql`at`;
	await db.run(
		sql`insert into events
		with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ${n}),
			timed as (select i, cast(${from} + i * ${Date.parse(end) - from} / ${n} as integer) as at from n)
		select ${idAt(team_id, arrival)} + cast((i + ${taken}) % 65536 as integer), ${team_id}, randomblob(16), 'event ' || (i % 10), 'person ' || (i % 100),
			printf('00000000-0000-5000-8000-%012d', i % 100), json_object('i', i, 'padding', printf('%.*c', ${padding}, 'x')), null, '', at, ${arrival}
		from timed where ${n} > 0`,
	);
	taken += n;
}

const derived = <T extends { team_id: number; distinct_id: string; person_id: string | null }>(
	row: T,
) => ({ ...row, person_id: row.person_id ?? derivePersonId(row.team_id, row.distinct_id) });

/** A project's events as exports read them. */
export const eventsOf = async (team_id: number) => {
	const rows = await db
		.select()
		.from(events)
		.where(eq(events.team_id, team_id))
		.orderBy(asc(events.uuid));
	return rows.map(({ id: _, ...row }) => derived({ ...row, created_at: row._inserted_at }));
};

/** A project's persons as exports read them. */
export const personsOf = async (team_id: number) => {
	const rows = await db
		.select()
		.from(persons)
		.where(eq(persons.team_id, team_id))
		.orderBy(asc(persons.distinct_id));
	return rows.map(({ id: _, ...row }) => derived(row));
};

/**
 * Returns D1, and the number of rows that its statements have read and written so far. Statements
 * of sessions aren't counted.
 */
export function metered() {
	const spent = { read: 0, written: 0 };
	const add = <T>(result: D1Result<T>) => {
		spent.read += result.meta.rows_read;
		spent.written += result.meta.rows_written;
		return result;
	};
	const known = new WeakMap<object, D1PreparedStatement>();
	const wrap = (query: string, native: D1PreparedStatement): D1PreparedStatement => {
		const all = async <T>() => add(await native.all<T>());
		const wrapped = Object.assign(Object.create(native), {
			bind: (...values: unknown[]) => wrap(query, native.bind(...values)),
			all,
			run: all,
			raw: async () => {
				// `raw` doesn't return its cost, and `all` loses columns with the same name.
				const { results } = await all<object>();
				return /^\s*select\b/i.test(query) ? native.raw() : results.map(Object.values);
			},
		});
		known.set(wrapped, native);
		return wrapped;
	};
	const db: D1Database = Object.assign(Object.create(env.DB), {
		prepare: (query: string) => wrap(query, env.DB.prepare(query)),
		withSession: (start?: string) => env.DB.withSession(start),
		batch: async (statements: D1PreparedStatement[]) =>
			(await env.DB.batch(statements.map((one) => known.get(one) ?? one))).map(add),
	});
	return { spent, db };
}
