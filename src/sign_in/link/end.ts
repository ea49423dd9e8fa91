import { eq } from "drizzle-orm";
import type { Context } from "hono";
import { commit, retry } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { App } from "../../env.ts";
import { inCookie, isFromOwnPage } from "../../keys/cookie.ts";
import { digest } from "../../keys/keys.ts";
import { endKey } from "../../keys/rows.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import { fromOtherOrigin, removeKey } from "./key_cookie.ts";

/**
 * Signs out: ends the session in the cookie, if there is one. The key in the cookie of somebody who
 * signed in with a key stays.
 * @throws 403 unless the request is from a page of this service
 */
export async function end(c: Context<App>) {
	if (!isFromOwnPage(c)) throw fromOtherOrigin();
	const value = inCookie(c);
	if (value !== undefined) await retry(async () => remove(c, await digest(value)));
	removeKey(c);
}

async function remove(c: Context<App>, hash: string) {
	const { db } = connect(c, "first-primary");
	const [[session]] = await db.batch([sessions.selectByHash(db, hash)]);
	if (!session) return;
	const byId = eq(personalApiKeys.id, session.id);
	await commit(c.env, db, endKey(db, byId, [sessions.endEntry(session, "sign_out")]), c);
}
