import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { organizationId } from "../../src/db/organization_ids.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { identities } from "../../src/db/schema/identities.ts";
import type { Session } from "../../src/db/schema/personal_api_keys.ts";
import { users } from "../../src/db/schema/users.ts";
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

/** Certificates of providers, as PEM. */
export const CERTIFICATES = [
	`-----BEGIN CERTIFICATE-----
MIIBjDCCATOgAwIBAgIUE+tKlW9yWzhFmkWfXX5dwj1z6MwwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTAgFw0yNjExMjcwMDIwMDBaGA8y
MTI2MTEwMzAwMjAwMFowGzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABIlgCqg1BgYT5TAxAViXr5l2qWbJYotv73lM
JzJUjgugqRCQjhwv6VzPPyQIFEOfq5CICfVEQO6Ykd1wu6Hz7T2jUzBRMB0GA1Ud
DgQWBBTAGPBBpDuTNthsDYZwf/ypfmNN3DAfBgNVHSMEGDAWgBTAGPBBpDuTNths
DYZwf/ypfmNN3DAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIEg1
HpJ0haAsih94ZQxWRAgy0SBVlvsDYxvCTf42ABwPAiBiwWqAbRYX9fVm61pDzRjE
EKfwXjlW7ymi8LqOxHEiaQ==
-----END CERTIFICATE-----`,
	`-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUWiW/iMqWWFpCJUp7iJ2uY/T/daowCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQaWRwMi5leGFtcGxlLmNvbTAgFw0yNjExMjcwMDIwMDBaGA8y
MTI2MTEwMzAwMjAwMFowGzEZMBcGA1UEAwwQaWRwMi5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABB9YL9IpDIY8/iIS2cx+6YPibs0KA0OO/t84
KGK8L6ObolXl7vfFuMTLwcGX6Fk6mbpU+dOtblA7Q/s+fJLxi+yjUzBRMB0GA1Ud
DgQWBBRfr017bmJLk1DqhOasjajQNNj8jjAfBgNVHSMEGDAWgBRfr017bmJLk1Dq
hOasjajQNNj8jjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDQ
ieyYfMAivpAYde8adXiVN/Y0vtHpgCC+l3loCvvghgIhAOEvRb467j3+Gfhg3jtv
N3B3b8SpQGJ+WkxHjwBB4xf8
-----END CERTIFICATE-----`,
	`-----BEGIN CERTIFICATE-----
MIIBjTCCATOgAwIBAgIUbPMdwpskiktfyw7+89aB8aI8KrswCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQaWRwMy5leGFtcGxlLmNvbTAgFw0yNjExMjcwMDIwMDBaGA8y
MTI2MTEwMzAwMjAwMFowGzEZMBcGA1UEAwwQaWRwMy5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABPLrqIETxjJtFGfdbEy6xDOyCIgOwfhAyhMw
HjsI/WyDH9V1cGfUpd+i+guPVp/LXc/4Tc1B2NS9iH0clc2mPoqjUzBRMB0GA1Ud
DgQWBBTV626yhMJW8KOFl5IKtDXRfRzVNzAfBgNVHSMEGDAWgBTV626yhMJW8KOF
l5IKtDXRfRzVNzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCe
/wDi4TOXS5qQ5nz6LgkbatY1TnLVued2c+ZD/4OHxQIgA5ZLtOcq87MzqMDIj4ne
iEBXtae0uu0tlceXjZzuNYs=
-----END CERTIFICATE-----`,
] as const;

/** The SAML settings of a domain. */
export const SAML = {
	saml_entity_id: "https://idp.example.com/metadata",
	saml_acs_url: "https://idp.example.com/sso",
	saml_x509_cert: CERTIFICATES[0],
};
