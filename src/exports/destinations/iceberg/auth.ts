/** How requests to a catalog are authenticated. */
import { AwsClient } from "aws4fetch";
import * as z from "zod";
import { isCutObject, jsonOf } from "../../../lib/json.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf, type Sender, unavailable } from "../../../outbound/send.ts";
import type { Settings } from "./definition.ts";

/** Responses of a token endpoint (RFC 6749, sections 5.1 and 5.2). */
const Issued = z.object({ access_token: z.string().min(1) });
const Rejected = z.object({ error: z.string(), error_description: z.string().optional() });

const tokenUri = ({ catalog_uri, oauth2_server_uri }: Settings) =>
	oauth2_server_uri ?? `${catalog_uri.replace(/\/$/, "")}/v1/oauth/tokens`;

/**
 * Gets a token for a client (RFC 6749, section 4.4).
 * @throws MisconfiguredError, with a message for the user, if the server rejects the client
 */
async function issueToken({ send }: Sender, config: Settings): Promise<string> {
	const { client_id, client_secret, scope } = config;
	const secrets = [client_secret ?? ""].filter(Boolean);
	const url = tokenUri(config);
	const body = new URLSearchParams({
		grant_type: "client_credentials",
		client_id: client_id ?? "",
		client_secret: client_secret ?? "",
		scope: scope ?? "catalog",
	});
	const response = await send(new Request(url, { method: "POST", body }), secrets);
	const { status, text } = response;
	if (status === 200 && isCutObject(text)) throw unavailable(response);
	const json = jsonOf(text);
	const issued = Issued.safeParse(json);
	if (status === 200 && issued.success) return issued.data.access_token;
	const { success, data } = Rejected.safeParse(json);
	if (!success)
		throw new MisconfiguredError(
			`${addressOf(new URL(url))} doesn't respond like a token server (status ${status}): check oauth2_server_uri.`,
		);
	const { error, error_description = error } = data;
	throw new MisconfiguredError(
		`The client was rejected: check client_id, client_secret and scope. ${addressOf(new URL(url))} says: ${quote(secrets, error_description)}`,
	);
}

type Options = { method: string; headers: Record<string, string>; body?: string | undefined };

/** Returns the function that makes authenticated requests. */
export function authOf(server: Sender, config: Settings) {
	const { token, client_secret, signing_name, aws_access_key_id, aws_secret_access_key } = config;
	let issued: string | undefined;

	function signer() {
		const { region, aws_session_token } = config;
		return new AwsClient({
			accessKeyId: aws_access_key_id ?? "",
			secretAccessKey: aws_secret_access_key ?? "",
			...(aws_session_token && { sessionToken: aws_session_token }),
			...(region && { region }),
			...(signing_name && { service: signing_name }),
			retries: 0,
		});
	}

	return {
		/** Texts that no message may contain. */
		secrets: () =>
			[token, client_secret, issued, aws_secret_access_key, config.aws_session_token].filter(
				(secret) => typeof secret === "string",
			),

		async request(url: string, { method, headers, body }: Options): Promise<Request> {
			const init = { method, ...(body !== undefined && { body }) };
			if (signing_name) return signer().sign(url, { ...init, headers });
			if (client_secret) issued ??= await issueToken(server, config);
			const bearer = token ?? issued;
			return new Request(url, {
				...init,
				headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }) },
			});
		},

		/** Makes the next request get a new token. Returns false if there is no other one. */
		renew() {
			const had = issued !== undefined;
			issued = undefined;
			return had;
		},
	};
}
