import { html } from "hono/html";
import MimeNode from "nodemailer/lib/mime-node";

export type Mailbox = { name: string; address: string };

export type Mail = {
	to: string;
	/** Whom an answer reaches. */
	reply_to?: Mailbox;
	subject: string;
	/** Plain text; what other people wrote may be in it. */
	paragraphs: string[];
	/** What the mail asks for. */
	link?: { label: string; url: string };
};

/** Whether mail is sent at all (behaviour 7). */
export const configured = ({ MAIL_FROM }: Env) => MAIL_FROM !== "";

/** The message (RFC 5322), in text and HTML. No value reaches a header but encoded (RFC 2047). */
export async function compose(
	from: string,
	{ to, reply_to, subject, paragraphs, link }: Mail,
) {
	const message = new MimeNode("multipart/alternative", { newline: "win" });
	message.setHeader("From", { name: "Tenantry", address: from });
	message.setHeader("To", to);
	if (reply_to) message.setHeader("Reply-To", reply_to);
	message.setHeader("Subject", subject);
	const text = [...paragraphs, ...(link ? [`${link.label}: ${link.url}`] : [])];
	message
		.createChild("text/plain; charset=utf-8")
		.setContent(`${text.join("\n\n")}\n`);
	message
		.createChild("text/html; charset=utf-8")
		.setContent(
			String(
				await html`<!doctype html><html lang="en"><body>${paragraphs.map((paragraph) => html`<p style="white-space: pre-line">${paragraph}</p>`)}${link && html`<p><a href="${link.url}">${link.label}</a></p><p>${link.url}</p>`}</body></html>`,
			),
		);
	return String(await message.build());
}

/** Sends it. What goes wrong is logged without a word of the mail, which may hold a secret. Answers whether it was sent. */
export async function send({ EMAIL, MAIL_FROM }: Env, mail: Mail) {
	try {
		const { EmailMessage } = await import("cloudflare:email");
		await EMAIL.send(
			new EmailMessage(MAIL_FROM, mail.to, await compose(MAIL_FROM, mail)),
		);
		return true;
	} catch (error) {
		console.error(
			JSON.stringify({ warning: "A mail was not sent", error: String(error) }),
		);
		return false;
	}
}
