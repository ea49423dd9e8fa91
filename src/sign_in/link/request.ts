import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { v7 } from "uuid";
import type * as z from "zod";
import { insertWhere, runBatch } from "../../db/client.ts";
import { isActivePerson, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { canStillBeUsed, LIFETIME_MS, MAIL_WINDOW_MS, signIns } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { invalid } from "../../http/errors.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { logWarning } from "../../lib/log.ts";
import { iso } from "../../lib/time.ts";
import { ownPages } from "../../outbound/console.ts";
import {
	addressText,
	configured,
	greeting,
	linkTo,
	type Mail,
	send,
	unlinked,
} from "../../outbound/mail.ts";
import { providerOf } from "../../people/connections.ts";
import { ssoOf } from "../../people/identities/sign_in_rules.ts";
import type { SignInRequested } from "./shape.ts";

type Recipient = { first_name: string; email: string; loses_keys: boolean };

const UNWANTED = unlinked`If you didn't request this mail, ignore it. Nobody else can use it.`;

/** Returns a link with the token in the fragment, which browsers don't send to servers. */
const linkOf = ({ APP_URL }: Env, token: string) =>
	linkTo(APP_URL, `${ownPages.signIn}#token=${token}`);

/** Returns the mail with a sign-in link. */
const mailLink = (env: Env, recipient: Recipient, token: string): Mail => ({
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
const mailSso = ({ APP_URL }: Env, recipient: Recipient, sso: string): Mail => ({
	to: recipient.email,
	subject: unlinked`Sign in to Tenantry through single sign-on`,
	paragraphs: [
		greeting(recipient.first_name),
		unlinked`Your organization requires single sign-on (${providerOf(sso)}) for email addresses like ${addressText(recipient.email)}, so this mail has no sign-in link.`,
		UNWANTED,
	],
	link: { label: "Go to the sign-in page", url: linkTo(APP_URL, ownPages.signIn) },
});

/** The number of mails to a user per hour, besides those that are sent because no link is open. */
const MAX_MAILS = 5;

/**
 * Mails a link after the response, if a user has the email address. Everything that depends on the
 * address happens after the response, so that neither the response nor its time reveals whether a
 * user has the address.
 * @throws 400 if the service can't send mail
 */
export function requestLink(c: Context<App>, email: string): z.infer<typeof SignInRequested> {
	if (!configured(c.env))
		throw invalid(
			null,
			"Signing in by mail is not configured: MAIL_FROM and APP_URL are not both set.",
		);
	const failed = (error: unknown) => {
		// The message of a database error contains the values of its query.
		const name = error instanceof Error ? error.name : "unknown";
		logWarning("A sign-in link was not created", name, { request_id: c.var.requestId });
	};
	c.executionCtx.waitUntil(mail(c.env, email).catch(failed));
	return { detail: "If somebody has this address, a mail is on its way to it." };
}

/**
 * Stores a link and mails it, unless no user has the email address, or the user has received too
 * many mails and can still use one of their links. So other people's requests never keep a user
 * from signing in. Mails without a link have no such exception.
 */
async function mail(env: Env, email: string) {
	const db = drizzle(env.DB);
	const id = v7();
	const token = newToken();
	const at = Date.now();
	const user_id = sql<number>`(select ${users.id} from ${users}
		where ${users.email} = ${email} and ${isActivePerson})`;
	const isMailed = eq(signIns.method, "mail");
	const mails = sql`(select count(*) from ${signIns} where ${signIns.user_id} = ${user_id} and ${isMailed} and ${signIns.created_at} > ${iso(at - MAIL_WINDOW_MS)})`;
	const sso = ssoOf(sql`${email}`);
	const hasOpenLink = sql`exists (select 1 from ${signIns} where ${signIns.user_id} = ${user_id} and ${isMailed} and ${canStillBeUsed()})`;
	const row = {
		id,
		user_id,
		token_hash: await digest(token),
		created_at: iso(at),
		expires_at: sql`iif(${sso} is null, ${iso(at + LIFETIME_MS)}, ${iso(at)})`,
	};
	const { recipients } = await runBatch(db, {
		link: insertWhere(
			db,
			signIns,
			row,
			sql`${user_id} is not null and (${mails} < ${MAX_MAILS} or ${sso} is null and not ${hasOpenLink})`,
		),
		recipients: db
			.select({
				first_name: users.first_name,
				email: users.email,
				sso: sso.as("sso"),
				loses_keys:
					sql`(not ${users.is_email_verified} and exists (select 1 from ${personalApiKeys} where ${personalApiKeys.user_id} = ${users.id}))`
						.mapWith(Boolean)
						.as("loses_keys"),
			})
			.from(signIns)
			.innerJoin(users, eq(users.id, signIns.user_id))
			.where(eq(signIns.id, id)),
	});
	const [recipient] = recipients;
	if (!recipient) return;
	const mailed =
		recipient.sso === null
			? mailLink(env, recipient, token)
			: mailSso(env, recipient, recipient.sso);
	await send(env, mailed);
}
