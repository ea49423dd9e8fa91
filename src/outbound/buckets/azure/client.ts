import { MisconfiguredError } from "../../errors.ts";
import { sender } from "../../send.ts";
import { codeOf, explain, isUnauthenticated, type Settings, secretsOf } from "./errors.ts";
import { sharedKey } from "./shared_key.ts";

/** The version of the REST API that the requests are written for. */
const API_VERSION = "2021-12-02";

type Options = {
	query?: Record<string, string | number>;
	headers?: Record<string, string>;
	body?: Uint8Array | string;
};

export type Client = ReturnType<typeof connect>;

/**
 * Returns the functions that send authorized requests to a container.
 * @param base the container's URL
 * @param timeoutMs how long the server may send no data
 */
export function connect(env: Env, config: Settings, base: URL, timeoutMs: number) {
	const { account_name: account, account_key: key, sas_token } = config;
	const { exchange, send } = sender(env, timeoutMs);
	const secrets = secretsOf(config);

	async function authorized(
		method: string,
		blob: string,
		{ query = {}, headers: extraHeaders = {}, body = "" }: Options = {},
	) {
		const url = new URL(base);
		if (blob) url.pathname += `/${blob.split("/").map(encodeURIComponent).join("/")}`;
		// `searchParams` would write a space as "+".
		url.search = Object.entries(query)
			.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
			.join("&");
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		const headers = new Headers({
			...extraHeaders,
			"x-ms-date": new Date().toUTCString(),
			"x-ms-version": API_VERSION,
			...(bytes.length > 0 && { "content-length": String(bytes.length) }),
		});
		if (key) headers.set("authorization", await sharedKey(method, url, headers, { account, key }));
		else if (sas_token) url.search += `${url.search ? "&" : ""}${sas_token.replace(/^\?/, "")}`;
		else throw new MisconfiguredError("Requests can't be signed without account_key or sas_token.");
		return new Request(url, {
			method,
			headers,
			...((bytes.length > 0 || method === "PUT") && { body: bytes }),
		});
	}

	/** Returns the response, whatever its status. Throws temporary errors. */
	const request = async (...options: Parameters<typeof authorized>) =>
		send(await authorized(...options), secrets);

	/** Returns a successful response; null if the error code is `expected`. */
	async function ask(expected: string, ...options: Parameters<typeof request>) {
		const answer = await request(...options);
		if (answer.status >= 200 && answer.status < 300) return answer;
		if (codeOf(answer) === expected) return null;
		throw explain(answer, config, base);
	}

	return {
		request,
		ask,

		/** @throws if the server doesn't respond. The status doesn't matter: it may reject requests without a signature. */
		reach: () => exchange(new Request(base), secrets),

		/** @throws if the server rejects the key or the SAS token */
		async signIn() {
			const answer = await request("GET", "", {
				query: { restype: "container", comp: "list", maxresults: 1 },
			});
			// A SAS token may lack the permission to list, but runs don't need it.
			if (isUnauthenticated(answer)) throw explain(answer, config, base);
		},
	};
}
