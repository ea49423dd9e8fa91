import { and, eq, isNotNull, ne, sql } from "drizzle-orm";
import { type Database, inList } from "../../db/client.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";

/* Ending the sessions of a user whose second factor changes (docs/keys.md#the-second-factor). */

/** The keys of the sessions of a user. */
type Sessions = {
	user_id: number;
	/** The id of the key whose session stays, if it is one. */
	kept?: string;
};

const theirs = ({ user_id, kept }: Sessions) =>
	and(
		eq(personalApiKeys.user_id, user_id),
		isNotNull(personalApiKeys.session),
		kept === undefined ? undefined : ne(personalApiKeys.id, kept),
	);

export const select = (db: Database, sessions: Sessions) =>
	db
		.select({
			id: personalApiKeys.id,
			label: personalApiKeys.label,
			hash: personalApiKeys.hash,
		})
		.from(personalApiKeys)
		.where(theirs(sessions));

/** SQL condition: there are no sessions besides these, which were selected. */
export const areAll = (sessions: Sessions, ids: string[]) => sql`not exists (
	select 1 from ${personalApiKeys} where ${theirs(sessions)} and not ${inList(personalApiKeys.id, ids)})`;

export const remove = (db: Database, sessions: Sessions) =>
	db.delete(personalApiKeys).where(theirs(sessions));
