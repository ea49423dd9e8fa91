import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { changes as changesOf } from "../../../../db/changes.ts";
import type { Entry } from "../../../../db/record.ts";
import { domains } from "../../../../db/schema/organizations.ts";
import { isPerson, users } from "../../../../db/schema/people.ts";
import { identities } from "../../../../db/schema/sign_in.ts";
import type { App } from "../../../../env.ts";
import { orNotFound } from "../../../../http/errors.ts";
import { isThrough, selectLinks } from "../../../identities/links.ts";
import * as people from "../../people.ts";
import type { Directory } from "../directory.ts";
import { checkMatch } from "../resource.ts";
import { isVisible, type Row, select, toResource } from "./user.ts";

/** A user with all that a change needs. */
export type Found = {
	row: Row;
	state: people.State;
	/** The keys that end if the membership does. */
	keys: Awaited<ReturnType<typeof people.selectEndingKeys>>;
	/** The identities that sign the user in through the domain. */
	links: Awaited<ReturnType<typeof selectLinks>>;
	/** Whether an account has the address that the request names. */
	isTaken: boolean;
};

/** SQL condition on `identities`: an account at the provider with which one of these users signs in. */
export const isLink = ({ domain_id }: Directory, ids: SQL) =>
	and(sql`${identities.user_id} in (${ids})`, isThrough(eq(domains.id, domain_id)));

/**
 * Reads a user.
 * @param where a condition on `users`
 * @param address the `userName` in the request
 */
export async function read(directory: Directory, where: SQL, address: string, isShown = sql`true`) {
	const ids = sql`select ${users.id} from ${users} where ${where}`;
	const [[row], state, keys, links, holders] = await directory.read(
		select(directory).where(and(where, isPerson, isShown)),
		people.selectState(directory, ids),
		people.selectEndingKeys(directory, ids),
		selectLinks(directory.db, isLink(directory, ids)),
		directory.db.select({ id: users.id }).from(users).where(eq(users.email, address)),
	);
	return (
		row && {
			row,
			state: people.toState(directory, ids, state),
			keys,
			links,
			isTaken: holders.length > 0,
		}
	);
}

/** Reads a user to change, of the version that `If-Match` names. */
export async function readForChange(c: Context<App>, uuid: string, address = "") {
	const { directory } = c.var;
	const isUser = eq(users.uuid, uuid.toLowerCase());
	const found = orNotFound(await read(directory, isUser, address, isVisible(directory)));
	checkMatch(c, await toResource(directory, found.row));
	return found;
}

/** Returns the access of a user who is active or isn't. */
export const planOf = (directory: Directory, state: people.State, active: boolean) =>
	people.plan(
		directory,
		state,
		state.people.map((person) => ({ person, active, groups: person.groups })),
	);

/** The entry of changed attributes, besides the access. */
export function entriesOf(
	{ names }: people.State,
	row: Row,
	changes: ReturnType<typeof changesOf>,
): Entry[] {
	if (changes.length === 0) return [];
	const item_id = names.get(row.user_id)?.member_id ?? row.uuid;
	return [{ scope: "Member", activity: "updated", item_id, name: row.email, changes }];
}
