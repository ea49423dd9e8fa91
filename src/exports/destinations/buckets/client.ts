import { MisconfiguredError, UnavailableError } from "../../../outbound/errors.ts";
import { elementsOf } from "../../../outbound/quote.ts";
import {
	addressOf,
	type HttpResponse,
	isTemporary,
	sender,
	unavailable,
} from "../../../outbound/send.ts";
import type { OpenBucket } from "./bucket.ts";

export type Options = {
	query?: Record<string, string | number>;
	headers?: Record<string, string>;
	body?: Uint8Array | string;
};

/** Percent-encodes a text as signatures require (RFC 3986). */
const encoded = (text: string | number) =>
	encodeURIComponent(text).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);

/** The URL of an object, or of the bucket. `searchParams` would write a space as "+". */
export function objectUrl(base: URL, key: string, { query = {} }: Options) {
	const url = new URL(base);
	if (key) url.pathname += `/${key.split("/").map(encoded).join("/")}`;
	url.search = Object.entries(query)
		.map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
		.join("&");
	return url;
}

/** How to read the error codes of a service. */
export type Codes = {
	/** Codes that a retry may resolve, whatever the status. */
	temporary: string[];
	/**
	 * The meaning of codes for the user. The others of these codes are permanent, whatever the
	 * status.
	 */
	meanings: Map<string, string>;
	/** The advice about other permanent errors. */
	rejected: string;
};

/**
 * Returns the error in a response: UnavailableError if a retry may succeed. The code decides, else
 * the status. A 2xx is then like a 5xx: a server that has begun to answer with a 200 can still fail.
 */
export function problemOf(code: string, response: HttpResponse, codes: Codes) {
	const { temporary, meanings, rejected } = codes;
	const isRetried =
		temporary.includes(code) ||
		(!meanings.has(code) && (isTemporary(response) || response.status < 300));
	const meaning = meanings.get(code) ?? (isRetried ? "" : rejected);
	const message = [meaning, response.describe()].filter(Boolean).join(" ");
	return isRetried ? unavailable(response, message) : new MisconfiguredError(message);
}

/** How a storage service signs requests and responds. */
type Service = {
	base: URL;
	/** Returns the texts to remove from the server's messages. */
	secrets(): string[];
	sign(method: string, key: string, options: Options): Promise<Request>;
	/** Returns the error code of a response; "" if there is none. */
	codeOf(response: HttpResponse): string;
	isUnauthenticated(response: HttpResponse): boolean;
	/** Returns the error in a response: UnavailableError if a retry may succeed. */
	explain(response: HttpResponse): Error;
	/** The message about a server that responds in another way than the service. */
	incompatible: string;
	/** The query that lists objects, its parameters for a page, and the response's XML elements. */
	list: {
		query: Record<string, string | number>;
		parameters: { size: string; position: string };
		elements: { root: string; key: string; next: string };
	};
};

/** How many keys to ask for at once. `exchange` reads all of them, even if they are very long. */
const LIST_SIZE = 100;

export type Client = ReturnType<typeof connect>;

/**
 * Returns the functions that send signed requests to a bucket.
 * @param timeoutMs how long the server may send no data
 */
export function connect(env: Env, timeoutMs: number, service: Service) {
	const { base, secrets, sign } = service;
	const { query, parameters, elements } = service.list;
	const { exchange, download } = sender(env, timeoutMs);
	const send = async (request: Request | Promise<Request>) => exchange(await request, secrets());

	/** Sends a request. Throws temporary errors, and returns a permanent one with the response. */
	async function request(method: string, key: string, options: Options = {}) {
		const response = await send(sign(method, key, options));
		const { status, text } = response;
		// S3 also reports errors with a 200.
		const isSuccess = status >= 200 && status < 300 && !/<Error[\s>]/.test(text);
		const error = isSuccess ? null : service.explain(response);
		if (error instanceof UnavailableError) throw error;
		return { response, error };
	}

	/** Returns a successful response; null if the error has one of the codes `absent`. */
	async function ask(absent: string[], ...options: Parameters<typeof request>) {
		const { response, error } = await request(...options);
		if (error === null) return response;
		if (absent.includes(service.codeOf(response))) return null;
		throw error;
	}

	/**
	 * Returns the error for a 2xx without its whole result. A retry may succeed if the server had begun
	 * to send it.
	 * @param root the result's outermost XML element
	 * @param lack what the server did instead
	 */
	function incomplete(response: HttpResponse, root: string, lack: string) {
		const text = response.text.trimStart();
		const isBegun = text === "" || text.startsWith("<?xml") || text.startsWith(`<${root}`);
		const said = `${addressOf(base)} answered ${response.status}, but ${lack}`;
		return isBegun
			? unavailable(response, `${said}.`)
			: new MisconfiguredError(`${said}: ${service.incompatible}. ${response.describe()}`);
	}

	const steps: OpenBucket["steps"] = {
		// The status doesn't matter: the server may reject requests that aren't signed.
		reach: () => send(new Request(base)),
		"sign in": async () => {
			const options = { query: { ...query, [parameters.size]: 1 } };
			const response = await send(sign("GET", "", options));
			// The key may lack the permission to list, but runs don't need it.
			if (service.isUnauthenticated(response)) throw service.explain(response);
		},
	};

	return {
		request,
		ask,
		incomplete,
		steps,

		/** Returns an object's bytes. Throws if there is no object, or it has more than `max` bytes. */
		async get(key: string, max: number): Promise<Uint8Array> {
			const response = await download(await sign("GET", key, {}), secrets(), max);
			if (response.bytes) return response.bytes;
			if (response.status >= 300) throw service.explain(response);
			throw new MisconfiguredError(`The object ${key} has more than ${max} bytes.`);
		},

		async *list(prefix: string) {
			let position = "";
			do {
				const page = {
					[parameters.size]: LIST_SIZE,
					...(position && { [parameters.position]: position }),
				};
				const response = await ask([], "GET", "", { query: { ...query, prefix, ...page } });
				const { text = "", isCut = false } = response ?? {};
				if (isCut) throw new MisconfiguredError("A list of objects is longer than requested.");
				if (response && !text.includes(`</${elements.root}>`))
					throw incomplete(response, elements.root, "didn't send a whole list");
				yield elementsOf(elements.key, text);
				position = elementsOf(elements.next, text)[0] ?? "";
			} while (position);
		},
	};
}
