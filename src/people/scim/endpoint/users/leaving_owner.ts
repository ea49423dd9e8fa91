import { and, eq, gte, ne, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { aliased, assertThat, isFailed } from "../../../../db/client.ts";
import { activityLog } from "../../../../db/schema/activity_log.ts";
import { ADMIN, OWNER } from "../../../../db/schema/levels.ts";
import { organizations } from "../../../../db/schema/organizations.ts";
import { isActivePerson, members, users } from "../../../../db/schema/people.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import { consoleOf } from "../../../../outbound/console.ts";
import {
	addressText,
	configured,
	greeting,
	linkTo,
	send,
	unlinked,
} from "../../../../outbound/mail.ts";
import type { Directory } from "../directory.ts";
import type { Row } from "./user.ts";

/* An owner whom the provider wants to remove (docs/sign-on.md#users). */

const ACTIVITY = "removal_rejected";

/** Mails the other owners, or the admins if there are none. */
async function tellOthers({ env, provider }: Directory, { user_id, email }: Row) {
	if (!configured(env)) return;
	const others = await drizzle(env.DB)
		.select({
			email: users.email,
			first_name: users.first_name,
			level: members.level,
			organization: aliased(organizations.uuid, "organization_uuid"),
		})
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(
			and(
				eq(members.organization_id, provider.organization_id),
				gte(members.level, ADMIN),
				ne(members.user_id, user_id),
				isActivePerson,
			),
		);
	const owners = others.filter(({ level }) => level === OWNER);
	for (const recipient of owners.length > 0 ? owners : others)
		await send(env, {
			to: recipient.email,
			subject: unlinked`An owner of your Tenantry organization still has access`,
			paragraphs: [
				greeting(recipient.first_name),
				unlinked`The identity provider of ${provider.domain} wants to remove ${addressText(email)}. SCIM can't remove an owner, so they still have access.`,
				unlinked`If they have left, another owner has to lower their level. The provider can then remove them, or you can.`,
			],
			link: {
				label: "See the member",
				url: linkTo(env.APP_URL, consoleOf(recipient.organization).memberWith(email)),
			},
		});
}

/**
 * Writes that an owner wasn't removed, and tells the others. The provider asks again every hour or
 * so, which changes nothing for a day.
 * @param member_id the id of the membership
 */
export async function note(directory: Directory, row: Row, member_id: string) {
	const { db, provider } = directory;
	const isNoted = and(
		eq(activityLog.organization_id, provider.organization_id),
		eq(activityLog.item_id, member_id),
		sql`not ${activityLog.is_system}`,
		eq(activityLog.activity, ACTIVITY),
		sql`${activityLog.created_at} > ${Date.now() - DAY_MS}`,
	);
	const isNew = sql`not exists (select 1 from ${activityLog} where ${isNoted})`;
	const isWritten = await directory
		.write({
			checks: [assertThat(db, isNew, "is_current")],
			entries: [{ scope: "Member", activity: ACTIVITY, item_id: member_id, name: row.email }],
		})
		.then(
			() => true,
			(error: unknown) => {
				if (isFailed(error, "is_current")) return false;
				throw error;
			},
		);
	if (isWritten) directory.later(tellOthers(directory, row));
}
