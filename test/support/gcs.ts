/**
 * Starts a stand-in for Google Cloud Storage with a bucket `exports`: the S3 server of the tests
 * behind a proxy. The proxy rejects the same requests as Google, changes the same headers as
 * Google's front end, and has Google's errors.
 */
import http, { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "./peers.ts";

/** Google's errors for errors of S3: code, message and details. */
const ERRORS: Record<string, [string, string, string]> = {
	InvalidAccessKeyId: [
		"InvalidSecurity",
		"The provided security credentials are not valid.",
		"Access key could not be found.",
	],
	Unauthorized: [
		"InvalidSecurity",
		"The provided security credentials are not valid.",
		"Access key could not be found.",
	],
	SignatureDoesNotMatch: [
		"SignatureDoesNotMatch",
		"Access denied.",
		"The request signature we calculated does not match the signature you provided. Check your Google secret key and signing method.",
	],
	NoSuchBucket: ["NoSuchBucket", "The specified bucket does not exist.", ""],
};

const errorOf = (code: string, message: string, details: string) =>
	`<?xml version='1.0' encoding='UTF-8'?><Error><Code>${code}</Code><Message>${message}</Message>${details && `<Details>${details}</Details>`}</Error>`;

/**
 * Returns the error with which Google would reject the request; undefined if it would accept it.
 */
function refusalOf({
	method,
	headers,
	url = "",
}: IncomingMessage): [number, string, string, string] | null {
	const { authorization = "" } = headers;
	const [, scope = "", signed = ""] =
		/^AWS4-HMAC-SHA256 Credential=([^,]*), ?SignedHeaders=([^,]*)/.exec(authorization) ?? [];
	// Requests without a signature only check that the server can be reached.
	if (!authorization) return [403, "AccessDenied", "Access denied.", "Anonymous caller"];
	if (!scope.endsWith("/auto/s3/aws4_request"))
		return [
			400,
			"AuthorizationHeaderMalformed",
			"The authorization header is malformed.",
			"Invalid region",
		];
	// The front end changes this header, so a signature over it never matches.
	if (signed.split(";").includes("accept-encoding"))
		return [403, ...(ERRORS.SignatureDoesNotMatch ?? ["", "", ""])];
	const strange = Object.keys(headers).find((name) =>
		/^x-(goog|amz-(server-side-encryption|security-token))/.test(name),
	);
	if (strange) return [400, "InvalidArgument", "Invalid argument.", strange];
	if (url.includes("/exports/refused/"))
		return [
			403,
			"AccessDenied",
			"Access denied.",
			"exporter@project.iam.gserviceaccount.com does not have storage.objects.create access to the Google Cloud Storage object.",
		];
	if (method === "DELETE" && url.includes("/exports/kept/"))
		return [
			403,
			"AccessDenied",
			"Access denied.",
			"exporter@project.iam.gserviceaccount.com does not have storage.objects.delete access to the Google Cloud Storage object.",
		];
	return null;
}

/**
 * Starts the proxy.
 * @param origin the origin of the S3 server
 */
export async function googles(origin: string) {
	const { hostname, port, pathname } = new URL(origin);

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const body = await buffer(request);
		const rejection = refusalOf(request);
		if (rejection) {
			const [status, ...error] = rejection;
			response.writeHead(status).end(errorOf(...error));
			return;
		}
		const { method, headers, url } = request;
		const upstream = http.request({
			hostname,
			port,
			method,
			path: url,
			headers: { ...headers, "accept-encoding": "identity,gzip(gfe)" },
			agent: false,
		});
		const answered = new Promise<IncomingMessage>((resolve, reject) =>
			upstream.once("response", resolve).once("error", reject),
		);
		upstream.end(body);
		const incoming = await answered;
		const text = await buffer(incoming);
		const [, code = ""] = /<Code>(\w+)</.exec(text.toString()) ?? [];
		const error = ERRORS[code];
		const { "content-length": _, "transfer-encoding": __, ...kept } = incoming.headers;
		const { statusCode = 500 } = incoming;
		response.writeHead(statusCode === 401 ? 403 : statusCode, {
			...kept,
			"x-guploader-uploadid": "1",
			server: "UploadServer",
		});
		response.end(error && method !== "HEAD" ? errorOf(...error) : text);
	}

	const proxy = createServer((request, response) => {
		answer(request, response).catch(() => response.destroy());
	});
	return { GCS_URL: `http://127.0.0.1:${await listen(proxy)}${pathname}` };
}
