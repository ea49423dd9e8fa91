import { env } from "cloudflare:workers";

type Filling = {
	/**
	 * The range over which the times of the events are spread evenly; `end` is excluded. By default
	 * one day.
	 */
	start?: string;
	end?: string;
	/** The number of additional characters in the properties. */
	padding?: number;
};

const DAY = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"] as const;

/**
 * Inserts `n` events into a project. Event number `i` is named `event <i % 10>` and has the
 * property `i`.
 */
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
			'event ' || (i % 10), 'person ' || (i % 100), null, json_object('i', i, 'padding', printf('%.*c', ?5, 'x')), null, '', at, at, at
		from timed where ?2 > 0`,
	)
		.bind(team_id, n, from, Date.parse(end) - from, padding)
		.run();
}

/** D1, with a count of the rows that its queries read. */
export function metered() {
	const spent = { rows: 0 };
	const prepare = (query: string) => {
		const bind = (...values: unknown[]) => {
			const bound = env.DB.prepare(query).bind(...values);
			const raw = async () => {
				spent.rows += (await bound.run()).meta.rows_read;
				return bound.raw();
			};
			return Object.assign(Object.create(bound), { raw });
		};
		return Object.assign(Object.create(env.DB.prepare(query)), { bind });
	};
	const batch = async (statements: D1PreparedStatement[]) => {
		const results = await env.DB.batch(statements);
		for (const { meta } of results) spent.rows += meta.rows_read;
		return results;
	};
	const db: D1Database = Object.assign(Object.create(env.DB), {
		prepare,
		batch,
	});
	return { spent, db };
}
