import { redactor } from "../keys/secrets.ts";

/** How many characters of a server's message an error quotes (docs/exports.md#runs). */
const MAX_QUOTED_CHARACTERS = 300;

/** How many characters of a page are searched for text. */
const MAX_PAGE_CHARACTERS = 8192;

const ENTITIES: Record<string, string> = {
	amp: "&",
	lt: "<",
	gt: ">",
	quot: '"',
	apos: "'",
	"#34": '"',
	"#39": "'",
	"#x27": "'",
};

/** The forms of a secret in Base64 and base64url, alone or at any offset of a longer text. */
function inBase64(secret: string) {
	const bytes = Buffer.from(secret);
	const variants = [0, 1, 2].map((offset) => {
		const all = Buffer.concat([Buffer.alloc(offset), bytes]);
		// Without the characters that depend on the neighbouring bytes.
		return all.toString("base64").slice(offset && offset + 1, Math.floor((all.length * 4) / 3));
	});
	const whole = bytes.toString("base64");
	return [whole, whole.replace(/={1,2}$/, ""), ...variants].flatMap((text) => [
		text,
		text.replaceAll("+", "-").replaceAll("/", "_"),
	]);
}

/** Returns the encodings in which a server may repeat a secret. */
function variantsOf(secret: string) {
	const escaped = encodeURIComponent(secret.toWellFormed());
	return [
		secret,
		escaped,
		escaped.replaceAll("%20", "+"),
		escaped.replace(/%../g, (code) => code.toLowerCase()),
		...inBase64(secret),
	];
}

const hide = (secrets: string[], message: string) => redactor(secrets.flatMap(variantsOf))(message);

/** Returns the start of a server's message, without secrets. */
const excerpt = (secrets: string[], message: string) =>
	hide(secrets, message).slice(0, MAX_QUOTED_CHARACTERS);

/** Quotes a server's message in an error: shortened, without secrets, and with a full stop. */
export const quote = (secrets: string[], message: string) =>
	excerpt(secrets, message).replace(/\.?$/, ".");

const unescapeXml = (text: string) =>
	text.replace(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity);

/** Finds all XML elements with this name and without others in them. */
const elements = (name: string, xml: string) =>
	xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"));

export const elementsOf = (name: string, xml: string) =>
	Array.from(elements(name, xml), ([, text = ""]) => unescapeXml(text));

/** Returns the text of an XML element, with its entities; "" if there is none. */
export const elementOf = (name: string, xml: string) =>
	elements(name, xml).next().value?.[1]?.trim() ?? "";

/**
 * Returns the text of a page without markup, or the code and message of a storage service's XML
 * error. For Google, also its details, which have the missing permission. For Azure, without the ID
 * and the time of the request at the end of the message.
 */
function textOf(page: string) {
	const code = elementOf("Code", page);
	const message = [
		elementOf("Message", page).replace(/(?<!\s)\s*RequestId:.*/s, ""),
		elementOf("Details", page),
	].filter(Boolean);
	const text = code
		? [code, message.join(" ")].filter(Boolean).join(": ")
		: page.replace(/<(script|style)\b.*?(?:<\/\1>|$)/gis, " ").replace(/<[^<>]*>/g, " ");
	return unescapeXml(text);
}

/** Quotes a response body: without secrets, shortened, on one line; "" for binary data. */
export function quoteBody(secrets: string[], body: string) {
	// Secrets are removed first, because cutting or changing the body could leave parts of them.
	const text = hide(secrets, body).slice(0, MAX_PAGE_CHARACTERS);
	if (/[\0\ufffd]/.test(text)) return "";
	const readable = /^\s*</.test(text) ? textOf(text) : text;
	return excerpt(secrets, readable.replace(/\s+/g, " ").trim());
}
