import { MisconfiguredError } from "../errors.ts";
import { elementsOf } from "../quote.ts";
import { type HttpResponse, sender } from "../send.ts";
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

/** How a storage service signs requests and responds. */
type Service = {
	base: URL;
	/** Texts to remove from the server's messages. */
	secrets: string[];
	sign(method: string, key: string, options: Options): Promise<Request>;
	succeeded(response: HttpResponse): boolean;
	/** Returns the error code of a response; "" if there is none. */
	codeOf(response: HttpResponse): string;
	isUnauthenticated(response: HttpResponse): boolean;
	explain(response: HttpResponse): Error;
	/** The query that lists objects, its parameters for a page, and the response's XML elements. */
	list: {
		query: Record<string, string | number>;
		parameters: { size: string; position: string };
		elements: { key: string; next: string };
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
	const { exchange, send } = sender(env, timeoutMs);

	/** Returns the response, whatever its status. Throws temporary errors. */
	const request = async (method: string, key: string, options: Options = {}) =>
		send(await sign(method, key, options), secrets);

	/** Returns a successful response; null if the error has one of the codes `absent`. */
	async function ask(absent: string[], ...options: Parameters<typeof request>) {
		const response = await request(...options);
		if (service.succeeded(response)) return response;
		if (absent.includes(service.codeOf(response))) return null;
		throw service.explain(response);
	}

	const steps: OpenBucket["steps"] = {
		// The status doesn't matter: the server may reject requests that aren't signed.
		reach: () => exchange(new Request(base), secrets),
		"sign in": async () => {
			const options = { query: { ...query, [parameters.size]: 1 } };
			const response = await exchange(await sign("GET", "", options), secrets);
			// The key may lack the permission to list, but runs don't need it.
			if (service.isUnauthenticated(response)) throw service.explain(response);
		},
	};

	return {
		request,
		ask,
		steps,
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
				yield elementsOf(elements.key, text);
				position = elementsOf(elements.next, text)[0] ?? "";
			} while (position);
		},
	};
}
