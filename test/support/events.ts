import { env } from "cloudflare:workers";

type Filling = {
	/** The range over which the times of the events are spread evenly, without `end`. By default, one day. */
	start?: string;
	end?: string;
	/** The number of additional characters in the properties. */
	padding?: number;
};

const DAY = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"] as const;

/** Inserts `n` events into a project. Event number `i` has the name `event <i % 10>` and the property `i`. */
export async function fill(
	team_id: number,
	n: number,
	{ start = DAY[0], end = DAY[1], padding = 0 }: Filling = {},
) {
	const from = Date.parse(start);
	await env.DB.prepare(
		`insert into events
		with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ?2),
			timed as (select i, strftime('%Y-%m-%dT%H:%M:%fZ', (?3 + i * ?4 / ?2) / 1000.0, 'unixepoch') as at from n)
		select ?1, printf('%s-%s-4%s-8%s-%s', lower(hex(randomblob(4))), lower(hex(randomblob(2))), substr(lower(hex(randomblob(2))), 2),
				substr(lower(hex(randomblob(2))), 2), lower(hex(randomblob(6)))),
			'event ' || (i % 10), 'person ' || (i % 100), printf('00000000-0000-5000-8000-%012d', i % 100), json_object('i', i, 'padding', printf('%.*c', ?5, 'x')), null, '', at, at, at
		from timed where ?2 > 0`,
	)
		.bind(team_id, n, from, Date.parse(end) - from, padding)
		.run();
}

/** Returns D1, and the number of rows that its statements have read and written so far. Statements of sessions aren't counted. */
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
