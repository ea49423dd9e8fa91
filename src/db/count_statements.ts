/** Returns a database that counts its statements: D1 allows 1,000 per invocation. */
export function countStatements(DB: D1Database) {
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
