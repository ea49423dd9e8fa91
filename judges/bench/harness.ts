/**
 * Wraps a worker to measure it. If a request has the header `x-bench-delay`, its cost is counted:
 * each round trip to D1 is delayed by this many milliseconds, and the response has the cost in the
 * header `x-bench-spent`. Other requests are passed on unchanged.
 */
import type { AsyncLocalStorage } from "node:async_hooks";

/** The cost of a request: JSON in `x-bench-spent`. */
export type Spent = { trips: number; read: number; written: number; kv: number };

/** A statement with its values. */
export type Statement = { sql: string; params: unknown[] };

type Environment = Record<string, unknown> & { DB?: D1Database; KEYS?: KVNamespace };

type Worker = { fetch(request: Request, env: Environment, context: ExecutionContext): unknown };

/** The path that returns the statements of the last counted request, by round trip. */
export const TRIPS = "/bench/trips";

/** A counted request. `delay` is the delay of its round trips, in milliseconds. */
type Counted = { delay: number; spent: Spent; trips: Statement[][] };

/** The current request of the running code. */
let requests: AsyncLocalStorage<Counted> | undefined;

function current() {
	const counted = requests?.getStore();
	if (!counted) throw new Error("This code isn't part of a counted request.");
	return counted;
}

/** Wraps a D1 database so that the round trips and rows of each request are counted. */
function watched(database: D1Database): D1Database {
	const known = new WeakMap<object, Statement & { native: D1PreparedStatement }>();

	async function trip<T>(statements: Statement[], run: () => Promise<T>) {
		const { delay, spent, trips } = current();
		spent.trips += 1;
		trips.push(statements.map(({ sql, params }) => ({ sql, params })));
		if (delay > 0) await scheduler.wait(delay);
		return run();
	}

	function count<T>(result: D1Result<T>) {
		const { spent } = current();
		spent.read += result.meta.rows_read;
		spent.written += result.meta.rows_written;
		return result;
	}

	function statement(
		sql: string,
		native: D1PreparedStatement,
		params: unknown[] = [],
	): D1PreparedStatement {
		const itself = { sql, params, native };
		const all = <T>() => trip([itself], async () => count(await native.all<T>()));
		const wrapped = Object.assign(Object.create(native), {
			bind: (...values: unknown[]) => statement(sql, native.bind(...values), values),
			all,
			run: all,
			async first(column?: string) {
				const [row] = (await all<Record<string, unknown>>()).results;
				return (column === undefined ? row : row?.[column]) ?? null;
			},
			raw: (options?: { columnNames: false }) =>
				trip([itself], async () => {
					// `raw` doesn't return its cost, and `all` loses columns of the same name. If time is
					// measured, only `raw` runs.
					if (current().delay > 0) return native.raw(options);
					const { results } = count(await native.all<object>());
					return /^\s*select\b/i.test(sql)
						? native.raw(options)
						: results.map((row) => Object.values(row));
				}),
		});
		known.set(wrapped, itself);
		return wrapped;
	}

	const over = (db: D1Database | D1DatabaseSession) => ({
		prepare: (sql: string) => statement(sql, db.prepare(sql)),
		batch(statements: D1PreparedStatement[]) {
			const all = statements.flatMap((each) => known.get(each) ?? []);
			return trip(all, async () => {
				const results = await db.batch(all.map(({ native }) => native));
				return results.map((result) => count(result));
			});
		},
	});
	return Object.assign(Object.create(database), {
		...over(database),
		withSession(start?: string) {
			const session = database.withSession(start);
			return { ...over(session), getBookmark: () => session.getBookmark() };
		},
	});
}

/** Wraps a KV namespace so that its reads are counted. */
const counting = (namespace: KVNamespace): KVNamespace =>
	Object.assign(Object.create(namespace), {
		get(...words: Parameters<KVNamespace["get"]>) {
			current().spent.kv += 1;
			return namespace.get(...words);
		},
		put: (...words: Parameters<KVNamespace["put"]>) => namespace.put(...words),
		delete: (key: string) => namespace.delete(key),
	});

/**
 * The bindings of counted requests. Like real bindings, they are the same objects in all requests,
 * because workers cache data per database object.
 */
let bindings: Partial<Environment> | undefined;

const watch = ({ DB, KEYS }: Environment) => ({
	...(DB && { DB: watched(DB) }),
	...(KEYS && { KEYS: counting(KEYS) }),
});

let last: Statement[][] = [];

/** Wraps a worker so that requests can be counted. */
export const measured = (worker: Worker) => ({
	async fetch(request: Request, env: Environment, context: ExecutionContext) {
		const delay = request.headers.get("x-bench-delay");
		if (delay === null) return worker.fetch(request, env, context);
		if (new URL(request.url).pathname === TRIPS) return Response.json(last);
		const spent = { trips: 0, read: 0, written: 0, kv: 0 };
		last = [];
		// An import would be loaded when the isolate starts
		// (docs/internals/architecture.md#what-is-loaded-when).
		const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
		requests ??= new AsyncLocalStorage();
		bindings ??= watch(env);
		const counted = { delay: Number(delay), spent, trips: last };
		const response = await requests.run(counted, () =>
			worker.fetch(request, { ...env, ...bindings }, context),
		);
		if (!(response instanceof Response)) throw new Error("The worker returned no response.");
		const answer = new Response(response.body, response);
		answer.headers.set("x-bench-spent", JSON.stringify(spent));
		return answer;
	},
});
