import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertThat } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isActivePerson, members, users } from "../../db/schema/people.ts";
import { orNotFound, throttledUntil } from "../../http/errors.ts";
import { forEachLogged } from "../../lib/background.ts";
import { DAY_MS, iso } from "../../lib/time.ts";
import { ownPages } from "../../outbound/console.ts";
import { configured, greeting, linkTo, send, unlinked } from "../../outbound/mail.ts";
import { adminOf } from "../users/mails.ts";

/* Members without a second factor are told before it is required (docs/organizations.md). */

/** How many members a request tells, the oldest first. */
const MAX_MAILS = 500;

const SCOPE = "Organization";
const ACTIVITY = "two_factor_reminded";

/** SQL condition on the log: they were told in the last day. */
const isRecent = ({ organization }: Tenant) =>
	and(
		eq(activityLog.organization_id, organization),
		sql`${activityLog.item_id} = (select uuid from organizations where id = ${organization})`,
		sql`not is_system`,
		eq(activityLog.scope, SCOPE),
		eq(activityLog.activity, ACTIVITY),
		gt(activityLog.created_at, iso(Date.now() - DAY_MS)),
	);

/** Those who have proved their address: others might get mails about an account that isn't theirs. */
const selectWithout = ({ db, organization }: Tenant) =>
	db
		.select({ email: users.email, first_name: users.first_name })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.where(
			and(
				eq(members.organization_id, organization),
				isActivePerson,
				eq(users.is_email_verified, true),
				eq(users.is_2fa_enabled, false),
			),
		)
		.orderBy(asc(members.joined_at))
		.limit(MAX_MAILS);

type Organization = { name: string; enforce_2fa: boolean | null };

const mailTo = (env: Env, { name, enforce_2fa }: Organization, first_name: string) => ({
	subject: unlinked`Set up a second factor for ${name}`,
	paragraphs: [
		greeting(first_name),
		unlinked`${adminOf(name)} asks you to set up a second factor for your Tenantry account: an authenticator app or a passkey.`,
		enforce_2fa
			? unlinked`The organization requires one. If you set it up now, you aren't asked for it at your next sign-in.`
			: unlinked`The organization may require one soon. If you set it up now, your next sign-in isn't interrupted.`,
	],
	link: { label: "Set up a second factor", url: linkTo(env.APP_URL, ownPages.account) },
});

/**
 * Mails the members who have no second factor, at most once a day.
 * @returns how many are mailed
 * @throws 429 if they were told in the last day
 */
export const remind = (tenant: Tenant) =>
	retry(async () => {
		const { db, env } = tenant;
		const [[found], without, [last]] = await tenant.read(
			db
				.select({
					uuid: organizations.uuid,
					name: organizations.name,
					enforce_2fa: organizations.enforce_2fa,
				})
				.from(organizations)
				.where(eq(organizations.id, tenant.organization)),
			selectWithout(tenant),
			db
				.select({ created_at: activityLog.created_at })
				.from(activityLog)
				.where(isRecent(tenant))
				.limit(1),
		);
		const organization = orNotFound(found);
		if (last) throw throttledUntil(Date.parse(last.created_at) + DAY_MS);
		const mails = configured(env) ? without.length : 0;
		if (mails === 0) return { mails };
		await tenant.write({
			checks: [
				assertThat(
					db,
					sql`not exists (select 1 from ${activityLog} where ${isRecent(tenant)})`,
					"is_current",
				),
			],
			changes: [],
			entries: [
				{
					activity: ACTIVITY,
					scope: SCOPE,
					item_id: organization.uuid,
					name: organization.name,
					project: null,
					trigger: { mails },
				},
			],
		});
		tenant.later(() =>
			forEachLogged("mails about second factors", without, ({ email, first_name }) =>
				send(env, { to: email, ...mailTo(env, organization, first_name) }),
			),
		);
		return { mails };
	});
