import { html } from "hono/html";
import { logWarning } from "../lib/log.ts";

type Mailbox = { name: string; address: string };

export type Mail = {
	to: string;
	reply_to?: Mailbox;
	subject: string;
	/** Plain text, which may contain text of other users. */
	paragraphs: string[];
	/** The link to the action that the mail is about. */
	link?: { label: string; url: string };
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

/** Replaces line breaks, other control characters and bidirectional ones with spaces. */
export const singleLine = (text: string) =>
	text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();

/** Applies `singleLine` to each line. */
export const multiLine = (text: string) =>
	text
		.split(/\r\n?|\n/)
		.map(singleLine)
		.join("\n");

export const greeting = (first_name: string) =>
	first_name ? `Hello ${singleLine(first_name)},` : "Hello,";

/** Returns the message for the binding, as text and HTML. The mail service encodes it. */
export async function compose(from: string, { to, reply_to, subject, paragraphs, link }: Mail) {
	const clean = paragraphs.map(multiLine);
	const label = link && singleLine(link.label);
	const text = [...clean, ...(link ? [`${label}: ${link.url}`] : [])];
	return {
		from: { name: "Tenantry", email: from },
		to,
		...(reply_to && { replyTo: { name: singleLine(reply_to.name), email: reply_to.address } }),
		subject: singleLine(subject),
		text: `${text.join("\n\n")}\n`,
		html: String(
			await html`<!doctype html><html lang="en"><body>${clean.map((paragraph) => html`<p style="white-space: pre-line">${paragraph}</p>`)}${link && html`<p><a href="${link.url}">${label}</a></p><p>${link.url}</p>`}</body></html>`,
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
