import { within } from "../lib/within.ts";
import { explainFailure, silence } from "./connection.ts";
import { MisconfiguredError, UnavailableError } from "./errors.ts";
import { sendRequest } from "./fetch.ts";
import { quoteBody } from "./quote.ts";
import { checkPublicHost, publicHosts } from "./reach.ts";
import type { Failure } from "./resolve.ts";

/** How long a destination may send no data, in milliseconds. */
export const TIMEOUT_MS = 60_000;

const MAX_CHARACTERS = 2 ** 20;

/** How many characters of another response are read: enough for any error message. */
const MAX_ERROR_CHARACTERS = 2 ** 16;

export type HttpResponse = {
	status: number;
	headers: Headers;
	text: string;
	/** Whether the response has more than `text`. */
	isCut: boolean;
	/** Describes the response in a sentence for the user, without secrets. */
	describe(): string;
};

const PORTS: Record<string, string> = { "http:": "80", "https:": "443" };

/** Returns the host and the port of a URL, for error texts. */
export const addressOf = ({ protocol, hostname, port }: URL) =>
	`${hostname}:${port || PORTS[protocol]}`;

/**
 * The statuses that Cloudflare returns to a deployed worker if there is no connection
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const NO_CONNECTION: Record<number, string> = {
	521: "The server refuses connections.",
	522: "The connection to the server timed out.",
	523: "The server can't be reached.",
	525: "The TLS handshake with the server failed.",
	526: "The server's certificate is invalid: it must name the host and be issued by a public authority.",
	530: "The server's host name has no address that can be reached.",
};

function assertPublic(failure: Failure | null) {
	if (failure === null) return;
	const { error, retryable } = failure;
	throw retryable ? new Error(error) : new MisconfiguredError(error);
}

/** @throws MisconfiguredError if the host isn't allowed, else if this can't be checked now */
export const assertReachable = async (env: Env, host: string) =>
	assertPublic(await checkPublicHost(env, host));

/** What was read of a response's body. */
type Body = Pick<HttpResponse, "text" | "isCut">;

const NO_BODY: Body = { text: "", isCut: false };

/** Returns the first `max` characters of a body, and whether there are more. */
async function readText({ body }: Response, max: number): Promise<Body> {
	let text = "";
	for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
		text += chunk;
		if (text.length > max) return { text: text.slice(0, max), isCut: true };
	}
	return { text, isCut: false };
}

/** Returns a body, or null if it has more than `max` bytes. */
async function readBytes({ body }: Response, max: number) {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of body ?? []) {
		chunks.push(chunk);
		size += chunk.length;
		if (size > max) return null;
	}
	return Buffer.concat(chunks);
}

/** Returns the Retry-After in seconds, from seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(headers: Headers) {
	const value = headers.get("retry-after");
	if (value === null) return undefined;
	const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
	return seconds > 0 ? seconds : undefined;
}

/** Whether a response is a temporary error: 408, 425, 429, 5xx. */
export const isTemporary = ({ status }: HttpResponse) =>
	[408, 425, 429].includes(status) || status >= 500;

export const unavailable = (response: HttpResponse, message = response.describe()) =>
	new UnavailableError(message, retryAfter(response.headers));

export type Sender = ReturnType<typeof sender>;

/**
 * Returns the functions that send requests to hosts that a user has entered, after checking these
 * hosts (docs/keys.md#addresses-that-users-name). Create one sender for each open destination,
 * because it caches the resolver's responses.
 * @param timeoutMs how long a server may send no data
 * @param maxCharacters how many characters of a successful response are read
 */
export function sender(env: Env, timeoutMs: number, maxCharacters = MAX_CHARACTERS) {
	const hosts = publicHosts(env);

	const textOf = (response: Response) =>
		readText(response, response.ok ? maxCharacters : MAX_ERROR_CHARACTERS);

	/** Sends a request, and reads what is needed of the response. */
	async function ask<B extends Body>(
		request: Request,
		secrets: string[],
		read: (response: Response) => Promise<B>,
	): Promise<HttpResponse & B> {
		const url = new URL(request.url);
		const address = addressOf(url);
		assertPublic(await hosts.check(url.hostname));
		const timeout = new Error(silence(address, timeoutMs));
		try {
			const { status, headers, body } = await within(timeoutMs, timeout, async (signal) => {
				const response = await sendRequest(env, request, { redirect: "manual", signal });
				return { status: response.status, headers: response.headers, body: await read(response) };
			});
			return {
				...body,
				status,
				headers,
				describe() {
					const quoted = quoteBody(secrets, body.text);
					const sentence = `${address} answered ${status}${quoted && `: "${quoted}"`}.`;
					return [NO_CONNECTION[status], sentence].filter(Boolean).join(" ");
				},
			};
		} catch (error) {
			if (error === timeout) throw error;
			hosts.forget(url.hostname);
			assertPublic(await hosts.check(url.hostname));
			throw await explainFailure(env, url, address);
		}
	}

	/**
	 * Sends a request. Redirects are not followed.
	 * @param secrets texts that error messages must not contain
	 * @param needsBody whether the body of a response is read; the text of others is empty
	 * @throws a plain error with a message for the user if there is no response
	 */
	const exchange = (
		request: Request,
		secrets: string[],
		needsBody: (response: Response) => boolean = () => true,
	): Promise<HttpResponse> =>
		ask(request, secrets, async (response) => {
			if (needsBody(response)) return textOf(response);
			await response.body?.cancel();
			return NO_BODY;
		});

	return {
		exchange,
		/**
		 * Sends a request like `exchange`, for a response that isn't text.
		 * @returns the response; `bytes` is null if it isn't successful, or has more than `max` bytes
		 */
		download: (request: Request, secrets: string[], max: number) =>
			ask(request, secrets, async (response) =>
				response.ok
					? { ...NO_BODY, bytes: await readBytes(response, max) }
					: { ...(await textOf(response)), bytes: null },
			),
		/** Sends a request like `exchange`. Throws UnavailableError also for 408, 425, 429 and 5xx. */
		async send(request: Request, secrets: string[]): Promise<HttpResponse> {
			const response = await exchange(request, secrets);
			if (isTemporary(response)) throw unavailable(response);
			return response;
		},
	};
}
