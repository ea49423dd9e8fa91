/** The headers that a signature covers, in order, besides those that begin with `x-ms-`. */
const SIGNED_HEADERS = [
	"content-encoding",
	"content-language",
	"content-length",
	"content-md5",
	"content-type",
	"date",
	"if-modified-since",
	"if-match",
	"if-none-match",
	"if-unmodified-since",
	"range",
];

/** One line for each `x-ms-` header. `Headers` lists them sorted, in lower case. */
const canonicalHeaders = (headers: Headers) =>
	[...headers]
		.filter(([name]) => name.startsWith("x-ms-"))
		.map(([name, value]) => `${name}:${value}\n`)
		.join("");

/** Returns the path as sent, and one line for each decoded parameter of the query. */
function canonicalResource(account: string, { pathname, search }: URL) {
	const parameters = new URLSearchParams(search);
	parameters.sort();
	return [
		`/${account}${pathname}`,
		...[...parameters].map(([name, value]) => `${name}:${value}`),
	].join("\n");
}

/**
 * Returns the Authorization header of a request to Blob Storage ("Authorize with Shared Key", REST
 * API reference of Azure Storage).
 * @param headers all headers but Authorization, with Content-Length unless the body is empty
 * @param key the account's key, in Base64
 */
export async function sharedKey(
	method: string,
	url: URL,
	headers: Headers,
	{ account, key }: { account: string; key: string },
): Promise<string> {
	const text = [
		method,
		...SIGNED_HEADERS.map((name) => headers.get(name) ?? ""),
		canonicalHeaders(headers) + canonicalResource(account, url),
	].join("\n");
	const signature = await crypto.subtle.sign(
		"HMAC",
		await crypto.subtle.importKey(
			"raw",
			Uint8Array.fromBase64(key),
			{ name: "HMAC", hash: "SHA-256" },
			false,
			["sign"],
		),
		new TextEncoder().encode(text),
	);
	return `SharedKey ${account}:${new Uint8Array(signature).toBase64()}`;
}
