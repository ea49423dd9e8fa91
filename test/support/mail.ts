import { env } from "cloudflare:workers";
import { tick } from "../../src/notifications/digest.ts";

/** The header lines, unfolded. */
export const headers = (message: string) =>
	(message.split("\r\n\r\n")[0] ?? "").replace(/\r\n[ \t]/g, " ").split("\r\n");

/** Decodes the quoted-printable parts. */
export const decoded = (message: string) => {
	const bytes = message
		.replace(/=\r\n/g, "")
		.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
	return new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
};

type Sent = { to: string; subject: string; text: string; html: string };

function read(to: string, message: string): Sent {
	const subject = headers(message).find((line) => line.startsWith("Subject: "));
	const [, text = "", html = ""] = decoded(message).split(/Content-Type: text\//);
	return { to, subject: subject?.slice(9) ?? "", text: text.replaceAll("\r\n", "\n"), html };
}

/** The mails that a tick of the digests sends about an organization. */
export async function digests(organization: { id: string }, at: number) {
	const mails = outbox();
	await tick({ ...env, ...mails.env }, at);
	return mails.take().filter(({ text }) => text.includes(organization.id));
}

/** A binding that records mails. */
export function outbox() {
	const sent: { from: string; to: string }[] = [];
	const messages: string[] = [];
	const EMAIL = {
		...env.EMAIL,
		send: async (message: { from: string; to: string }) => {
			sent.push({ from: message.from, to: message.to });
			messages.push(String(Reflect.get(message, "EmailMessage::raw")));
			return { messageId: "" };
		},
	};
	/** The mails since the last call. */
	const take = () => {
		const tos = sent.splice(0);
		return messages.splice(0).map((message, i) => read(tos[i]?.to ?? "", message));
	};
	return { sent, messages, take, env: { EMAIL } as Partial<Env> };
}
