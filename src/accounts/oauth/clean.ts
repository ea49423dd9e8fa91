import { inArray, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { deleteOlderThan } from "../../db/client.ts";
import { iso } from "../../db/now.ts";
import { oauthCodes, oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { HOUR_MS } from "../../lib/durations.ts";

/**
 * Deletes grants that no token can use any more, and codes. Used codes are kept for an hour, because
 * a second use ends the grant. Both tables are read completely: an index by time would cost a
 * written row for each refresh.
 */
export async function deleteOld({ DB }: Env, at: number) {
	const db = drizzle(DB);
	const { key_id, expires_at } = oauthRefreshTokens;
	const over = db
		.select({ key_id })
		.from(oauthRefreshTokens)
		.where(lt(expires_at, iso(at)))
		.limit(10_000);
	await db.batch([
		db.delete(personalApiKeys).where(inArray(personalApiKeys.id, over)),
		deleteOlderThan(db, oauthCodes, oauthCodes.hash, oauthCodes.expires_at, iso(at - HOUR_MS)),
	]);
}
