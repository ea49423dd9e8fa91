import { env } from "cloudflare:workers";
import { sendDueDigests as tick } from "../../src/activity/notifications/digest.ts";
import type { compose } from "../../src/outbound/mail.ts";

/** Returns the mails that a tick of the digests sends about an organization. */
export async function digests(organization: { id: string }, at: number) {
	const mails = outbox();
	await tick({ ...env, ...mails.env }, at);
	return mails.take().filter(({ text }) => text.includes(organization.id));
}

/** Returns a binding that records mails. */
export function outbox() {
	const sent: Awaited<ReturnType<typeof compose>>[] = [];
	const EMAIL = {
		...env.EMAIL,
		send: async (message: (typeof sent)[number]) => {
			sent.push(message);
			return { messageId: "" };
		},
	};
	/** Returns the mails since the last call. */
	const take = () => sent.splice(0);
	return { sent, take, env: { EMAIL } as Partial<Env> };
}
