import { html } from "hono/html";

type Mailbox = { name: string; address: string };

export type Mail = {
	to: string;
	/** The Reply-To address. */
	reply_to?: Mailbox;
	subject: string;
	/** Plain text, which may contain text of other users. */
	paragraphs: string[];
	/** The action that the mail asks for. */
	link?: { label: string; url: string };
};

/**
 * Whether mail is enabled: it needs a sender, and the service's address for links
 * (docs/operating.md#deploying).
 */
export const configured = ({ MAIL_FROM, APP_URL }: Env) => MAIL_FROM !== "" && APP_URL !== "";

/**
 * A link to a page of the service.
 * @param base the service's address, such as `APP_URL`
 * @param path begins with a slash
 */
export const linkTo = (base: string, path: string) => base.replace(/\/+$/, "") + path;

/** Whether mail can be sent to the address: nobody has one below `.invalid` (RFC 6761, section 6.4). */
export const isReachable = (address: string) => !address.endsWith(".invalid");

/** Replaces line breaks, other control characters and bidirectional overrides by spaces. */
export const singleLine = (text: string) =>
	text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();

/** Applies `singleLine` to each line. */
export const multiLine = (text: string) =>
	text
		.split(/\r\n?|\n/)
		.map(singleLine)
		.join("\n");

/** The first line of a mail. */
export const greeting = (first_name: string) =>
	first_name ? `Hello ${singleLine(first_name)},` : "Hello,";

/**
 * Builds the message (RFC 5322), as text and HTML. Header values are single lines, encoded
 * according to RFC 2047.
 *
 * The composer is nodemailer's, although mimetext is smaller: mimetext writes an encoded header as
 * one word of any length and text in lines of any length, where RFC 2047 allows 75 characters and
 * RFC 5322 998, and it labels UTF-8 as 7bit.
 */
export async function compose(from: string, { to, reply_to, subject, paragraphs, link }: Mail) {
	const { default: MimeNode } = await import("nodemailer/lib/mime-node");
	const message = new MimeNode("multipart/alternative", { newline: "win" });
	message.setHeader("From", { name: "Tenantry", address: from });
	message.setHeader("To", to);
	if (reply_to)
		message.setHeader("Reply-To", {
			...reply_to,
			name: singleLine(reply_to.name),
		});
	message.setHeader("Subject", singleLine(subject));
	const clean = paragraphs.map(multiLine);
	const label = link && singleLine(link.label);
	const text = [...clean, ...(link ? [`${label}: ${link.url}`] : [])];
	message.createChild("text/plain; charset=utf-8").setContent(`${text.join("\n\n")}\n`);
	message
		.createChild("text/html; charset=utf-8")
		.setContent(
			String(
				await html`<!doctype html><html lang="en"><body>${clean.map((paragraph) => html`<p style="white-space: pre-line">${paragraph}</p>`)}${link && html`<p><a href="${link.url}">${label}</a></p><p>${link.url}</p>`}</body></html>`,
			),
		);
	return String(await message.build());
}

/**
 * Sends a mail and returns whether that succeeded. An error is logged without the mail, which may
 * contain a secret.
 */
export async function send({ EMAIL, MAIL_FROM }: Env, mail: Mail) {
	try {
		const { EmailMessage } = await import("cloudflare:email");
		await EMAIL.send(new EmailMessage(MAIL_FROM, mail.to, await compose(MAIL_FROM, mail)));
		return true;
	} catch (error) {
		console.error(JSON.stringify({ warning: "A mail was not sent", error: String(error) }));
		return false;
	}
}
