import { drizzle } from "drizzle-orm/d1";
import { deleteOlderThan } from "../../db/client.ts";
import { MAIL_WINDOW_MS, signInStates, signIns } from "../../db/schema/sign_in.ts";
import { iso } from "../../lib/time.ts";

/**
 * Deletes sign-in links that no longer count against the limit of mails, and expired states of
 * sign-ins, at most 10,000 of each.
 */
export async function deleteOldLinks({ DB }: Env, at: number) {
	const db = drizzle(DB);
	const { id, created_at } = signIns;
	const { hash, expires_at } = signInStates;
	await db.batch([
		deleteOlderThan(db, signIns, { id, at: created_at, before: iso(at - MAIL_WINDOW_MS) }),
		deleteOlderThan(db, signInStates, { id: hash, at: expires_at, before: iso(at) }),
	]);
}
