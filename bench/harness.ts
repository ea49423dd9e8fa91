/**
 * Runs in the worker, around the one that is measured. A request with the header `x-bench-delay` is counted: each round trip
 * to D1 takes so many milliseconds longer, and `x-bench-spent` in the response says what the request has cost. Other requests
 * go to the worker as they are.
 */
import type { AsyncLocalStorage } from "node:async_hooks";

/** What a request cost: JSON in `x-bench-spent`. */
export type Spent = { trips: number; read: number; written: number; kv: number };

/** A statement with its values. */
export type Statement = { sql: string; params: unknown[] };

type Environment = Record<string, unknown> & { DB?: D1Database; KEYS?: KVNamespace };

type Worker = { fetch(request: Request, env: Environment, context: ExecutionContext): unknown };

/** Answers with the statements of the last request that was counted, by round trip. */
export const TRIPS = "/bench/trips";

/** A request that is counted. `delay`: milliseconds that its trips take longer. */
type Counted = { delay: number; spent: Spent; trips: Statement[][] };

/** The request that the code is running for. */
let requests: AsyncLocalStorage<Counted> | undefined;

function current() {
	const counted = requests?.getStore();
	if (!counted) throw new Error("This isn't part of a request that is counted.");
	return counted;
}

/** A D1 that counts what each request asks of it. */
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
					// `raw` doesn't tell what it cost, and `all` loses columns of the same name. Where time counts, one of them is enough.
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

/** A KV namespace whose reads are counted. */
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
 * The bindings of requests that are counted. They are the same for all requests, as bindings are, so that what a worker keeps
 * for a database is kept here, too.
 */
let bindings: Partial<Environment> | undefined;

const watch = ({ DB, KEYS }: Environment) => ({
	...(DB && { DB: watched(DB) }),
	...(KEYS && { KEYS: counting(KEYS) }),
});

let last: Statement[][] = [];

/** The worker, whose cost a request can ask for. */
export const measured = (worker: Worker) => ({
	async fetch(request: Request, env: Environment, context: ExecutionContext) {
		const delay = request.headers.get("x-bench-delay");
		if (delay === null) return worker.fetch(request, env, context);
		if (new URL(request.url).pathname === TRIPS) return Response.json(last);
		const spent = { trips: 0, read: 0, written: 0, kv: 0 };
		last = [];
		// An import would be loaded when the isolate starts (docs/architecture.md#what-is-loaded-when).
		const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
		requests ??= new AsyncLocalStorage();
		bindings ??= watch(env);
		const counted = { delay: Number(delay), spent, trips: last };
		const response = await requests.run(counted, () =>
			worker.fetch(request, { ...env, ...bindings }, context),
		);
		if (!(response instanceof Response)) throw new Error("The worker didn't answer.");
		const answer = new Response(response.body, response);
		answer.headers.set("x-bench-spent", JSON.stringify(spent));
		return answer;
	},
});
