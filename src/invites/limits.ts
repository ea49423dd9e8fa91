import { and, desc, eq, gt, lte, notExists, sql } from "drizzle-orm";
import { inviteMails, invites } from "../db/schema.ts";
import { invalid, throttled } from "../http/errors.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { LIFETIME_MS } from "./shape.ts";

const MAX_OPEN_INVITES = 1000;

const HOUR_MS = 3_600_000;

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** What a request adds: open invites for these addresses, and this many mails. */
export type Added = { emails: string[]; mails: number };

const mailsPerHour = ({ INVITE_MAILS_PER_HOUR }: Env) => Number(INVITE_MAILS_PER_HOUR) || 0;

/**
 * WHERE clause: mails of the last hour, which count against the limit (`gt`), or older ones
 * (`lte`).
 */
const mailsSince = (tenant: Tenant, compare: typeof gt) =>
	and(
		eq(inviteMails.organization_id, tenant.organization),
		compare(inviteMails.sent_at, ago(HOUR_MS)),
	);

/**
 * Selects the mail that must become an hour old before the new mails may be sent. No row: they may
 * be sent now.
 */
export const blockingMail = (tenant: Tenant, { mails }: Added) =>
	tenant.db
		.select({ sent_at: inviteMails.sent_at })
		.from(inviteMails)
		.where(mailsSince(tenant, gt))
		.orderBy(desc(inviteMails.sent_at))
		.limit(mails > 0 ? 1 : 0)
		.offset(Math.max(mailsPerHour(tenant.env) - mails, 0));

/**
 * Selects an open invite if the new ones would exceed the limit. Invites that they replace don't
 * count.
 */
export const blockingInvite = (tenant: Tenant, { emails }: Added) =>
	tenant.db
		.select({ id: invites.id })
		.from(invites)
		.where(
			and(
				eq(invites.organization_id, tenant.organization),
				gt(invites.created_at, ago(LIFETIME_MS)),
				sql`${invites.target_email} not in (select value from json_each(${JSON.stringify(emails)}))`,
			),
		)
		.limit(1)
		.offset(MAX_OPEN_INVITES - emails.length);

/**
 * Checks the limits of docs/organizations.md#invites, given the rows of `blockingMail` and
 * `blockingInvite`.
 * @throws 429 for too many mails, 400 for too many open invites
 */
export function checkLimits(
	{ env }: Tenant,
	{ mails }: Added,
	mail: { sent_at: string } | undefined,
	invite: object | undefined,
) {
	if (mail) {
		const availableAt = Date.parse(mail.sent_at) + HOUR_MS;
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
export const withinLimits = (tenant: Tenant, added: Added) =>
	sql`${notExists(blockingMail(tenant, added))} and ${notExists(blockingInvite(tenant, added))}`;

/** The statement that deletes the records of mails that no longer count. */
export const deleteOldMails = (tenant: Tenant) =>
	tenant.db.delete(inviteMails).where(mailsSince(tenant, lte));
