import { greeting, linkTo, type Mail } from "../mail/mail.ts";
import { providerOf } from "./rules.ts";

type Recipient = { first_name: string; email: string; loses_keys: boolean };

const UNWANTED = "If you didn't ask for this mail, ignore it: nobody else can use it.";

/** The token is in the fragment, which browsers send to no server. */
const linkOf = ({ APP_URL }: Env, token: string) =>
	linkTo(APP_URL, `/console/sign_in#token=${token}`);

/** The mail with a link. */
export const mailLink = (env: Env, recipient: Recipient, token: string): Mail => ({
	to: recipient.email,
	subject: "Sign in to Tenantry",
	paragraphs: [
		greeting(recipient.first_name),
		`With this link you sign in to Tenantry as ${recipient.email}. It works once, for 15 minutes.`,
		...(recipient.loses_keys
			? [
					"Nobody has proved yet that this address is theirs. Signing in with the link proves it, and revokes the API keys that were made before: they may be somebody else's.",
				]
			: []),
		UNWANTED,
	],
	link: { label: "Sign in", url: linkOf(env, token) },
});

/** The mail for those who have to sign in through another provider. */
export const mailSso = (recipient: Recipient, sso: string): Mail => ({
	to: recipient.email,
	subject: "Sign in to Tenantry through single sign-on",
	paragraphs: [
		greeting(recipient.first_name),
		`Your organization requires that everybody with an address like ${recipient.email} signs in through single sign-on (${providerOf(sso)}). So this mail has no link to sign in with.`,
		UNWANTED,
	],
});
