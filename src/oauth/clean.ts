import { and, eq, inArray, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { deleteOlderThan } from "../db/client.ts";
import {
	oauthCodes,
	oauthDeviceRequests,
	oauthRefreshTokens,
	trustedIssuers,
} from "../db/schema/oauth.ts";
import { serviceAccounts } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { endKeys } from "../keys/rows.ts";
import { HOUR_MS, iso } from "../lib/time.ts";

/**
 * Deletes consents that no token can use any more, expired keys of trusted issuers, codes, and requests
 * of devices. Used codes are kept for an hour, because a second use ends the consent. The tables are
 * read completely: an index by time would cost a written row for each refresh.
 */
export async function deleteOld({ DB }: Env, at: number) {
	const db = drizzle(DB);
	const { key_id, expires_at } = oauthRefreshTokens;
	const over = db
		.select({ key_id })
		.from(oauthRefreshTokens)
		.where(lt(expires_at, iso(at)))
		.limit(10_000);
	const expired = db
		.select({ id: personalApiKeys.id })
		.from(trustedIssuers)
		.crossJoin(serviceAccounts)
		.crossJoin(personalApiKeys)
		.where(
			and(
				eq(serviceAccounts.organization_id, trustedIssuers.organization_id),
				eq(serviceAccounts.id, trustedIssuers.service_account_id),
				eq(personalApiKeys.user_id, serviceAccounts.user_id),
				eq(personalApiKeys.client_id, trustedIssuers.id),
				lt(personalApiKeys.expires_at, iso(at)),
			),
		)
		.limit(10_000);
	const codes = oauthCodes;
	const devices = oauthDeviceRequests;
	const before = iso(at - HOUR_MS);
	await db.batch([
		endKeys(db, inArray(personalApiKeys.id, over)),
		endKeys(db, inArray(personalApiKeys.id, expired)),
		deleteOlderThan(db, codes, { id: codes.hash, at: codes.expires_at, before }),
		deleteOlderThan(db, devices, { id: devices.user_code_hash, at: devices.expires_at, before }),
	]);
}
