import { namesOf } from "../../lib/person_names.ts";
import type { Assertion } from "./assertion.ts";

const MICROSOFT = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";
const MACE = "urn:mace:dir:attribute-def";

/**
 * The names that providers give to attributes. Those of people who set up a provider by hand are
 * compared in lower case and without what separates words: `e-mail`, `First Name`, `user.email`.
 */
const NAMES = {
	email: [
		...["email", "mail", "emailaddress", "useremail", "usermail"],
		`${MICROSOFT}/emailaddress`,
		"http://schemas.xmlsoap.org/claims/EmailAddress",
		"urn:oid:0.9.2342.19200300.100.1.3",
		"urn:oid:1.2.840.113549.1.9.1",
		...[`${MACE}:mail`, `${MACE}:email`, `${MACE}:emailAddress`],
	],
	first_name: [
		...["firstname", "givenname", "userfirstname", "usergivenname"],
		`${MICROSOFT}/givenname`,
		"http://schemas.xmlsoap.org/claims/FirstName",
		"urn:oid:2.5.4.42",
		`${MACE}:givenName`,
	],
	last_name: [
		...["lastname", "surname", "sn", "familyname", "userlastname", "usersurname"],
		`${MICROSOFT}/surname`,
		"http://schemas.xmlsoap.org/claims/LastName",
		"urn:oid:2.5.4.4",
		...[`${MACE}:sn`, `${MACE}:surname`],
	],
	/** Microsoft's claim `name` isn't among them, because it is the name for signing in. */
	name: [
		...["displayname", "fullname", "name", "cn", "commonname", "userdisplayname"],
		"http://schemas.microsoft.com/identity/claims/displayname",
		"http://schemas.xmlsoap.org/claims/CommonName",
		...["urn:oid:2.16.840.1.113730.3.1.241", "urn:oid:2.5.4.3"],
		...[`${MACE}:displayName`, `${MACE}:cn`],
	],
};

const simplified = (name: string) => name.toLowerCase().replace(/[\s._-]/g, "");

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

const cut = (text: string) => text.slice(0, MAX_SHOWN_CHARACTERS).toWellFormed();

/** The parts of an assertion that a sign-in needs (docs/sign-on.md#saml). */
export function toClaims({ name, attributes, contexts }: Assertion) {
	const first = (kind: keyof typeof NAMES) => {
		const names = NAMES[kind].map(simplified);
		return [...attributes].find(([name]) => names.includes(simplified(name)))?.[1][0];
	};
	const methods = [...contexts, ...(attributes.get(METHODS) ?? [])];
	const shown = [...attributes].slice(0, MAX_ATTRIBUTES);
	const claims: Record<string, string> = {
		NameID: name.value,
		"NameID Format": name.format,
		AuthnContext: cut(contexts.join(", ")),
	};
	for (const [name, texts] of shown) claims[cut(name)] = cut(texts.join(", "));
	return {
		subject: `${name.format} ${name.value}`,
		email: first("email") ?? name.value,
		...namesOf({
			first: first("first_name"),
			last: first("last_name"),
			full: first("name"),
		}),
		has_factor: methods.some((method) => FACTORS.has(method)),
		claims,
	};
}
