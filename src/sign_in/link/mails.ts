import { providerOf } from "../../organizations/domains/connections.ts";
import { addressText, greeting, linkTo, type Mail, unlinked } from "../../outbound/mail.ts";

type Recipient = { first_name: string; email: string; loses_keys: boolean };

const UNWANTED = unlinked`If you didn't request this mail, ignore it. Nobody else can use it.`;

/** Returns a link with the token in the fragment, which browsers don't send to servers. */
const linkOf = ({ APP_URL }: Env, token: string) =>
	linkTo(APP_URL, `/console/sign_in#token=${token}`);

/** Returns the mail with a sign-in link. */
export const mailLink = (env: Env, recipient: Recipient, token: string): Mail => ({
	to: recipient.email,
	subject: unlinked`Sign in to Tenantry`,
	paragraphs: [
		greeting(recipient.first_name),
		unlinked`Use this link to sign in to Tenantry as ${addressText(recipient.email)}. It works once, for 15 minutes.`,
		...(recipient.loses_keys
			? [
					unlinked`This email address isn't verified yet. Signing in with the link verifies it and revokes the API keys that were created before, because they may belong to someone else.`,
				]
			: []),
		UNWANTED,
	],
	link: { label: "Sign in", url: linkOf(env, token) },
});

/** Returns the mail for users who must sign in through single sign-on. */
export const mailSso = (recipient: Recipient, sso: string): Mail => ({
	to: recipient.email,
	subject: unlinked`Sign in to Tenantry through single sign-on`,
	paragraphs: [
		greeting(recipient.first_name),
		unlinked`Your organization requires single sign-on (${providerOf(sso)}) for email addresses like ${addressText(recipient.email)}, so this mail has no sign-in link.`,
		UNWANTED,
	],
});
