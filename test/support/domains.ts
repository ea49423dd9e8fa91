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
MIIDGTCCAgGgAwIBAgIUWn7GZp8BVJ7QMJoaFWnFoMv/AhQwDQYJKoZIhvcNAQEL
BQAwGzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTAgFw0yNjExMjcwMzM2NTNa
GA8yMTI2MTEwMzAzMzY1M1owGzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTCC
ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAMCXSBwvgDNIAZTEAClnOQai
rdp+dakyFrysvVJK3A/xW1+3wer0eHcgNK24nycoQPkuzSdoauyouLW5DVeMzhcB
t5X7bmT8EIUi3inI4cqfQ/klEsVwpdLBd8DVSvK0ZR3Pm/3hu2qEaOg1WzIa0kuA
Vi73+5ENWNcYqQtuKQrgkWsZQqtiB21ER1zmoP3CHeFgqqpkH2faqd7RNcU5LNoE
Gv3fAy4SI9T7moEk6po7Y0nRBNVI30oVQu9Luwhc5YVyb7Ca1mdlxIRoaLmyDLI7
2IpG1khbgUyChNfOMr72+hFYQ7mYbkQ/nuvJz3JFLH3pUImjD6wQgPRS9Lb2lwUC
AwEAAaNTMFEwHQYDVR0OBBYEFArzJO1dSyxaGS5awAon11I3QyvSMB8GA1UdIwQY
MBaAFArzJO1dSyxaGS5awAon11I3QyvSMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI
hvcNAQELBQADggEBAIi6MMZvIqj/DMTI+6AE8bOaS2WXvYK7k7NUYT/IVpazl17l
H0GcdQoozAiRYrs9QFI3k7claf9Z59DNYNTNRO6vc4CamNMEudS8ejrdd9SgUI79
hcgztBRDafrV0S+uM3ch5oUFZCfaPxcKgsUME0V1FZOSw23dJKSjh/umbTXwAjEf
KlmAegCXoOwNm8vMaKGtfZWt+2N8wMJpobzbxk2HipjZKXS7g5k9o9mLrcBKTib2
GF1BHG2siL780gS2siDDVxCFcAr1kMDCBpgBIz5Ot79qmeHsO13sifN4RYsKfdjI
mJ6s/41yZtDAw5LPgfbdTtaCq9cZTDpX4AsNpnw=
-----END CERTIFICATE-----`,
	`-----BEGIN CERTIFICATE-----
MIIDGTCCAgGgAwIBAgIUOm7PVX8fq7U0624kwcG07zFcTt8wDQYJKoZIhvcNAQEL
BQAwGzEZMBcGA1UEAwwQaWRwMi5leGFtcGxlLmNvbTAgFw0yNjExMjcwMzM2NTNa
GA8yMTI2MTEwMzAzMzY1M1owGzEZMBcGA1UEAwwQaWRwMi5leGFtcGxlLmNvbTCC
ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBALU14ZqxXnm/jUhJ3S2qeOBR
O25rJ32DICzn9plAV/4ZX1PSUCi1HL0K+xDu4qLGB8Ic2Q+PW64TXalQylq0MVSp
apaExufuxrneOGHByvkpP18yWUk4uK15K/XeVLqthfeBJO6dA+4obAgFWS/ykEAK
fwoF4XarN82u1sX8wfW2CTlwLxQcQr+fKIzCpGqclFKtRbhhrVC+O58/gLS4UdX6
6nBvw6qA87MAPSY3NvofU9qEQPq40Bb0T4wLhjA3rbMELu7DMhTvasQRxQ1TajE4
QhkUA3pBqmkQC/8CebXt/wLMrSI+j43Vz4QxsIdhlptgQeksJLcJQKfbLK9q1QEC
AwEAAaNTMFEwHQYDVR0OBBYEFIvPdKN/m6rFmyaCRuirQLbsEje8MB8GA1UdIwQY
MBaAFIvPdKN/m6rFmyaCRuirQLbsEje8MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI
hvcNAQELBQADggEBACgYNB0ig5QVnDIuJfBczgeOC/IpceOd3k2G2rE+Q7SlTRwL
r2xc+UxrZPvDYvMulu1S9q4GTZlGVsy5ATd1UH4T/AqKrLaDdIC4ojMeMSkbSzek
B18r2gNecjgF71XyGVa9uYtHoBqDzb6Xdm3SeRZZPktFcQmndO6/ddeVd/5UAwIB
HzQli2qcXP2kcUEEQitFvt7LjrvyAnGFx7vDI0HJEJC6fCDMcw4T3Ed/XoZL4kBn
QM30PaTwBbc8i3cVzh2M+JJdpLVtca2EC/SMadIoEAmViecMe2wWi/Qo8GtJ7KPs
TQzJVaC72wRAv5PT/Dajz0LaMOFYf3hdwRchSZQ=
-----END CERTIFICATE-----`,
	`-----BEGIN CERTIFICATE-----
MIIDGTCCAgGgAwIBAgIUDNDQ7KY+jpuHuRwRwuu2P0yDMZQwDQYJKoZIhvcNAQEL
BQAwGzEZMBcGA1UEAwwQaWRwMy5leGFtcGxlLmNvbTAgFw0yNjExMjcwMzM3MjNa
GA8yMTI2MTEwMzAzMzcyM1owGzEZMBcGA1UEAwwQaWRwMy5leGFtcGxlLmNvbTCC
ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAOawK+0KJAHTugKkkeJmd9lP
D/m46EgxAHdaknSOJX76kqqdBI4nwmGyHTMiMTsZCur/05VVvm9WqjynnJG6xbDi
z7G9JiizWlZojvYCcCIFG6tK53dzQMKX1eMUBu7dIFpWeHooKEoskFGchUWEujvZ
SePs8eJ7xP5ohtMLHm+F85lFk5I88pYHmkmiafPsP0c+Svodpr7bzfXhpOK5HYIp
GUpj5ncVabP4MqVsIbVelM6nRb3WnxWQidqs2Zg8o7Tr2pEsXQRHjoD9qkD+0LYa
Xyx8TRpzPCuzKbeMrogke08HW2uFiUdSX5Xu7Hyr2PL4rcAcus1Opy6HrcISd/kC
AwEAAaNTMFEwHQYDVR0OBBYEFH8GV9nz8IHXbv2qH8aMo+odcQA9MB8GA1UdIwQY
MBaAFH8GV9nz8IHXbv2qH8aMo+odcQA9MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI
hvcNAQELBQADggEBADjML9I9RZ+ugAyRrMrSkwzKfNQOvkhRDg5RrIOPohGEOK7G
Yuuaz65jrEgXOLnySZsCvLFUoAcZZxB/lNYOCDZVOjAI2FFoUsD9x+B31DaRKQLE
aH34TsPLbC2RFex40wSBpzjTIHodoSWD+fKngA+/kp1XzSo1ZBlcHuAjkc3oFa6E
jYhzNyOD2V0NDfJ9yt+lsPt4johBeRg9QJWBpnMRG3fQrZ9wsdr2H3/3ev6hIxwx
GZ9vTB6ofEaPnzP8I53c5Hrz6xbnB2+3GHnDhGNMOvPyr4EM9yCEi0sfEbr7yrbZ
nJyP5EEMC2Il2NbHzlCTl0ipAJ0szHwYyZxVX9g=
-----END CERTIFICATE-----`,
] as const;

/** A certificate with another kind of key than RSA, which SAML providers don't use. */
export const ELLIPTIC = `-----BEGIN CERTIFICATE-----
MIIBjDCCATOgAwIBAgIUE+tKlW9yWzhFmkWfXX5dwj1z6MwwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTAgFw0yNjExMjcwMDIwMDBaGA8y
MTI2MTEwMzAwMjAwMFowGzEZMBcGA1UEAwwQaWRwMS5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABIlgCqg1BgYT5TAxAViXr5l2qWbJYotv73lM
JzJUjgugqRCQjhwv6VzPPyQIFEOfq5CICfVEQO6Ykd1wu6Hz7T2jUzBRMB0GA1Ud
DgQWBBTAGPBBpDuTNthsDYZwf/ypfmNN3DAfBgNVHSMEGDAWgBTAGPBBpDuTNths
DYZwf/ypfmNN3DAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIEg1
HpJ0haAsih94ZQxWRAgy0SBVlvsDYxvCTf42ABwPAiBiwWqAbRYX9fVm61pDzRjE
EKfwXjlW7ymi8LqOxHEiaQ==
-----END CERTIFICATE-----`;

/** The SAML settings of a domain. */
export const SAML = {
	saml_entity_id: "https://idp.example.com/metadata",
	saml_acs_url: "https://idp.example.com/sso",
	saml_x509_cert: CERTIFICATES[0],
};
