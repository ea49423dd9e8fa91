import { signJwt } from "../../../keys/private_key.ts";
import { quote } from "../../../outbound/quote.ts";
import type { Sender } from "../../../outbound/send.ts";
import { type Credentials, requestToken } from "../roles/exchange.ts";
import type { Settings } from "./definition.ts";

const TOKEN_URI = "https://oauth2.googleapis.com/token";

export const SCOPE = "https://www.googleapis.com/auth/bigquery";

const TOKEN_SECONDS = 3600;

export const tokenUri = ({ token_uri }: Settings) => token_uri ?? TOKEN_URI;

/**
 * Signs a JWT with the service account's key and exchanges it for an access token (RFC 7523,
 * section 2.1).
 * @throws MisconfiguredError, with a message for the user, if the server rejects it
 */
export async function issueToken(server: Sender, config: Settings): Promise<Credentials<string>> {
	const uri = tokenUri(config);
	const { client_email, private_key, private_key_id } = config;
	const key = private_key ?? "";
	const now = Math.floor(Date.now() / 1000);
	const assertion = await signJwt(key, private_key_id ?? undefined, {
		iss: client_email ?? "",
		scope: SCOPE,
		aud: uri,
		iat: now,
		exp: now + TOKEN_SECONDS,
	});
	const secrets = [key, assertion];
	const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
	const { access_token } = await requestToken(server, [uri, { grant_type, assertion }], {
		secrets,
		setting: "token_uri",
		meaning: (error) =>
			error === "invalid_grant"
				? "The service account's key was rejected: it was deleted, it belongs to another client_email, or a clock is wrong."
				: `The service account was rejected (${quote(secrets, error)})`.replace(/\.\)$/, ")."),
	});
	const expires_at = Date.now() + TOKEN_SECONDS * 1000;
	return { value: access_token, expires_at, secrets: [access_token] };
}
