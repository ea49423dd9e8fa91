import { and, eq, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { connect } from "../../db/bookmark.ts";
import { runBatch } from "../../db/client.ts";
import { domains, notMoving } from "../../db/schema/organizations.ts";
import { isActivePerson, users } from "../../db/schema/people.ts";
import { identities } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { domainOf } from "../../people/connections.ts";
import { type Problem, SignInError } from "./problems.ts";
import type { Verified } from "./shape.ts";

/**
 * SQL condition on `domains`: the verified domain of this address, if it signs people in through
 * this connection. The operator's providers belong to no domain: it must not enforce another way.
 */
export const signsIn = ({ connection, domain_id, email }: Verified) =>
	and(
		eq(domains.domain, domainOf(email)),
		isNotNull(domains.verified_at),
		domain_id === null
			? inArray(domains.sso_enforcement, ["", connection])
			: eq(domains.id, domain_id),
	);

/**
 * SQL condition on `domains`: who signs in and has no account gets one, unless the organization is
 * moving. If SCIM manages the domain, only SCIM adds people: it may have given the account of somebody who has left another address, so
 * that they would come back as somebody else.
 */
export const createsAccounts = sql`(${domains.jit_provisioning_enabled} and not exists (
	select 1 from scim_tokens as token
	where token.organization_id = domains.organization_id and token.domain_id = domains.id)
	and ${notMoving(domains.organization_id)})`;

/** The formats of NameIDs that are addresses (saml-core 8.3.2). Some providers write the second one. */
const ADDRESSES = [
	"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
	"urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress",
];

/** SQL condition: the subject is a NameID that is an address, so that its ASCII case means nothing. */
const isAddress = (connection: SQL, subject: SQL) => sql`(${connection} like 'saml:%'
	and substr(${subject}, 1, instr(${subject}, ' ') - 1) in (select value from json_each(${JSON.stringify(ADDRESSES)})))`;

/**
 * SQL for the subject of this account at the provider as `identities` has it; null if it isn't
 * linked. Only if no link has exactly this one, it reads all links of the connection.
 */
export const linkedSubject = (connection: SQL, subject: SQL) => sql<string | null>`coalesce(
	(select same.subject from identities as same where same.connection = ${connection} and same.subject = ${subject}),
	(select same.subject from identities as same where same.connection = iif(${isAddress(connection, subject)}, ${connection}, null)
		and same.subject = ${subject} collate nocase))`;

/** SQL condition on `identities`: the account at the provider, as `find` returns it. */
export const isIdentity = ({ connection, subject }: Verified) =>
	and(eq(identities.connection, connection), eq(identities.subject, subject));

/** SQL condition: the user has another account at the provider. */
export const hasOther = (user_id: SQL | number | typeof users.id, who: Verified) => sql`exists (
	select 1 from ${identities} where ${identities.user_id} = ${user_id}
		and ${identities.connection} = ${who.connection} and ${identities.subject} <> ${who.subject})`;

const columns = {
	id: users.id,
	uuid: users.uuid,
	email: users.email,
	is_active: sql`${isActivePerson}`.mapWith(Boolean).as("is_active_person"),
};

export type Found = Awaited<ReturnType<typeof find>>;

/**
 * Returns the user whose identity this is, the user with the address, and the domain that lets its
 * people sign in with it. One round trip.
 */
export async function find(c: Context<App>, who: Verified) {
	const { db } = connect(c, "first-primary");
	const { linked, accounts, domain } = await runBatch(db, {
		linked: db
			.select({ ...columns, subject: identities.subject })
			.from(identities)
			.innerJoin(users, eq(users.id, identities.user_id))
			.where(
				and(
					eq(identities.connection, who.connection),
					eq(identities.subject, linkedSubject(sql`${who.connection}`, sql`${who.subject}`)),
				),
			),
		accounts: db
			.select({ ...columns, has_other: hasOther(users.id, who).mapWith(Boolean).as("has_other") })
			.from(users)
			.where(eq(users.email, who.email)),
		domain: db
			.select({
				id: domains.id,
				organization_id: domains.organization_id,
				domain: domains.domain,
				is_verified: isNotNull(domains.verified_at).mapWith(Boolean).as("is_verified"),
				creates_accounts: createsAccounts.mapWith(Boolean).as("creates_accounts"),
				jit_provisioning_level: domains.jit_provisioning_level,
			})
			.from(domains)
			.where(who.domain_id === null ? signsIn(who) : eq(domains.id, who.domain_id)),
	});
	const subject = linked[0]?.subject ?? who.subject;
	return {
		db,
		who: { ...who, subject },
		linked: linked[0],
		account: accounts[0],
		domain: domain[0],
	};
}

const problem = ({ who, domain }: Found, code: Problem, detail: string) =>
	new SignInError(code, detail, {
		email: who.email,
		organization_id: domain?.organization_id,
	});

/** Throws the first reason why the account at the provider can't sign in. */
export function checkFound(found: Found) {
	const { who, linked, account, domain } = found;
	const { email } = who;
	if (!who.is_email_verified)
		throw problem(found, "email_not_verified", `The provider hasn't verified ${email}.`);
	if (who.domain_id !== null && !domain?.is_verified)
		throw problem(found, "domain_not_verified", "The domain of the connection isn't verified.");
	if (who.domain_id !== null && domainOf(email) !== domain?.domain)
		throw problem(found, "wrong_domain", `${email} isn't an address of ${domain?.domain}.`);
	const user = linked ?? account;
	if (user && !user.is_active)
		throw problem(found, "account_deactivated", `The account ${user.email} is deactivated.`);
	if (!linked) checkLinkable(found);
}

/** Throws the first reason why the account at the provider can't be linked to a user. */
function checkLinkable(found: Found) {
	const { who, account, domain } = found;
	const { email } = who;
	if (account?.has_other)
		throw problem(
			found,
			"linked_to_another",
			`The account ${email} is linked to another account at the provider. If the same person now has this one, unlink the other one under Members, or with DELETE …/members/${account.uuid}/identities/${who.connection}/.`,
		);
	if (account && !domain)
		throw problem(
			found,
			"account_not_linked",
			`The domain of ${email} doesn't sign in through this provider.`,
		);
	if (!account && !domain?.creates_accounts)
		throw problem(
			found,
			"no_account",
			`No account has the address ${email}, and just-in-time provisioning is off, SCIM manages the domain, or the organization is being moved.`,
		);
}
