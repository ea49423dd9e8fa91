import { and, eq, isNotNull } from "drizzle-orm";
import type { Context } from "hono";
import { retry } from "../../access/retry.ts";
import { commit } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { inCookie, isFromOwnPage } from "../../auth/cookie.ts";
import { digest, evict } from "../../auth/keys.ts";
import { assertExists } from "../../db/assertion.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { connect } from "../../db/session.ts";
import type { App } from "../../env.ts";
import { fromOtherOrigin, removeKey } from "./cookie.ts";

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
	const isSession = and(eq(personalApiKeys.hash, hash), isNotNull(personalApiKeys.session));
	const { id, label, user_id } = personalApiKeys;
	const [[session]] = await db.batch([
		db.select({ id, label, user_id }).from(personalApiKeys).where(isSession),
	]);
	if (!session) return;
	const entry = {
		activity: "deleted" as const,
		scope: "Session" as const,
		item_id: session.id,
		name: session.label,
		user_id: session.user_id,
		organization: currentOrganization(session.user_id),
		project: null,
		trigger: { job: "sign_out" },
	};
	const write = {
		checks: [assertExists(db, personalApiKeys, isSession)],
		changes: [db.delete(personalApiKeys).where(isSession)],
		entries: [entry],
	};
	await commit(c.env, db, write, c);
	await evict(c.env, hash);
}
