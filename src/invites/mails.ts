import type { Context } from "hono";
import type * as z from "zod";
import type { App } from "../env.ts";
import { type Mail, send } from "../mail/mail.ts";
import type { User } from "../users/shape.ts";
import type { Invite, NewInvite } from "./shape.ts";

type Person = Pick<z.infer<typeof User>, "first_name" | "last_name" | "email">;

const nameOf = ({ first_name, last_name, email }: Person) =>
	`${first_name} ${last_name}`.trim() || email;

/** A person as somebody who may not know it should read of it. */
const introduce = (person: Person) => {
	const name = nameOf(person);
	return name === person.email ? name : `${name} (${person.email})`;
};

/** Tells an admin who joined. */
export const joined = (
	to: string,
	person: Person,
	organization: string,
): Mail => ({
	to,
	subject: `${nameOf(person)} joined ${organization}`,
	paragraphs: [
		`${introduce(person)} accepted an invite and is now a member of ${organization} on Tenantry.`,
	],
});

const invitation = (
	{ created_by, target_email, first_name, message }: z.infer<typeof Invite>,
	organization: string,
	url: string,
): Mail => ({
	to: target_email,
	reply_to: { name: nameOf(created_by), address: created_by.email },
	subject: `${nameOf(created_by)} invites you to ${organization}`,
	paragraphs: [
		first_name ? `Hello ${first_name},` : "Hello,",
		`${introduce(created_by)} invites you to join ${organization} on Tenantry.`,
		...(message ? [message] : []),
		"The link works once, for three days.",
	],
	link: { label: `Join ${organization}`, url },
});

/** An invite that was just made, and the token that no one can read again. */
type Made = {
	invite: z.infer<typeof Invite>;
	organization_name: string;
	token: string;
};

/** Sends the link after the answer; where no mail goes out, the answer carries it to the inviter. */
export function deliver(
	c: Context<App>,
	{ invite, organization_name, token }: Made,
): z.infer<typeof NewInvite> {
	const base = c.env.APP_URL || new URL(c.req.url).origin;
	const url = `${base.replace(/\/+$/, "")}/invites/${token}`;
	if (!invite.emailing_attempt_made) return { ...invite, accept_url: url };
	c.executionCtx.waitUntil(
		send(c.env, invitation(invite, organization_name, url)),
	);
	return invite;
}
