import { html } from "hono/html";
import { logWarning } from "../lib/log.ts";

type Mailbox = { name: MailText; address: string };

/** A text in a mail, as `unlinked` or `trusted` returns it. */
export class MailText {
	readonly value: string;
	constructor(value: string) {
		this.value = value;
	}
}

/** A link to a page of this service. Its label is our own. */
type Link = { label: string; url: string };

/** A paragraph, with the link to the page of what it is about. */
type Paragraph = MailText | { text: MailText; link: Link };

export type Mail = {
	to: string;
	reply_to?: Mailbox;
	/** Without names that were chosen by people who share no organization with the recipient. */
	subject: MailText;
	paragraphs: Paragraph[];
	/** The link to the action that the mail is about. */
	link?: Link;
	/** Why the recipient gets the mail, in small print at its end. */
	why?: Paragraph;
};

/** Whether mail is enabled: it needs a sender and an address for links. */
export const configured = ({ MAIL_FROM, APP_URL }: Env) => MAIL_FROM !== "" && APP_URL !== "";

/**
 * Returns the URL of a page of the service.
 * @param base the service's address, such as `APP_URL`
 * @param path begins with a slash
 */
export const linkTo = (base: string, path: string) => base.replace(/(?<!\/)\/+$/, "") + path;

/** Whether mail can be sent: addresses under `.invalid` don't exist (RFC 6761, 6.4). */
export const isReachable = (address: string) => !address.endsWith(".invalid");

const withoutControls = (text: string) =>
	text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ");

/** Replaces line breaks, other control characters and bidirectional ones with spaces. */
export const singleLine = (text: string) => withoutControls(text).trim();

/** Applies `singleLine` to each line. */
export const multiLine = (text: string) =>
	text
		.split(/\r\n?|\n/)
		.map(singleLine)
		.join("\n");

/** The possible joints of a link: not a colon between digits, as in a time, nor before a space. */
const MARK = /(?!(?<=\d):\d)[\p{P}\p{S}\p{No}](?=[^ \n])/gu;

/**
 * The marks that links need between their parts. Mail readers and browsers take other characters for
 * them (UTS 46): those that have one in their compatibility decomposition, and U+3002.
 */
const JOINT = /[.:@\\\u3002]/;

/** Seven or more digits, with characters between them that phone numbers can have; not a date. */
const PHONE_NUMBER =
	/(?<!\p{Nd})(?!\d{4}-\d\d-\d\d(?!\d))\p{Nd}(?:[\p{Pd}\p{Ps}\p{Pe}\p{Zs}\p{Cf}./~x\u2053\u2212\u223c\u30fc\uff0e\uff0f\uff5e]*\p{Nd}){6,}/gu;

const UP_TO_THREE_DIGITS = /\p{Nd}{1,3}/gu;

/**
 * Separates the parts of links, addresses and phone numbers, so that no mail reader makes a link of
 * them: `evil.example` becomes `evil. example`. A space works in every reader. Zero-width characters
 * wouldn't: some readers keep them in the link, and browsers drop them from hosts.
 */
const separate = (text: string) =>
	text
		.replace(PHONE_NUMBER, (number) => (number.match(UP_TO_THREE_DIGITS) ?? []).join("·"))
		.replace(MARK, (mark) => (JOINT.test(mark.normalize("NFKC")) ? `${mark} ` : mark));

/**
 * Tag for text in a mail: nothing in a string that it contains becomes a link, in any mail reader.
 * So every name and message may come from a stranger. Other texts are `trusted`.
 */
export const unlinked = (
	template: TemplateStringsArray,
	...values: (string | number | MailText)[]
): MailText =>
	new MailText(
		String.raw(
			{ raw: template },
			...values.map((value) =>
				value instanceof MailText ? value.value : separate(withoutControls(String(value))),
			),
		),
	);

/** Text that no other person chose, such as times and URLs of this service, unchanged. */
export const trusted = (text: string) => new MailText(text);

/** Addresses that every mail reader takes for an address, and nothing in them for a link. */
const PLAIN_ADDRESS = /^[\w.+-]+@[a-z0-9.-]+$/i;

/** An email address, which a mail reader may link, so that it can be copied. */
export const addressText = (address: string) =>
	PLAIN_ADDRESS.test(address) ? trusted(address) : unlinked`${address}`;

/** A message of a person, as a quotation, so that it can't be mistaken for text of the service. */
export const quotation = (message: string) =>
	trusted(separate(multiLine(message).replaceAll(/^/gm, "> ")));

export const greeting = (first_name: string) =>
	first_name ? unlinked`Hello ${first_name},` : unlinked`Hello,`;

/** Keeps Apple's mail readers and browsers from making links of numbers, addresses and dates. */
export const NO_DETECTION = html`<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">`;

const asText = ({ label, url }: Link) => `${label}: ${url}`;

const partsOf = (paragraph: Paragraph) =>
	paragraph instanceof MailText
		? { text: multiLine(paragraph.value), link: undefined }
		: { text: multiLine(paragraph.text.value), link: paragraph.link };

const BODY = "max-width: 40em; font-family: system-ui, sans-serif; line-height: 1.5";

const SMALL = "font-size: 0.85em; opacity: 0.75";

function asHtml(paragraph: Paragraph, style = "") {
	const { text, link } = partsOf(paragraph);
	const end = link && html`<br><a href="${link.url}">${link.label}</a>`;
	return html`<p style="white-space: pre-line${style && `; ${style}`}">${text}${end}</p>`;
}

/** Returns the message for the binding, as text and HTML. The mail service encodes it. */
export async function compose(
	from: string,
	{ to, reply_to, subject, paragraphs, link, why }: Mail,
) {
	const text = [...paragraphs, ...(link ? [link] : []), ...(why ? [why] : [])].map((part) => {
		if ("url" in part) return asText(part);
		const { text, link } = partsOf(part);
		return link ? `${text}\n${asText(link)}` : text;
	});
	return {
		from: { name: "Tenantry", email: from },
		to,
		...(reply_to && {
			replyTo: { name: singleLine(reply_to.name.value), email: reply_to.address },
		}),
		subject: singleLine(subject.value),
		text: `${text.join("\n\n")}\n`,
		html: String(
			await html`<!doctype html><html lang="en"><head>${NO_DETECTION}</head><body style="${BODY}">${paragraphs.map((paragraph) => asHtml(paragraph))}${link && html`<p><a href="${link.url}"><strong>${link.label}</strong></a></p><p style="${SMALL}">${link.url}</p>`}${why && asHtml(why, SMALL)}</body></html>`,
		),
	} satisfies EmailMessageBuilder;
}

/** Sends a mail, and returns whether that succeeded. Logs errors without the mail. */
export async function send({ EMAIL, MAIL_FROM }: Env, mail: Mail) {
	try {
		await EMAIL.send(await compose(MAIL_FROM, mail));
		return true;
	} catch (error) {
		logWarning("A mail was not sent", error);
		return false;
	}
}
