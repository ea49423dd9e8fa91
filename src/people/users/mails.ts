import { and, eq, type SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Tenant } from "../../access/tenant.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isActivePerson, isAdminLevel, members, users } from "../../db/schema/people.ts";
import { dateAndTime } from "../../lib/dates.ts";
import { ownPages } from "../../outbound/console.ts";
import {
	addressText,
	configured,
	greeting,
	linkTo,
	type MailText,
	send,
	trusted,
	unlinked,
} from "../../outbound/mail.ts";
import { providerOf } from "../connections.ts";

/* Mails that tell users about changes of their account (docs/keys.md#mails-about-your-account). */

/** A change of an account. */
export type Change = {
	/** Changes of one kind share a limit. */
	kind: "two_factor" | "key" | "session" | "app" | "identity" | "address";
	subject: MailText;
	/** The consequence of the change. */
	text: MailText;
	/** The console's page of what was changed, with a label for the link; by default, the account. */
	link?: { label: string; path: string };
};

const OTHERS = "Your other sessions have ended.";

export const factorEnabled: Change = {
	kind: "two_factor",
	subject: unlinked`A second factor was set up for your Tenantry account`,
	text: unlinked`From now on, signing in requires a code of the authenticator app. ${OTHERS}`,
};

const ONLY_MAIL = "From now on, a link in a mail is enough to sign in.";

/** @param isLast whether no factor is left */
export const factorDisabled = (isLast: boolean): Change => ({
	kind: "two_factor",
	subject: isLast
		? unlinked`The second factor of your Tenantry account was removed`
		: unlinked`The authenticator app of your Tenantry account was removed`,
	text: unlinked`${isLast ? ONLY_MAIL : "Your passkeys remain."} ${OTHERS}`,
});

/** @param isFirst whether it is the user's first factor */
export const passkeyAdded = (name: string, isFirst: boolean): Change => ({
	kind: "two_factor",
	subject: unlinked`A passkey was added to your Tenantry account`,
	text: unlinked`The passkey "${name}" signs in to your account.${isFirst ? ` Without it, signing in requires a recovery code. ${OTHERS}` : ""}`,
});

/** @param isLast whether no factor is left */
export const passkeyRemoved = (name: string, isLast: boolean): Change => ({
	kind: "two_factor",
	subject: unlinked`A passkey of your Tenantry account was removed`,
	text: unlinked`The passkey "${name}" no longer signs in to your account. ${isLast ? `${ONLY_MAIL} ` : ""}${OTHERS}`,
});

export const factorReset: Change = {
	kind: "two_factor",
	subject: unlinked`The second factor of your Tenantry account was reset`,
	text: unlinked`The operator of this service has removed it, with its recovery codes. All your sessions have ended.`,
};

/** An admin has reset it (docs/keys.md#a-lost-second-factor). */
export const factorResetBy = (organization: string): Change => ({
	kind: "two_factor",
	subject: factorReset.subject,
	text: unlinked`${adminOf(organization)} has removed it, with its recovery codes and your passkeys. All your sessions have ended. Sign in with a link by mail, which proves that the address is still yours, then set up a new second factor.`,
	link: { label: "Sign in", path: ownPages.signIn },
});

export const codesReplaced: Change = {
	kind: "two_factor",
	subject: unlinked`The recovery codes of your Tenantry account were replaced`,
	text: unlinked`The old recovery codes no longer work.`,
};

type Key = {
	id: string;
	label: string;
	scopes: string[];
	previous_value_expires_at?: string | null;
};

/** Whether a key can change something. Other keys aren't worth a mail. */
export const canWrite = ({ scopes }: Pick<Key, "scopes">) =>
	scopes.some((scope) => scope === "*" || !scope.endsWith(":read"));

const mayDo = (scopes: string[]) =>
	scopes.includes("*")
		? unlinked`can do everything that you can do`
		: unlinked`has the scopes ${trusted(scopes.join(", "))}`;

const oldValue = (until: string | null) =>
	until === null
		? "Its old value no longer works."
		: trusted(`Its old value works, too, until ${dateAndTime(new Date(until))}.`);

export const keyChanged = (
	action: "created" | "rolled" | "changed",
	{ id, label, scopes, previous_value_expires_at: until = null }: Key,
): Change => ({
	kind: "key",
	subject: unlinked`An API key of your Tenantry account was ${action}`,
	text: unlinked`The key "${label}" ${mayDo(scopes)}.${action === "rolled" ? unlinked` ${oldValue(until)}` : ""}`,
	link: { label: "See the key", path: ownPages.key(id) },
});

/** The first sign-in has proved the address. */
export const keysRevoked = (labels: string[]): Change => ({
	kind: "key",
	subject: unlinked`API keys of your Tenantry account were revoked`,
	text: unlinked`You have signed in, which has proved your email address. These API keys were created before, for example by accepting an invite, so they may have belonged to somebody else, and no longer work: ${labels.join(", ")}. Create new ones if you need them.`,
});

type App = { name: string; host: string | null; organization: string | null };

/** An app got access that can change something. */
export const appAllowed = ({ name, host, organization }: App, scopes: string[]): Change => {
	const owner = host ?? organization;
	const who = owner ? unlinked` of ${owner}` : ", which has registered itself,";
	return {
		kind: "app",
		subject: unlinked`An app got access to your Tenantry account`,
		text: unlinked`The app "${name}"${who} ${mayDo(scopes)}.`,
	};
};

const APP_ENDED = unlinked`The access of an app to your Tenantry account has ended`;

/** The access of an app has ended because its code or refresh token was used twice. */
export const appReused = (name: string): Change => ({
	kind: "app",
	subject: APP_ENDED,
	text: unlinked`A code or token of the app "${name}" was used twice, so somebody may have stolen it. If you still use the app, allow it again.`,
});

/** An admin has ended a key. */
export const keyEnded = (label: string, organization: string): Change => ({
	kind: "key",
	subject: unlinked`An API key of your Tenantry account was revoked`,
	text: unlinked`${adminOf(organization)} has revoked the key "${label}". It no longer works.`,
});

/** An admin has ended the sessions of a member. */
export const sessionsEnded = (organization: string): Change => ({
	kind: "session",
	subject: unlinked`Your sessions on Tenantry have ended`,
	text: unlinked`${adminOf(organization)} has ended them. Sign in again to continue.`,
	link: { label: "Sign in", path: ownPages.signIn },
});

/** An admin has ended the access of an app. */
export const appEnded = (name: string, organization: string): Change => ({
	kind: "app",
	subject: APP_ENDED,
	text: unlinked`An admin of the organization "${organization}" has ended the access of the app "${name}".`,
});

type Identity = { connection: string; email: string };

export const identityLinked = ({ connection, email }: Identity): Change => ({
	kind: "identity",
	subject: unlinked`A way to sign in to your Tenantry account was added`,
	text: unlinked`From now on, the account ${addressText(email)} at ${providerOf(connection)} can sign in.`,
});

const REMOVED = unlinked`A way to sign in to your Tenantry account was removed`;

export const identityRemoved = ({ connection, email }: Identity): Change => ({
	kind: "identity",
	subject: REMOVED,
	text: unlinked`The account ${addressText(email)} at ${providerOf(connection)} is no longer linked to yours, and the sessions that it started have ended.`,
});

/** @param who has unlinked it, such as an admin */
export const identityUnlinked = ({ connection, email }: Identity, who: MailText): Change => ({
	kind: "identity",
	subject: REMOVED,
	text: unlinked`${who} has unlinked the account ${addressText(email)} at ${providerOf(connection)} from yours, and the sessions that it started have ended. If you may still sign in there, your next sign-in links an account again.`,
});

/** Who changes accounts, besides their users. */
export const adminOf = (organization: string) =>
	unlinked`An admin of the organization "${organization}"`;
export const providerOfDomain = (domain: string) => unlinked`The provider of the domain ${domain}`;
export const OPERATOR = unlinked`The operator of this service`;

export const addressChanged = (before: string, after: string, who: MailText): Change => ({
	kind: "address",
	subject: unlinked`The email address of your Tenantry account was changed`,
	text: unlinked`${who} has changed it from ${addressText(before)} to ${addressText(after)}. Mails about your account and links to sign in now go to the new address. You sign in through your provider as before.`,
});

const PAGES = {
	two_factor: ownPages.account,
	key: ownPages.keys,
	session: ownPages.account,
	app: ownPages.account,
	identity: ownPages.account,
	address: ownPages.account,
};

/**
 * Mails a user about a change of their account, if they have proved their address: others might get
 * mails about an account that isn't theirs.
 * @param address the IP address of the request; undefined if it is unknown, null if there was none
 */
export async function mailChange(
	env: Env,
	user_id: number,
	change: Change,
	address: string | undefined | null,
) {
	if (!configured(env)) return;
	const [user] = await drizzle(env.DB)
		.select({ email: users.email, first_name: users.first_name })
		.from(users)
		.where(and(eq(users.id, user_id), isActivePerson, eq(users.is_email_verified, true)));
	if (user) await mailAt(env, { ...user, user_id, emails: [user.email], address }, change);
}

type Recipient = {
	user_id: number;
	first_name: string;
	emails: string[];
	/** As in `mailChange`. */
	address: string | undefined | null;
};

/** Mails a user at these addresses. A user gets at most ten mails of a kind a minute. */
export async function mailAt(
	env: Env,
	{ user_id, first_name, emails, address }: Recipient,
	{ kind, subject, text, link = { label: "Check your account", path: PAGES[kind] } }: Change,
) {
	if (!configured(env)) return;
	const { success } = await env.SIGN_INS.limit({ key: `${kind} of ${user_id}` });
	if (!success) return;
	const from =
		address === null ? "" : unlinked`, from the IP address ${trusted(address ?? "(unknown)")}`;
	for (const to of emails)
		await send(env, {
			to,
			subject,
			paragraphs: [
				greeting(first_name),
				unlinked`${subject} on ${trusted(dateAndTime(new Date()))}${from}.`,
				text,
				unlinked`If you expected this, you don't have to do anything. If not, end the access of keys and apps that you don't know, and tell the admins of your organization.`,
			],
			link: { label: link.label, url: linkTo(env.APP_URL, link.path) },
		});
}

/**
 * Mails the owners of organizations who have proved their address, each once.
 * @param where SQL condition on `members` and `users`: whose owners
 * @param write returns the mail, from the uuid of one of the organizations
 */
export async function mailOwners(
	env: Env,
	where: SQL | undefined,
	write: (organization: string) => Omit<Parameters<typeof send>[1], "to">,
) {
	if (!configured(env)) return;
	const isOwner = and(isAdminLevel, eq(members.level, OWNER));
	const owners = await drizzle(env.DB)
		.select({ email: users.email, first_name: users.first_name, organization: organizations.uuid })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(and(where, isOwner, isActivePerson, eq(users.is_email_verified, true)))
		.groupBy(users.id);
	for (const { email, first_name, organization } of owners) {
		const { paragraphs, ...mail } = write(organization);
		await send(env, { to: email, ...mail, paragraphs: [greeting(first_name), ...paragraphs] });
	}
}

/** Mails the caller about a change of their own account, after the response. */
export const mailCaller = (tenant: Tenant, change: Change) =>
	tenant.later(() => mailChange(tenant.env, tenant.key.user_id, change, tenant.address));
