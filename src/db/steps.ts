/*
 * What one tick of the schedule does, piece by piece. A piece that fails is logged, and stops no other: what it leaves is due
 * at the next tick.
 */

/** Waits for a piece of work that may fail. */
export const logged = (work: Promise<unknown>) =>
	work.catch((error: unknown) => console.error(JSON.stringify({ error: String(error) })));

/** Calls `work` for one item after another. */
export async function forEach<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>) {
	for (const item of items) await logged(work(item));
}

/** Runs one step after another. */
export const inTurn = (...steps: (() => Promise<unknown>)[]) => forEach(steps, (step) => step());

/** A database that counts the statements that are prepared: D1 allows 1,000 in an invocation. */
export function counted(DB: D1Database) {
	let statements = 0;
	const db: D1Database = {
		prepare: (query) => {
			statements += 1;
			return DB.prepare(query);
		},
		batch: (batch) => DB.batch(batch),
		exec: (query) => DB.exec(query),
		withSession: (constraint) => DB.withSession(constraint),
		dump: () => DB.dump(),
	};
	return { DB: db, statements: () => statements };
}
