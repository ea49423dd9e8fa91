import { redactor } from "../../auth/secrets.ts";

/** How much of a server's own message an error shows (docs/exports.md#runs). */
const MAX_QUOTED_CHARACTERS = 300;

/** How much of a page is searched for text. */
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

/** The text in base64 and its URL-safe form, wherever it begins in the text that was encoded. */
function inBase64(secret: string) {
	const bytes = Buffer.from(secret);
	const variants = [0, 1, 2].map((offset) => {
		const all = Buffer.concat([Buffer.alloc(offset), bytes]);
		// Characters that also depend on what stands before or after are left out.
		return all.toString("base64").slice(offset && offset + 1, Math.floor((all.length * 4) / 3));
	});
	const whole = bytes.toString("base64");
	return [whole, whole.replace(/=+$/, ""), ...variants].flatMap((text) => [
		text,
		text.replaceAll("+", "-").replaceAll("/", "_"),
	]);
}

/** The ways in which servers repeat what they were sent. */
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

/** The beginning of a server's own message, without the secrets that it may repeat. */
const excerpt = (secrets: string[], message: string) =>
	hide(secrets, message).slice(0, MAX_QUOTED_CHARACTERS);

/** A server's own message, for an error text: without the secrets that it may repeat, shortened, as a sentence. */
export const quote = (secrets: string[], message: string) =>
	excerpt(secrets, message).replace(/\.?$/, ".");

/** The text of an element; "": there is none. */
export const elementOf = (name: string, xml: string) =>
	new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim() ?? "";

/**
 * What a page says, without its markup; of an error in XML, as storage services answer it, its code and message. Google's
 * details name the permission that is missing; Azure's message ends with the ID and the time of the request.
 */
function textOf(page: string) {
	const code = elementOf("Code", page);
	const message = [
		elementOf("Message", page).replace(/\s*RequestId:.*/s, ""),
		elementOf("Details", page),
	].filter(Boolean);
	const text = code
		? [code, message.join(" ")].filter(Boolean).join(": ")
		: page.replace(/<(script|style)\b.*?<\/\1>/gis, " ").replace(/<[^>]*>/g, " ");
	return text.replace(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}

/** What a body says, for an error text: without secrets, shortened, on one line; "" for binary data. */
export function quoteBody(secrets: string[], body: string) {
	// Hidden before the body is cut or changed, which might leave part of a secret.
	const text = hide(secrets, body).slice(0, MAX_PAGE_CHARACTERS);
	if (/[\0\ufffd]/.test(text)) return "";
	const readable = /^\s*</.test(text) ? textOf(text) : text;
	return excerpt(secrets, readable.replace(/\s+/g, " ").trim());
}
