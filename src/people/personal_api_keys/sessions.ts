import { and, eq, isNotNull, ne, type SQL, sql } from "drizzle-orm";
import { currentOrganization } from "../../access/visible.ts";
import { type Database, inList } from "../../db/client.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { endKeys } from "../../keys/rows.ts";

/* The keys of sessions (docs/keys.md#signing-in). */

/** The keys of the sessions of a user. */
type Sessions = {
	user_id: number | SQL<number>;
	/** The id of the key whose session stays, if it is one. */
	kept?: string;
};

/** SQL condition on `personal_api_keys`. */
export const theirs = ({ user_id, kept }: Sessions) =>
	and(
		eq(personalApiKeys.user_id, user_id),
		isNotNull(personalApiKeys.session),
		kept === undefined ? undefined : ne(personalApiKeys.id, kept),
	);

const { id, label, user_id, session, created_at, last_used_at, expires_at } = personalApiKeys;

const columns = { id, label, user_id, session, created_at, last_used_at, expires_at };

export const select = (db: Database, sessions: Sessions) =>
	db.select(columns).from(personalApiKeys).where(theirs(sessions));

/** Selects the session whose key has this hash. */
export const selectByHash = (db: Database, hash: string) =>
	db
		.select(columns)
		.from(personalApiKeys)
		.where(and(eq(personalApiKeys.hash, hash), isNotNull(personalApiKeys.session)));

/** What the log says of a session: how it was started, and when it was last used. */
export const valuesOf = ({ session, created_at, last_used_at }: SessionTimes) => ({
	method: session?.method,
	connection: session?.connection,
	created_at,
	last_used_at,
});

type SessionTimes = Pick<
	typeof personalApiKeys.$inferSelect,
	"session" | "created_at" | "last_used_at"
>;

type Session = Awaited<ReturnType<typeof selectByHash>>[number];

const deletedEntry = (session: Session) => ({
	activity: "deleted" as const,
	scope: "Session" as const,
	item_id: session.id,
	name: session.label,
});

/** Returns the log entry of a session that its user ends. */
export const endEntry = (session: Session, job: string) => ({
	...deletedEntry(session),
	values: valuesOf(session),
	user_id: session.user_id,
	organization: currentOrganization(session.user_id),
	project: null,
	trigger: { job },
});

/**
 * Returns the log entry of a session that an admin ends. It leaves out `connection`: that can be a
 * provider of another organization.
 */
export const adminEntry = (session: Session) => {
	const { connection: _, ...values } = valuesOf(session);
	return { ...deletedEntry(session), values };
};

/** SQL condition: there are no sessions besides these, which were selected. */
export const areAll = (sessions: Sessions, ids: string[]) => sql`not exists (
	select 1 from ${personalApiKeys} where ${theirs(sessions)} and not ${inList(personalApiKeys.id, ids)})`;

export const remove = (db: Database, sessions: Sessions) => endKeys(db, theirs(sessions));
