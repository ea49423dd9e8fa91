import type { Assertion } from "./assertion.ts";

/** The names that providers give to attributes, in lower case. */
const EMAIL = [
	"email",
	"mail",
	"emailaddress",
	"email_address",
	"user.email",
	"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
	"urn:oid:0.9.2342.19200300.100.1.3",
];
const FIRST_NAME = [
	"first_name",
	"firstname",
	"givenname",
	"given_name",
	"user.firstname",
	"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname",
	"urn:oid:2.5.4.42",
];
const LAST_NAME = [
	"last_name",
	"lastname",
	"surname",
	"sn",
	"family_name",
	"user.lastname",
	"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname",
	"urn:oid:2.5.4.4",
];

/** The attribute in which Microsoft lists how the person signed in. */
const METHODS = "http://schemas.microsoft.com/claims/authnmethodsreferences";

/** Ways to sign in that include a second factor. */
const FACTORS = new Set([
	"http://schemas.microsoft.com/claims/multipleauthn",
	"https://refeds.org/profile/mfa",
	"urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract",
	"urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered",
	"urn:oasis:names:tc:SAML:2.0:ac:classes:SmartcardPKI",
]);

/** The attributes that are shown when a connection is tested. */
const MAX_ATTRIBUTES = 50;
const MAX_SHOWN_CHARACTERS = 500;

/** What a sign-in needs to know of an assertion (docs/sign-on.md#saml). */
export function toClaims({ name, attributes, contexts }: Assertion) {
	const first = (names: string[]) => {
		const entries = [...attributes].filter(([name]) => names.includes(name.toLowerCase()));
		return entries[0]?.[1][0];
	};
	const methods = [...contexts, ...(attributes.get(METHODS) ?? [])];
	const shown = [...attributes].slice(0, MAX_ATTRIBUTES);
	const claims: Record<string, string> = {
		NameID: name.value,
		"NameID Format": name.format,
		AuthnContext: contexts.join(", "),
	};
	for (const [name, texts] of shown) claims[name] = texts.join(", ").slice(0, MAX_SHOWN_CHARACTERS);
	return {
		subject: `${name.format} ${name.value}`,
		email: first(EMAIL) ?? name.value,
		first_name: first(FIRST_NAME) ?? "",
		last_name: first(LAST_NAME) ?? "",
		has_factor: methods.some((method) => FACTORS.has(method)),
		claims,
	};
}
