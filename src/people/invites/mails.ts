import type { Context } from "hono";
import type * as z from "zod";
import type { Caller } from "../../access/guard.ts";
import type { App } from "../../env.ts";
import { dateAndTime } from "../../lib/dates.ts";
import {
	addressText,
	greeting,
	isReachable,
	linkTo,
	type Mail,
	quotation,
	send,
	trusted,
	unlinked,
} from "../../outbound/mail.ts";
import { expiresAt, type Invite, type NewInvite } from "./shape.ts";
import { nameOf, type Person, roleOf } from "./wording.ts";

/** The name and the email address, like `introduce`. */
function introduction(person: Person) {
	const name = nameOf(person);
	const address = addressText(person.email);
	if (name === person.email) return address;
	return isReachable(person.email) ? unlinked`${name} (${address})` : unlinked`${name}`;
}

/** The recipient may not know the inviter or the organization, so the subject has no names. */
const invitation = (invite: z.infer<typeof Invite>, organization: string, url: string): Mail => {
	const { created_by, target_email, first_name, message, level } = invite;
	return {
		to: target_email,
		...(isReachable(created_by.email) && {
			reply_to: { name: unlinked`${nameOf(created_by)}`, address: created_by.email },
		}),
		subject: unlinked`You are invited to join an organization on Tenantry`,
		paragraphs: [
			greeting(first_name),
			unlinked`${introduction(created_by)} invites you to join ${organization} on Tenantry as ${roleOf(level)}.`,
			...(message ? [quotation(message)] : []),
			unlinked`The link works once, until ${trusted(dateAndTime(expiresAt(invite)))}.`,
		],
		link: { label: "Open the invite", url },
	};
};

/** A new invite with its token, of which only the hash is stored. */
type Created = {
	invite: z.infer<typeof Invite>;
	organization_name: string;
	token: string;
};

/** Whether the caller can create an unrestricted key, as the link creates for a new user. */
const isUnlimited = ({ key, is_session }: Caller) =>
	key.scopes.includes("*") &&
	key.organizations.length === 0 &&
	key.projects.length === 0 &&
	key.allowed_ips.length === 0 &&
	(key.expires_at === null || is_session);

/**
 * Mails the link after the response is sent. Without a mail, the response has the link as
 * `accept_url`, which the inviter passes on. It is null if the inviter's key has less access than
 * the key that a new user gets through the link.
 */
export function deliver(
	c: Context<App>,
	{ invite, organization_name, token }: Created,
): z.infer<typeof NewInvite> {
	const linkAt = (base: string) => linkTo(base, `/invites/${token}`);
	if (invite.emailing_attempt_made) {
		// Not from the Host header, which the client controls.
		const url = linkAt(c.env.APP_URL);
		const mail = invitation(invite, organization_name, url);
		c.executionCtx.waitUntil(send(c.env, mail));
		return invite;
	}
	const url = linkAt(c.env.APP_URL || new URL(c.req.url).origin);
	const accept_url = isUnlimited(c.var.tenant.caller) ? url : null;
	return { ...invite, accept_url };
}
