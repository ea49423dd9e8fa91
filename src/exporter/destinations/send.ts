import { checkPublicHost } from "../../dns/reach.ts";
import { explainFailure, silence } from "./connection.ts";
import { Misconfigured, Unavailable } from "./destination.ts";
import { quoteBody } from "./quote.ts";

/** How long a destination may be silent, in milliseconds. */
export const TIMEOUT_MS = 60_000;

/** What is read of an answer: enough for any error that explains itself. */
const MAX_CHARACTERS = 2 ** 16;

export type Answer = {
	status: number;
	headers: Headers;
	text: string;
	/** Who answered what, in a sentence for the user: without secrets. */
	describe(): string;
};

/** How a request is sent: how long the server may be silent, and what no error text may hold. */
export type Sending = { timeoutMs: number; secrets: string[] };

const PORTS: Record<string, string> = { "http:": "80", "https:": "443" };

/** The host and the port of a URL, for error texts. */
export const addressOf = ({ protocol, hostname, port }: URL) =>
	`${hostname}:${port || PORTS[protocol]}`;

/**
 * Statuses of Cloudflare, which a deployed worker gets where no connection comes about
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const NO_CONNECTION: Record<number, string> = {
	521: "The server refuses connections.",
	522: "The server accepts no connection in time.",
	523: "The server can't be reached.",
	525: "The server and Cloudflare find no way to speak TLS.",
	526: "The server's certificate is refused: it has to name the host and come from a public authority.",
	530: "The server's name doesn't lead to any address that can be reached.",
};

/** Throws `Misconfigured` unless the host may be reached. */
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

/** The seconds of a Retry-After, which holds them or a date (RFC 9110, section 10.2.3). */
function retryAfter(headers: Headers) {
	const value = headers.get("retry-after");
	if (value === null) return undefined;
	const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
	return seconds > 0 ? seconds : undefined;
}

/**
 * Sends a request to a host that a user named, and follows no redirect.
 * @throws a plain error with a message for the user if there is no answer
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
				const words = quoteBody(secrets, text);
				const sentence = `${address} answered ${status}${words && `: "${words}"`}.`;
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

/** Whether an answer may be another one later: 408, 429, 5xx. */
export const isTemporary = ({ status }: Answer) => [408, 429].includes(status) || status >= 500;

/** The error for an answer that may be another one later. */
export const unavailable = (answer: Answer, message = answer.describe()) =>
	new Unavailable(message, retryAfter(answer.headers));

/** As `exchange`; throws a plain error also for answers that may pass: 408, 429, 5xx. */
export async function send(...what: Parameters<typeof exchange>): Promise<Answer> {
	const answer = await exchange(...what);
	if (isTemporary(answer)) throw unavailable(answer);
	return answer;
}
