import { checkPublicHost } from "../../dns/reach.ts";
import { explainFailure, silence } from "./connection.ts";
import { Misconfigured, Unavailable } from "./destination.ts";
import { quoteBody } from "./quote.ts";

/** How long a destination may be silent. */
export const TIMEOUT_MS = 60_000;

/** How much of a response is read: enough for any error message. */
const MAX_CHARACTERS = 2 ** 16;

export type Answer = {
	status: number;
	headers: Headers;
	text: string;
	/** Describes the response in a sentence for the user, without secrets. */
	describe(): string;
};

/** `timeoutMs`: how long the server may be silent. `secrets`: what no error message may contain. */
export type Sending = { timeoutMs: number; secrets: string[] };

const PORTS: Record<string, string> = { "http:": "80", "https:": "443" };

/** The host and the port of a URL, for error texts. */
export const addressOf = ({ protocol, hostname, port }: URL) =>
	`${hostname}:${port || PORTS[protocol]}`;

/**
 * Statuses that a deployed worker gets from Cloudflare if there is no connection
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const NO_CONNECTION: Record<number, string> = {
	521: "The server refuses connections.",
	522: "The connection to the server timed out.",
	523: "The server can't be reached.",
	525: "The TLS handshake with the server failed.",
	526: "The server's certificate is invalid: it has to name the host and come from a public authority.",
	530: "The server's host name has no address that can be reached.",
};

/** @throws Misconfigured if the host may not be reached, a plain error if that can't be found out now */
export async function assertReachable(env: Env, host: string) {
	const failure = await checkPublicHost(env, host);
	if (failure === null) return;
	const { error, retryable } = failure;
	throw retryable ? new Error(error) : new Misconfigured(error);
}

async function textOf({ body }: Response) {
	let text = "";
	for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
		text += chunk;
		if (text.length >= MAX_CHARACTERS) break;
	}
	return text.slice(0, MAX_CHARACTERS);
}

/** A Retry-After in seconds. The header has seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(headers: Headers) {
	const value = headers.get("retry-after");
	if (value === null) return undefined;
	const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
	return seconds > 0 ? seconds : undefined;
}

/**
 * Sends a request to a host that a user has entered. Redirects are not followed.
 * @throws a plain error with a message for the user if there is no response
 */
export async function exchange(
	env: Env,
	request: Request,
	{ timeoutMs, secrets }: Sending,
): Promise<Answer> {
	const url = new URL(request.url);
	const address = addressOf(url);
	await assertReachable(env, url.hostname);
	try {
		const answer = await fetch(request, {
			redirect: "manual",
			signal: AbortSignal.timeout(timeoutMs),
		});
		const { status, headers } = answer;
		const text = await textOf(answer);
		return {
			status,
			headers,
			text,
			describe() {
				const quoted = quoteBody(secrets, text);
				const sentence = `${address} answered ${status}${quoted && `: "${quoted}"`}.`;
				return [NO_CONNECTION[status], sentence].filter(Boolean).join(" ");
			},
		};
	} catch (error) {
		if (error instanceof Error && error.name === "TimeoutError")
			throw new Error(silence(address, timeoutMs));
		await assertReachable(env, url.hostname);
		throw await explainFailure(env, url, address);
	}
}

/** Whether a response is a temporary error: 408, 429, 5xx. */
export const isTemporary = ({ status }: Answer) => [408, 429].includes(status) || status >= 500;

/** The error for a temporary response. */
export const unavailable = (answer: Answer, message = answer.describe()) =>
	new Unavailable(message, retryAfter(answer.headers));

/**
 * As `exchange`.
 * @throws Unavailable also for temporary responses: 408, 429, 5xx
 */
export async function send(...options: Parameters<typeof exchange>): Promise<Answer> {
	const answer = await exchange(...options);
	if (isTemporary(answer)) throw unavailable(answer);
	return answer;
}
