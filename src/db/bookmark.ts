import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import type { App } from "../env.ts";
import { isRead } from "../http/methods.ts";
import type { Connected } from "./client.ts";

const PRIMARY = "first-primary";

/** Returns where a session starts: for a GET, a replica as recent as the bookmark. */
function startOf(c: Context<App>) {
	if (!isRead(c.req.method)) return PRIMARY;
	// If the key was just found in D1, the replica must be recent enough to have it.
	const bookmark = c.get("bookmark")?.() ?? c.req.header("x-d1-bookmark") ?? "";
	return /^[0-9a-f]+(-[0-9a-f]+)*$/.test(bookmark) ? bookmark : "first-unconstrained";
}

/**
 * Opens a D1 session for one request. It counts round trips and rows on the request's meter. Only
 * `batch` reaches the database.
 * @param start a bookmark or a constraint of D1's sessions API
 * @returns `db`, and `usePrimary`, which makes later batches use the primary, and returns whether
 * replicas were allowed before
 */
export function connect(c: Context<App>, start = startOf(c)) {
	let session = c.env.DB.withSession(start);
	c.set("bookmark", () => session.getBookmark());
	const db: Connected = drizzle({
		prepare: (query) => session.prepare(query),
		batch: async <T>(statements: D1PreparedStatement[]) => {
			const meter = c.get("meter");
			meter.d1_trips += 1;
			const results = await session.batch<T>(statements);
			for (const { meta } of results) {
				meter.d1_rows_read += meta.rows_read;
				meter.d1_rows_written += meta.rows_written;
			}
			return results;
		},
		exec: (query) => c.env.DB.exec(query),
		withSession: (constraint) => c.env.DB.withSession(constraint),
		dump: () => c.env.DB.dump(),
	});
	let isPrimary = start === PRIMARY;
	const usePrimary = () => {
		if (isPrimary) return false;
		session = c.env.DB.withSession(PRIMARY);
		isPrimary = true;
		return true;
	};
	return { db, usePrimary };
}
