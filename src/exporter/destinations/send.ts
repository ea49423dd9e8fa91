import { checkReach } from "../../dns/reach.ts";
import { Misconfigured, Unavailable } from "./destination.ts";

/** How long a destination may be silent, in milliseconds. */
export const PATIENCE_MS = 60_000;

/** What is read of an answer: enough for any error that explains itself. */
const MOST_CHARACTERS = 2 ** 16;

export type Answer = { status: number; headers: Headers; text: string };

const PORTS: Record<string, string> = { "http:": "80", "https:": "443" };

/** The host and the port of a URL, for error texts. */
export const addressOf = ({ protocol, hostname, port }: URL) =>
	`${hostname}:${port || PORTS[protocol]}`;

/** Throws `Misconfigured` unless the host may be reached. */
export async function admit(env: Env, host: string) {
	const failure = await checkReach(env, host);
	if (failure === null) return;
	const { error, retryable } = failure;
	throw retryable ? new Error(error) : new Misconfigured(error);
}

async function textOf({ body }: Response) {
	let text = "";
	for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
		text += chunk;
		if (text.length >= MOST_CHARACTERS) break;
	}
	return text.slice(0, MOST_CHARACTERS);
}

/** The seconds of a Retry-After, which holds them or a date (RFC 9110, section 10.2.3). */
function retryAfter(headers: Headers) {
	const value = headers.get("retry-after");
	if (value === null) return undefined;
	const seconds = /^\d+$/.test(value)
		? Number(value)
		: (Date.parse(value) - Date.now()) / 1000;
	return seconds > 0 ? seconds : undefined;
}

/**
 * Sends a request to a host that a user named, and follows no redirect.
 * @param patience how long the server may be silent, in milliseconds
 * @throws a plain error, whose words hold nothing but the host, if there is no answer
 */
export async function exchange(
	env: Env,
	request: Request,
	patience: number,
): Promise<Answer> {
	const { hostname } = new URL(request.url);
	await admit(env, hostname);
	return fetch(request, {
		redirect: "manual",
		signal: AbortSignal.timeout(patience),
	})
		.then(async (answer) => ({
			status: answer.status,
			headers: answer.headers,
			text: await textOf(answer),
		}))
		.catch((error: unknown) => {
			throw new Error(
				error instanceof Error && error.name === "TimeoutError"
					? `${hostname} did not answer within ${patience / 1000} seconds.`
					: `The connection to ${hostname} failed.`,
			);
		});
}

/** As `exchange`; throws a plain error also for answers that may pass: 408, 429, 5xx. */
export async function send(
	...what: Parameters<typeof exchange>
): Promise<Answer> {
	const answer = await exchange(...what);
	const [, { url }] = what;
	if ([408, 429].includes(answer.status) || answer.status >= 500)
		throw new Unavailable(
			`${new URL(url).hostname} answered with the status ${answer.status}.`,
			retryAfter(answer.headers),
		);
	return answer;
}
