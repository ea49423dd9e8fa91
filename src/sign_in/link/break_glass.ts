import { eq, sql } from "drizzle-orm";
import { domains } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { dateAndTime } from "../../lib/dates.ts";
import { consoleOf } from "../../outbound/console.ts";
import { addressText, linkTo, trusted, unlinked } from "../../outbound/mail.ts";
import { mailOwners } from "../../people/users/mails.ts";

/* Signing in without the provider that a domain enforces (docs/sign-on.md#break-glass). */

type User = { id: number; uuid: string; email: string };

const organizationOf = (domain_id: string) =>
	sql<number>`(select ${domains.organization_id} from ${domains} where ${domains.id} = ${domain_id})`;

/** Returns the entry of such a sign-in, in the log of the domain's organization. */
export const brokenGlass = ({ id, uuid, email }: User, domain_id: string) => ({
	activity: "break_glass_used" as const,
	scope: "SignIn" as const,
	item_id: uuid,
	name: email,
	user_id: id,
	organization: organizationOf(domain_id),
	project: null,
});

/**
 * Mails the owners of the domain's organization.
 * @param method as in `Session`: by mail or with a passkey
 * @param address the IP address of the request; undefined if it is unknown
 */
export async function tellOwners(
	env: Env,
	{ email }: User,
	{
		domain_id,
		method,
		address,
	}: { domain_id: string; method: string; address: string | undefined },
) {
	const how = method === "passkey" ? "with a passkey" : "by mail and second factor";
	await mailOwners(env, eq(members.organization_id, organizationOf(domain_id)), (organization) => ({
		subject: unlinked`Someone signed in to Tenantry without single sign-on`,
		paragraphs: [
			unlinked`${addressText(email)} signed in ${how}, without the single sign-on that your organization requires, on ${trusted(dateAndTime(new Date()))}, from the IP address ${trusted(address ?? "(unknown)")}.`,
			unlinked`You named them as someone who may, in case your provider fails. If this is unexpected, remove them in the settings of the domain, and deactivate their account.`,
		],
		link: {
			label: "Check the settings",
			url: linkTo(env.APP_URL, consoleOf(organization).domain(domain_id)),
		},
	}));
}
