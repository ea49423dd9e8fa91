import { quoted } from "../../lib/text.ts";
import { CLOCK_TOLERANCE_MS, MINUTE_MS } from "../../lib/time.ts";
import type { Envelope } from "./response.ts";
import { child, children, ResponseError, textOf, type XmlElement } from "./xml.ts";

/** How long an assertion is accepted at most, so that used ones needn't be remembered for longer. */
const MAX_AGE_MS = 60 * MINUTE_MS;

const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

/** A persistent NameID has at most 256 characters (saml-core 8.3.7), a distinguished name more. */
const MAX_NAME_CHARACTERS = 1_000;

/** The two sides of a connection. */
export type Parties = {
	/** The service's entity id, which is the URL of its metadata. */
	entity_id: string;
	acs_url: string;
	/** As in `domains`. */
	saml_entity_id: string;
	saml_acs_url: string;
	saml_x509_cert: string;
};

/** Returns the time of an attribute in milliseconds; undefined if there is no such attribute. */
function timeOf(element: XmlElement, attribute: string) {
	if (!element.hasAttribute(attribute)) return undefined;
	const text = element.getAttribute(attribute);
	const time = Date.parse(text);
	if (Number.isNaN(time)) throw new ResponseError(`${attribute} isn't a time: ${quoted(text)}.`);
	return time;
}

/** Throws unless the time is in the period that the element's attributes limit. */
function checkTime(element: XmlElement, at: number, name = "NotOnOrAfter") {
	const from = timeOf(element, "NotBefore");
	const until = timeOf(element, name);
	if (from !== undefined && at < from - CLOCK_TOLERANCE_MS)
		throw new ResponseError(`The assertion isn't valid before ${new Date(from).toISOString()}.`);
	if (until !== undefined && at >= until + CLOCK_TOLERANCE_MS)
		throw new ResponseError(`The assertion expired at ${new Date(until).toISOString()}.`);
	return until;
}

/** Throws unless the assertion is for this service and for now (saml-core 2.5). */
function checkConditions(assertion: XmlElement, { entity_id }: Parties, at: number) {
	const conditions = child(assertion, "saml:Conditions");
	checkTime(conditions, at);
	const restrictions = children(conditions, "saml:AudienceRestriction").map((restriction) =>
		children(restriction, "saml:Audience").map(textOf),
	);
	if (restrictions.length === 0 || !restrictions.every((names) => names.includes(entity_id)))
		throw new ResponseError(
			`The audience is ${quoted(restrictions.flat().join(", "))}, not ${entity_id}.`,
		);
}

/** The request that a response says it responds to, and the time in milliseconds. */
type Presented = { in_response_to: string; at: number };

/** Throws unless whoever brings the assertion may present it, here and now, for this request. */
function checkConfirmation(
	confirmation: XmlElement,
	{ acs_url }: Parties,
	{ in_response_to, at }: Presented,
) {
	const data = child(confirmation, "saml:SubjectConfirmationData");
	const recipient = data.getAttribute("Recipient");
	if (recipient !== acs_url)
		throw new ResponseError(`The recipient is ${quoted(recipient)}, not ${acs_url}.`);
	if (checkTime(data, at) === undefined)
		throw new ResponseError("The confirmation doesn't expire.");
	if (data.getAttribute("InResponseTo") !== in_response_to)
		throw new ResponseError("The response and its assertion respond to different requests.");
}

/**
 * Throws unless one of the subject's bearer confirmations is valid (saml-core 2.4.1.1, saml-profiles
 * 4.1.4.3). The error is about the first.
 */
function checkConfirmations(subject: XmlElement, parties: Parties, presented: Presented) {
	const bearers = children(subject, "saml:SubjectConfirmation").filter(
		(confirmation) => confirmation.getAttribute("Method") === BEARER,
	);
	if (bearers.length === 0) throw new ResponseError("The assertion has no bearer confirmation.");
	const problems = bearers.map((bearer) => {
		try {
			return checkConfirmation(bearer, parties, presented);
		} catch (error) {
			if (error instanceof ResponseError) return error;
			throw error;
		}
	});
	if (!problems.includes(undefined)) throw problems[0];
}

/**
 * Returns who the assertion is about: the name and its format, because the same name in another
 * format can be somebody else.
 */
function readName(subject: XmlElement) {
	const element = child(subject, "saml:NameID");
	const value = textOf(element);
	const format = element.getAttribute("Format") || UNSPECIFIED;
	if (!value) throw new ResponseError("The NameID has no text.");
	if (value.length + format.length > MAX_NAME_CHARACTERS)
		throw new ResponseError(`The NameID is longer than ${MAX_NAME_CHARACTERS} characters.`);
	if (format === TRANSIENT)
		throw new ResponseError("The NameID is transient: it changes with each sign-in.");
	return { value, format };
}

/** Returns the texts of each attribute. Values that contain elements are left out. */
function readAttributes(assertion: XmlElement) {
	const attributes = children(assertion, "saml:AttributeStatement").flatMap((statement) =>
		children(statement, "saml:Attribute"),
	);
	const texts = attributes.flatMap((attribute) =>
		children(attribute, "saml:AttributeValue").flatMap((value) => {
			const text = textOf(value);
			return text ? [{ name: attribute.getAttribute("Name"), text }] : [];
		}),
	);
	return new Map(
		[...Map.groupBy(texts, ({ name }) => name)].map(([name, values]) => [
			name,
			values.map(({ text }) => text),
		]),
	);
}

/** Throws if the session at the provider has ended. Returns how the person signed in there. */
function readContexts(assertion: XmlElement, at: number) {
	const statements = children(assertion, "saml:AuthnStatement");
	if (statements.length === 0) throw new ResponseError("The assertion is not about a sign-in.");
	return statements.flatMap((statement) => {
		checkTime(statement, at, "SessionNotOnOrAfter");
		return children(statement, "saml:AuthnContext").flatMap((context) =>
			children(context, "saml:AuthnContextClassRef").flatMap((ref) => textOf(ref) ?? []),
		);
	});
}

/** Throws unless the domain's provider issued the assertion, a short time ago. */
function checkIssue(assertion: XmlElement, envelope: Envelope, parties: Parties, at: number) {
	const issuer = textOf(child(assertion, "saml:Issuer"));
	for (const name of [issuer, envelope.issuer ?? issuer])
		if (name !== parties.saml_entity_id)
			throw new ResponseError(`The issuer is ${quoted(name)}, not ${parties.saml_entity_id}.`);
	const issued = timeOf(assertion, "IssueInstant");
	if (issued === undefined) throw new ResponseError("The assertion has no IssueInstant.");
	if (at < issued - CLOCK_TOLERANCE_MS || at >= issued + MAX_AGE_MS)
		throw new ResponseError(`The assertion was issued at ${new Date(issued).toISOString()}.`);
	return issued;
}

/** The content of an assertion, once it is known that its provider says it to this service now. */
export type Assertion = ReturnType<typeof readAssertion>;

/**
 * Checks an assertion whose signature was verified.
 * @param at milliseconds
 * @throws ResponseError
 */
export function readAssertion(
	assertion: XmlElement,
	envelope: Envelope,
	parties: Parties,
	at: number,
) {
	const issued = checkIssue(assertion, envelope, parties, at);
	const { destination } = envelope;
	if (destination !== "" && destination !== parties.acs_url)
		throw new ResponseError(`The destination is ${quoted(destination)}, not ${parties.acs_url}.`);
	checkConditions(assertion, parties, at);
	const subject = child(assertion, "saml:Subject");
	const { in_response_to } = envelope;
	checkConfirmations(subject, parties, { in_response_to, at });
	return {
		id: assertion.getAttribute("ID"),
		/** Milliseconds. From then on, the assertion is rejected. */
		expires: issued + MAX_AGE_MS,
		/** null: the provider started the sign-in. */
		in_response_to: in_response_to || null,
		name: readName(subject),
		attributes: readAttributes(assertion),
		contexts: readContexts(assertion, at),
	};
}
