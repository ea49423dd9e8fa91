import { AwsClient } from "aws4fetch";
import { MisconfiguredError } from "../../errors.ts";
import { type Answer, sender } from "../../send.ts";
import { codeOf, type Dialect, type Settings, SIGNING_ERRORS, toError } from "./errors.ts";

/** Percent-encodes a text as signatures require (RFC 3986). */
const encoded = (text: string) =>
	encodeURIComponent(text).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);

type Options = {
	query?: Record<string, string | number>;
	headers?: Record<string, string>;
	body?: Uint8Array | string;
};

export const succeeded = ({ status, text }: Answer) =>
	status >= 200 && status < 300 && !/<Error>/.test(text);

const signerOf = (config: Settings) =>
	new AwsClient({
		accessKeyId: config.aws_access_key_id ?? "",
		secretAccessKey: config.aws_secret_access_key ?? "",
		...(config.aws_session_token && {
			sessionToken: config.aws_session_token,
		}),
		region: config.region,
		service: "s3",
		retries: 0,
	});

/** Returns the texts to remove from the server's messages. */
const secretsOf = (config: Settings) =>
	[config.aws_access_key_id, config.aws_secret_access_key, config.aws_session_token].filter(
		(secret) => typeof secret === "string",
	);

export type Client = ReturnType<typeof connect>;

/**
 * Returns the functions that send signed requests to a bucket.
 * @param base the bucket's URL
 * @param timeoutMs how long the server may send no data
 */
export function connect(
	env: Env,
	config: Settings,
	base: URL,
	{ timeoutMs, dialect }: { timeoutMs: number; dialect: Dialect },
) {
	const { exchange, send } = sender(env, timeoutMs);
	const signer = signerOf(config);
	const secrets = secretsOf(config);
	const explain = (answer: Answer) =>
		dialect.explain(codeOf(answer), answer) ?? toError(answer, config);

	async function signed(method: string, key: string, options: Options = {}) {
		if (!signer.accessKeyId || !signer.secretAccessKey)
			throw new MisconfiguredError(`Requests can't be signed without ${dialect.keys}.`);
		const url = new URL(base);
		if (key) url.pathname += `/${key.split("/").map(encoded).join("/")}`;
		// `searchParams` would write a space as "+", which isn't what is signed.
		url.search = Object.entries(options.query ?? {})
			.map(([name, value]) => `${encoded(name)}=${encoded(String(value))}`)
			.join("&");
		return signer.sign(url, {
			method,
			...(options.headers && { headers: options.headers }),
			...(options.body !== undefined && { body: options.body }),
		});
	}

	/** Returns the response, whatever its status. Throws temporary errors. */
	const request = async (...options: Parameters<typeof signed>) =>
		send(await signed(...options), secrets);

	/** Returns a successful response; null if the upload or object doesn't exist. */
	async function ask(...options: Parameters<typeof request>) {
		const answer = await request(...options);
		if (succeeded(answer)) return answer;
		if (["NoSuchUpload", "NoSuchKey"].includes(codeOf(answer))) return null;
		throw explain(answer);
	}

	return {
		request,
		ask,

		/** @throws if the server doesn't respond. The status doesn't matter: it may reject requests that aren't signed. */
		reach: () => exchange(new Request(base), secrets),

		/** @throws if the server rejects the key */
		async signIn() {
			const answer = await exchange(
				await signed("GET", "", { query: { "list-type": 2, "max-keys": 1 } }),
				secrets,
			);
			if (!succeeded(answer) && SIGNING_ERRORS.includes(codeOf(answer))) throw explain(answer);
		},
	};
}
