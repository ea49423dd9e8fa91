import { and, eq, isNull, sql } from "drizzle-orm";
import { changes as changesOf } from "../../../../db/changes.ts";
import { assertExists, assertThat, inList } from "../../../../db/client.ts";
import type { Entry } from "../../../../db/record.ts";
import { invites, users } from "../../../../db/schema/people.ts";
import { isOpen, signIns } from "../../../../db/schema/sign_in.ts";
import { now } from "../../../../lib/time.ts";
import { domainOf } from "../../../connections.ts";
import { addressChanged, mailAt, providerOfDomain } from "../../../users/mails.ts";
import type { Directory } from "../directory.ts";
import type { Problem } from "../problems.ts";
import type { Row } from "./user.ts";

/* New addresses of accounts (docs/sign-on.md#users). */

export const isInDomain = ({ provider }: Directory, address: string) =>
	domainOf(address) === provider.domain;

/**
 * Returns why an account can't get another address; undefined if it can.
 * @param isTaken whether another account has it
 */
export function whyNot(
	directory: Directory,
	row: Row,
	{ address, isTaken }: { address: string; isTaken: boolean },
): Problem | undefined {
	if (address === row.email) return undefined;
	// Of an address elsewhere, the domain proves nothing.
	if (!isInDomain(directory, row.email) || !isInDomain(directory, address))
		return {
			rejects: "value",
			detail: `userName: It can only change within ${directory.provider.domain}.`,
		};
	if (!isTaken) return undefined;
	return {
		rejects: "request",
		status: 409,
		scim_type: "uniqueness",
		detail: "userName: Another account has this address.",
	};
}

/** Returns what it takes to change the address of an account, whose links and sessions stay. */
export function prepare({ db, organization }: Directory, row: Row, address: string) {
	const isUser = eq(users.id, row.user_id);
	const isTaken = sql`exists (select 1 from ${users} where ${users.email} = ${address})`;
	const isMailed = and(eq(signIns.user_id, row.user_id), isNull(signIns.connection), isOpen());
	const entry: Entry = {
		scope: "User",
		activity: "updated",
		item_id: row.uuid,
		name: row.email,
		changes: changesOf({ email: row.email }, { email: address }),
	};
	return {
		checks: [
			assertExists(db, users, and(isUser, eq(users.email, row.email))),
			assertThat(db, sql`not ${isTaken}`, "is_current"),
		],
		changes: [
			db.update(users).set({ email: address }).where(isUser),
			// A link in a mail proves the old address.
			db.update(signIns).set({ expires_at: now() }).where(isMailed),
			// With an invite, the person could become a member once more.
			db
				.delete(invites)
				.where(
					and(
						eq(invites.organization_id, organization),
						inList(invites.target_email, [row.email, address]),
					),
				),
		],
		entries: [entry],
	};
}

/** Tells the person at both addresses, after the response. */
export function tell(directory: Directory, row: Row, address: string) {
	const change = addressChanged(row.email, address, providerOfDomain(directory.provider.domain));
	const emails = [row.email, address];
	directory.later(mailAt(directory.env, { ...row, emails, address: null }, change));
}
