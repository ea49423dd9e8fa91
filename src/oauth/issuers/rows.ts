import { and, eq, exists, type SQL } from "drizzle-orm";
import type { Connected } from "../../db/client.ts";
import { trustedIssuers } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { ACCESS_TOKEN, digest, isWellFormed } from "../../keys/keys.ts";
import { endKeys } from "../../keys/rows.ts";

/** The columns that decide which tokens are exchanged, and for which access. */
export const RULES = [
	"issuer",
	"audience",
	"subject",
	"claims",
	"scopes",
	"scoped_projects",
] as const;

/** WHERE clause: the keys that tokens of a trusted issuer were exchanged for. */
export const isKeyOf = (user_id: number | SQL<number>, id: string) =>
	and(eq(personalApiKeys.user_id, user_id), eq(personalApiKeys.client_id, id));

/** Ends the key that was given in exchange for a token. Other tokens stay as they are. */
export async function endGiven(db: Connected, value: string) {
	if (!isWellFormed(value, ACCESS_TOKEN)) return;
	const hash = await digest(value);
	const isGiven = exists(
		db.select().from(trustedIssuers).where(eq(trustedIssuers.id, personalApiKeys.client_id)),
	);
	await db.batch([endKeys(db, and(eq(personalApiKeys.hash, hash), isGiven))]);
}
