import { and, eq, lte, sql } from "drizzle-orm";
import { counter } from "../db/list.ts";
import { iso } from "../db/now.ts";
import { inviteMails, invites } from "../db/schema/invites.ts";
import { organizations } from "../db/schema/organizations.ts";
import { HOUR_MS } from "../http/durations.ts";
import { invalid, throttled } from "../http/errors.ts";
import { cacheStatement, type Given } from "../tenant/cached_statements.ts";
import type { TenantSql } from "../tenant/sql.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { LIFETIME_MS } from "./shape.ts";

const MAX_OPEN_INVITES = 1000;

/** What a request adds: open invites for these addresses, and this many mails. */
export type Added = { emails: string[]; mails: number };

const mailsPerHour = ({ INVITE_MAILS_PER_HOUR }: Env) => Number(INVITE_MAILS_PER_HOUR) || 0;

/** The names of the values that the SQL in this file uses. */
export const LIMITS = [
	"emails",
	"mails",
	"mails_before",
	"mails_since",
	"invites_before",
	"invites_since",
] as const;

type Limits = Given<(typeof LIMITS)[number]>;

/** Returns these values. `mails` is 1 if there are any. */
export const limitsOf = ({ env }: Tenant, { emails, mails }: Added) => ({
	emails: JSON.stringify(emails),
	mails: mails > 0 ? 1 : 0,
	mails_before: Math.max(mailsPerHour(env) - mails, 0),
	mails_since: iso(Date.now() - HOUR_MS),
	invites_before: MAX_OPEN_INVITES - emails.length,
	invites_since: iso(Date.now() - LIFETIME_MS),
});

/** SQL for the time of the mail that blocks the new ones until it is an hour old; null if they may be sent now. */
export const blockingMail = (tenant: TenantSql, { mails, mails_before, mails_since }: Limits) =>
	sql<string | null>`(select ${inviteMails.sent_at} from ${inviteMails}
    where ${inviteMails.organization_id} = ${tenant.organization} and ${inviteMails.sent_at} > ${mails_since}
    order by ${inviteMails.sent_at} desc limit ${mails} offset ${mails_before})`;

/**
 * SQL for the id of an open invite if the new ones would exceed the limit, otherwise null. Invites that they replace don't
 * count. It only reads invites if the organization has as many as the limit, including expired ones.
 */
export const blockingInvite = (
	tenant: TenantSql,
	{ emails, invites_before, invites_since }: Limits,
) =>
	sql<
		string | null
	>`iif(${counter(organizations.invites, tenant.organization)} > ${invites_before}, (
    select ${invites.id} from ${invites}
    where ${invites.organization_id} = ${tenant.organization} and ${invites.created_at} > ${invites_since}
      and ${invites.target_email} not in (select value from json_each(${emails}))
    limit 1 offset ${invites_before}), null)`;

/**
 * Checks the limits of docs/organizations.md#invites, given the rows of `blockingMail` and
 * `blockingInvite`.
 * @throws 429 for too many mails, 400 for too many open invites
 */
export function checkLimits(
	{ env }: Tenant,
	{ mails }: Added,
	mail: string | null,
	invite: string | null,
) {
	if (mail) {
		const availableAt = Date.parse(mail) + HOUR_MS;
		throw throttled(Math.max(1, Math.ceil((availableAt - Date.now()) / 1000)));
	}
	if (mails > mailsPerHour(env)) throw throttled(HOUR_MS / 1000);
	if (invite)
		throw invalid(
			null,
			"An organization can have at most 1,000 open invites. Delete some, or wait until they are accepted or expire.",
		);
}

/** WHERE clause: the new invites don't exceed a limit. */
export const withinLimits = (tenant: TenantSql, limits: Limits) =>
	sql`${blockingMail(tenant, limits)} is null and ${blockingInvite(tenant, limits)} is null`;

/** Deletes the records of mails that no longer count. */
export const deleteOldMails = cacheStatement(
	["mails_since"],
	({ db, organization }, { mails_since }) =>
		db
			.delete(inviteMails)
			.where(
				and(eq(inviteMails.organization_id, organization), lte(inviteMails.sent_at, mails_since)),
			),
);
