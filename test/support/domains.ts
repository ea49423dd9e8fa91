import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { domains, organizationId } from "../../src/db/schema/organizations.ts";
import { users } from "../../src/db/schema/people.ts";
import type { Session } from "../../src/db/schema/personal_api_keys.ts";
import { identities } from "../../src/db/schema/sign_in.ts";
import { CERTIFICATE } from "./certificate.ts";
import { db, keyFor } from "./world.ts";

/** The challenge of inserted domains. */
export const CHALLENGE = "challenge-challenge-challenge-challenge-123";

export const domainName = () => `${v7()}.example.com`;

export const verified_at = "2026-01-02T03:04:05.678Z";

/** Inserts a domain of the organization into the database, and returns its id. */
export async function insertDomain(
	organization_id: string,
	row: Partial<typeof domains.$inferInsert> = {},
) {
	const id = v7();
	await db.insert(domains).values({
		id,
		organization_id: organizationId(organization_id),
		domain: domainName(),
		verification_challenge: CHALLENGE,
		...row,
	});
	return id;
}

/** Gives a user an address in a domain. */
export async function moveTo(user: { id: number; uuid: string }, domain: string) {
	const email = `${user.uuid}@${domain}`;
	await db.update(users).set({ email }).where(eq(users.id, user.id));
	return email;
}

/** Links an account at a provider to the user, as a first sign-in does. */
export async function link(user_id: number, connection: string, email: string) {
	const subject = v7();
	await db.insert(identities).values({ connection, subject, user_id, email });
	return subject;
}

/** Creates a session of the user. Returns its key. */
export const sessionOf = (user_id: number, session: Partial<Session> = {}) =>
	keyFor(user_id, {
		label: "Console",
		session: { method: "mail", connection: null, address: null, user_agent: null, ...session },
	});

/** The SAML settings of a domain. */
export const SAML = {
	saml_entity_id: "https://idp.example.com/metadata",
	saml_acs_url: "https://idp.example.com/sso",
	saml_x509_cert: CERTIFICATE,
};
