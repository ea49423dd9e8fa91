/** Checks signatures of AWS (SigV4) with the tests' access key. */
import { AwsClient } from "aws4fetch";
import { KEYS } from "./keys.ts";

type Signed = {
	method: string;
	url: string;
	/** Returns a header; null or undefined if it is missing. */
	header(name: string): string | null | undefined;
	body: Uint8Array<ArrayBuffer>;
};

/** Whether a request has a valid signature, and the token of a temporary key, if there is one. */
export async function isSigned({ method, url, header, body }: Signed, sessionToken?: string) {
	const authorization = header("authorization");
	const [, region, service, names = ""] =
		/Credential=key-of-nobody\/\d{8}\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+),/.exec(
			authorization ?? "",
		) ?? [];
	if (!region || !service) return false;
	const client = new AwsClient({
		accessKeyId: KEYS.aws_access_key_id,
		secretAccessKey: KEYS.aws_secret_access_key,
		...(sessionToken && { sessionToken }),
		region,
		service,
	});
	const signed = names.split(";").filter((name) => name !== "host");
	const request = await client.sign(url, {
		method,
		headers: Object.fromEntries(signed.map((name) => [name, String(header(name))])),
		...(body.length > 0 && { body }),
		aws: { datetime: String(header("x-amz-date")), allHeaders: true },
	});
	return request.headers.get("authorization") === authorization;
}
