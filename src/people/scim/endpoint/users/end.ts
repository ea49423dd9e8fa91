import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { OWNER } from "../../../../db/schema/levels.ts";
import { scimGroupMembers, scimUsers } from "../../../../db/schema/scim.ts";
import type { App } from "../../../../env.ts";
import { unlinking } from "../../../identities/links.ts";
import { identityUnlinked, mailChange, providerOfDomain } from "../../../users/mails.ts";
import { ScimError } from "../../errors.ts";
import * as people from "../../people.ts";
import { untilWritten } from "../resource.ts";
import { entriesOf, type Found, isLink, planOf, readForChange } from "./found.ts";
import * as leavingOwner from "./leaving_owner.ts";

/** Returns what ends with a membership, besides it. Throws 403 for an owner. */
export async function prepareEnd(
	c: Context<App>,
	{ row, state, keys }: Found,
	{ ended }: people.Plan,
) {
	const { directory } = c.var;
	if (ended.length === 0) return { changes: [], entries: [] };
	if (row.level === OWNER) {
		await leavingOwner.note(
			c.var.directory,
			row,
			state.names.get(row.user_id)?.member_id ?? row.uuid,
		);
		throw new ScimError(
			403,
			"mutability",
			"An owner can't be removed by SCIM. Another owner has to lower the level first.",
		);
	}
	return {
		changes: people.endAccess(directory, row.user_id, row.email),
		entries: people.endedEntries(keys),
	};
}

/** Ends the membership, forgets what SCIM has stored, and unlinks the account at the provider. */
export const remove = (c: Context<App>, uuid: string) =>
	untilWritten(async () => {
		const { directory } = c.var;
		const { db } = directory;
		const found = await readForChange(c, uuid);
		const { row, state } = found;
		const plan = planOf(directory, state, false);
		const ending = await prepareEnd(c, found, plan);
		const isForgotten = ({ domain_id, user_id }: typeof scimUsers | typeof scimGroupMembers) =>
			and(eq(domain_id, directory.domain_id), eq(user_id, row.user_id));
		const forgotten = {
			field: "provisioned",
			action: "deleted" as const,
			before: true,
			after: null,
		};
		const unlinked = unlinking(db, isLink(directory, sql`${row.user_id}`), found.links);
		await directory.write({
			checks: [...state.checks, ...unlinked.checks],
			changes: [
				...unlinked.changes,
				...plan.changes,
				...ending.changes,
				db.delete(scimUsers).where(isForgotten(scimUsers)),
				db.delete(scimGroupMembers).where(isForgotten(scimGroupMembers)),
			],
			entries: [
				...plan.entries,
				...(plan.entries.length === 0 ? entriesOf(state, row, [forgotten]) : []),
				...ending.entries,
				...unlinked.entries,
			],
		});
		const who = providerOfDomain(directory.provider.domain);
		for (const link of found.links)
			directory.later(mailChange(directory.env, row.user_id, identityUnlinked(link, who), null));
	});
