import { type SQL, sql } from "drizzle-orm";
import type { Params } from "../../access/cached_statements.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { counter } from "../../db/list.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { inviteMails, invites, members, serviceAccounts, users } from "../../db/schema/people.ts";
import { invalid, throttled, throttledUntil } from "../../http/errors.ts";
import { DAY_MS, HOUR_MS, iso } from "../../lib/time.ts";
import { LIFETIME_MS } from "./shape.ts";

const MAX_OPEN_INVITES = 1000;

/** The maximum number of mails to an address per day from strangers. */
const MAX_STRANGERS_MAILS = 10;

/** How long the record of a mail is kept. */
export const MAIL_RECORD_MS = DAY_MS;

/** The additions of a request: open invites for these addresses, and mails to some of them. */
export type Added = { emails: string[]; mailed: string[] };

const mailsPerHour = ({ INVITE_MAILS_PER_HOUR }: Env) => Number(INVITE_MAILS_PER_HOUR) || 0;

/** The names of the values that the SQL in this file uses. */
export const LIMITS = [
	"emails",
	"mailed",
	"mails",
	"mails_before",
	"hour_ago",
	"day_ago",
	"invites_before",
	"invites_since",
] as const;

type Limits = Params<(typeof LIMITS)[number]>;

/** Returns these values. `mails` is 1 if there are any. */
export const limitsOf = ({ env }: Tenant, { emails, mailed }: Added) => ({
	emails: JSON.stringify(emails),
	mailed: JSON.stringify(mailed),
	mails: mailed.length > 0 ? 1 : 0,
	mails_before: Math.max(mailsPerHour(env) - mailed.length, 0),
	hour_ago: iso(Date.now() - HOUR_MS),
	day_ago: iso(Date.now() - DAY_MS),
	invites_before: MAX_OPEN_INVITES - emails.length,
	invites_since: iso(Date.now() - LIFETIME_MS),
});

/**
 * SQL for the id of the user whose mails these are. Those of a service account are its creator's,
 * as long as the creator is a member, because anyone can create many of them.
 */
export const senderOf = ({ key }: QueryScope) => sql<number>`coalesce((
    select ${serviceAccounts.created_by} from ${serviceAccounts}
    join ${members} on ${members.organization_id} = ${serviceAccounts.organization_id} and ${members.user_id} = ${serviceAccounts.created_by}
    where ${serviceAccounts.user_id} = ${key.user_id}), ${key.user_id})`;

/** SQL condition: the user with this email address shares an organization with the sender. */
export const isKnown = (tenant: QueryScope, email: SQL) => sql`exists (
    select 1 from ${members} as theirs join ${members} as mine on mine.organization_id = theirs.organization_id
    where theirs.user_id = (select ${users.id} from ${users} where ${users.email} = ${email}) and mine.user_id = ${senderOf(tenant)})`;

/** SQL for the times of the mails that block the new ones, null if they may be sent now. */
export const blockingMails = (tenant: QueryScope, limits: Limits) => {
	const { mailed, mails, mails_before, hour_ago, day_ago } = limits;
	const blocking = (isCounted: SQL) => sql<string | null>`(
    select ${inviteMails.sent_at} from ${inviteMails} where ${isCounted} and ${inviteMails.sent_at} > ${hour_ago}
    order by ${inviteMails.sent_at} desc limit ${mails} offset ${mails_before})`;
	return {
		/** Of the organization, and of the sender: they block until they are an hour old. */
		organization_mail: blocking(sql`${inviteMails.organization_id} = ${tenant.organization}`),
		sender_mail: blocking(sql`${inviteMails.user_id} = ${senderOf(tenant)}`),
		/** To one of the addresses: it blocks until it is a day old. */
		recipient_mail: sql<string | null>`(
    select max((select ${inviteMails.sent_at} from ${inviteMails}
      where ${inviteMails.stranger} = address.value and ${inviteMails.sent_at} > ${day_ago}
      order by ${inviteMails.sent_at} desc limit 1 offset ${sql.raw(String(MAX_STRANGERS_MAILS - 1))}))
    from json_each(${mailed}) as address where not ${isKnown(tenant, sql`address.value`)})`,
	};
};

/**
 * SQL for the id of an open invite if the new ones would exceed the limit, otherwise null. Invites
 * that they replace don't count. It only reads invites if the organization has as many as the
 * limit, including expired ones.
 */
export const blockingInvite = (
	tenant: QueryScope,
	{ emails, invites_before, invites_since }: Limits,
) =>
	sql<
		string | null
	>`iif(${counter(organizations.invites, tenant.organization)} > ${invites_before}, (
    select ${invites.id} from ${invites}
    where ${invites.organization_id} = ${tenant.organization} and ${invites.created_at} > ${invites_since}
      and ${invites.target_email} not in (select value from json_each(${emails}))
    limit 1 offset ${invites_before}), null)`;

/** The rows of `blockingMails` and `blockingInvite`. */
type Blocking = Record<
	"organization_mail" | "sender_mail" | "recipient_mail" | "invite",
	string | null
>;

/** @throws 429 for too many mails, 400 for too many open invites (docs/organizations.md#invites) */
export function checkLimits({ env }: Tenant, { mailed }: Added, blocking: Blocking) {
	const { organization_mail, sender_mail, recipient_mail, invite } = blocking;
	const over = [
		...[organization_mail, sender_mail].map((at) => at && Date.parse(at) + HOUR_MS),
		recipient_mail && Date.parse(recipient_mail) + DAY_MS,
	].filter((at) => typeof at === "number");
	if (over.length > 0) throw throttledUntil(Math.max(...over));
	if (mailed.length > mailsPerHour(env)) throw throttled(HOUR_MS / 1000);
	if (invite)
		throw invalid(
			null,
			"An organization can have at most 1,000 open invites. Delete some, or wait until they are accepted or expire.",
		);
}

/** WHERE clause: the new invites don't exceed a limit. */
export function withinLimits(tenant: QueryScope, limits: Limits) {
	const { organization_mail, sender_mail, recipient_mail } = blockingMails(tenant, limits);
	return sql`${organization_mail} is null and ${sender_mail} is null and ${recipient_mail} is null
    and ${blockingInvite(tenant, limits)} is null`;
}
