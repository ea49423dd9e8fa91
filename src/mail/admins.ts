import { and, eq, gte } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { ADMIN } from "../db/levels.ts";
import { members, organizations, users } from "../db/schema.ts";
import { configured, send } from "./mail.ts";

/**
 * Sends a mail to each admin of an organization.
 * @returns false if no mail could be sent; true also if there is no admin, or if mail isn't configured
 */
export async function mailAdmins(
	env: Env,
	organization_id: string,
	mail: (organization: string) => { subject: string; paragraphs: string[] },
) {
	if (!configured(env)) return true;
	const admins = await drizzle(env.DB)
		.select({ email: users.email, organization: organizations.name })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(
			and(
				eq(members.organization_id, organization_id),
				gte(members.level, ADMIN),
				eq(users.is_active, true),
				eq(users.is_service_account, false),
			),
		);
	const sent: boolean[] = [];
	for (const { email, organization } of admins)
		sent.push(await send(env, { to: email, ...mail(organization) }));
	return sent.length === 0 || sent.includes(true);
}
