import { addressOf, retryAfter, sender } from "../../outbound/send.ts";

/** How long to wait for a response, in milliseconds. */
const TIMEOUT_MS = 15_000;

const GONE = 410;

/** The URL, and the secrets that sign. */
export type Endpoint = { url: string; secrets: Promise<string[]> };

/** The content of a request. `id` is the id of the event. */
type Message = { id: string; payload: string };

export type Outcome = {
	/** null: there was no response. */
	response_status: number | null;
	duration_ms: number;
	/** Why it wasn't delivered, for users; null if it was. */
	error: string | null;
	/** Whether the endpoint wants no more events. */
	isGone: boolean;
	/** How long the endpoint asks to wait, in seconds. */
	retry_after: number | undefined;
};

const isOk = ({ ok }: { ok: boolean }) => ok;

/** Returns the headers of a message, signed with each secret (https://www.standardwebhooks.com). */
async function headersOf({ id, payload }: Message, secrets: string[]) {
	const { Webhook } = await import("standardwebhooks");
	const at = new Date();
	return {
		"content-type": "application/json",
		"user-agent": "Tenantry-Webhooks",
		"webhook-id": id,
		"webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
		"webhook-signature": secrets
			.map((secret) => new Webhook(secret).sign(id, at, payload))
			.join(" "),
	};
}

/**
 * Returns a function that sends a message once and never throws. It caches DNS responses, so each
 * worker must create its own.
 */
export function attempts(env: Env) {
	const { exchange } = sender(env, TIMEOUT_MS);

	async function send({ url, secrets: opened }: Endpoint, message: Message) {
		const secrets = await opened;
		const headers = await headersOf(message, secrets);
		const request = new Request(url, { method: "POST", headers, body: message.payload });
		return exchange(request, secrets, (response) => !isOk(response));
	}

	return async function attempt(endpoint: Endpoint, message: Message): Promise<Outcome> {
		const start = Date.now();
		const outcome = (response_status: number | null, error: string | null) => ({
			response_status,
			duration_ms: Date.now() - start,
			error,
			isGone: response_status === GONE,
			retry_after: undefined,
		});
		try {
			const { status, headers, describe } = await send(endpoint, message);
			if (status >= 200 && status < 300) return outcome(status, null);
			const isRedirect = status >= 300 && status < 400;
			const why = isRedirect
				? `${addressOf(new URL(endpoint.url))} answered ${status}: redirects are not followed.`
				: describe();
			return { ...outcome(status, why), retry_after: retryAfter(headers) };
		} catch (error) {
			return outcome(null, error instanceof Error ? error.message : String(error));
		}
	};
}
