import type { Context } from "hono";
import type * as z from "zod";
import type { Key } from "../auth/keys.ts";
import type { App } from "../env.ts";
import { type Mail, send, singleLine } from "../mail/mail.ts";
import { expiresAt, type Invite, type NewInvite } from "./shape.ts";
import { dateAndTime, introduce, nameOf, type Person, roleOf } from "./wording.ts";

/** Tells an admin who joined. */
export const mailAdmins = (to: string, person: Person, organization: string): Mail => ({
	to,
	subject: `${nameOf(person)} joined ${organization}`,
	paragraphs: [
		`${introduce(person)} accepted an invite and is now a member of ${singleLine(organization)} on Tenantry.`,
	],
});

const invitation = (invite: z.infer<typeof Invite>, organization: string, url: string): Mail => {
	const { created_by, target_email, first_name, message, level } = invite;
	return {
		to: target_email,
		reply_to: { name: nameOf(created_by), address: created_by.email },
		subject: `${nameOf(created_by)} invites you to ${organization}`,
		paragraphs: [
			first_name ? `Hello ${singleLine(first_name)},` : "Hello,",
			`${introduce(created_by)} invites you to join ${singleLine(organization)} on Tenantry as ${roleOf(level)}.`,
			...(message ? [message] : []),
			`The link works once, until ${dateAndTime(expiresAt(invite))}.`,
		],
		link: { label: `Join ${organization}`, url },
	};
};

/** A new invite, and its token, which is stored nowhere. */
type Made = {
	invite: z.infer<typeof Invite>;
	organization_name: string;
	token: string;
};

/** Whether the key may do everything, everywhere and for ever, as the first key of a user whom the link makes may. */
const isUnlimited = ({ scopes, organizations, projects, expires_at }: Key) =>
	scopes.includes("*") &&
	organizations.length === 0 &&
	projects.length === 0 &&
	expires_at === null;

const withoutSlash = (url: string) => url.replace(/\/+$/, "");

/**
 * Sends the link by mail, after the answer. Where no mail is sent, the answer carries the link for the inviter to hand
 * over; null for a key that is narrower than the key which the link gives.
 */
export function deliver(
	c: Context<App>,
	{ invite, organization_name, token }: Made,
): z.infer<typeof NewInvite> {
	const linkAt = (base: string) => `${withoutSlash(base)}/invites/${token}`;
	if (invite.emailing_attempt_made) {
		// Never made from the request's Host header, which the sender chooses.
		const url = linkAt(c.env.APP_URL);
		const mail = invitation(invite, organization_name, url);
		c.executionCtx.waitUntil(send(c.env, mail));
		return invite;
	}
	const url = linkAt(c.env.APP_URL || new URL(c.req.url).origin);
	const accept_url = isUnlimited(c.var.tenant.caller.key) ? url : null;
	return { ...invite, accept_url };
}
