/** What the exchanges of tokens for credentials have in common. */
import * as z from "zod";
import { isCutObject, jsonOf } from "../../../lib/json.ts";
import { MINUTE_MS } from "../../../lib/time.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf, type Sender, unavailable } from "../../../outbound/send.ts";

/** How long before they expire credentials are replaced: longer than any request takes. */
const REPLACED_BEFORE_MS = 5 * MINUTE_MS;

/** The secrets of how many credentials stay known. */
const MAX_KNOWN = 10;

export type Credentials<T> = {
	value: T;
	/** In milliseconds since 1970. */
	expires_at: number;
	/** Texts that no message may contain. */
	secrets: string[];
};

/**
 * Keeps credentials, and gets others before they expire: once, whoever asks meanwhile. The secrets
 * of those before stay known, because requests that are still running have them.
 */
export function renewing<T>(issue: () => Promise<Credentials<T>>) {
	let known: Credentials<T>[] = [];
	let current: Credentials<T> | undefined;
	let pending: Promise<Credentials<T>> | undefined;
	async function renew() {
		const issued = await issue();
		known = [issued, ...known].slice(0, MAX_KNOWN);
		current = issued;
		return issued;
	}
	return {
		async get(): Promise<T> {
			const isGood = current && current.expires_at - REPLACED_BEFORE_MS >= Date.now();
			if (current && isGood) return current.value;
			pending ??= renew().finally(() => {
				pending = undefined;
			});
			return (await pending).value;
		},
		/** Makes the next `get` get others. */
		forget() {
			current = undefined;
		},
		secrets: () => known.flatMap(({ secrets }) => secrets),
	};
}

/** How a request to a service is made authentic. */
export type Auth = {
	/** Texts that no message may contain. */
	secrets(): string[];
	sign(
		url: URL,
		init: { method: string; headers?: HeadersInit; body?: BodyInit },
	): Promise<Request>;
};

/** Responses of a token endpoint (RFC 6749, sections 5.1 and 5.2). */
const Issued = z.object({ access_token: z.string().min(1), expires_in: z.number().default(0) });
const Rejected = z.object({ error: z.string(), error_description: z.string().optional() });

/** How to report that a token endpoint rejects a request. */
type Report = {
	/** Texts that no message may contain. */
	secrets: string[];
	/** The setting that names the endpoint; missing if the user can't choose it. */
	setting?: string;
	/** Returns the meaning of an error for the user. */
	meaning(error: string, description: string): string;
};

/**
 * Gets a token.
 * @param form the parameters of the request
 * @throws MisconfiguredError, with a message for the user, if the server rejects it
 */
export async function requestToken(
	{ send }: Sender,
	[url, form]: [url: string, form: Record<string, string>],
	{ secrets, setting, meaning }: Report,
): Promise<z.output<typeof Issued>> {
	const body = new URLSearchParams(form);
	const response = await send(new Request(url, { method: "POST", body }), secrets);
	const { status, text } = response;
	if (status === 200 && isCutObject(text)) throw unavailable(response);
	const json = jsonOf(text);
	const issued = Issued.safeParse(json);
	if (status === 200 && issued.success) return issued.data;
	const address = addressOf(new URL(url));
	const { success, data } = Rejected.safeParse(json);
	if (!success && !setting) throw unavailable(response);
	if (!success)
		throw new MisconfiguredError(
			`${address} doesn't respond like a token server (status ${status}): check ${setting}.`,
		);
	const { error, error_description = error } = data;
	throw new MisconfiguredError(
		`${meaning(error, error_description)} ${address} says: ${quote(secrets, error_description)}`,
	);
}
