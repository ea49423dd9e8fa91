import * as z from "zod";
import { signJwt } from "../../../keys/private_key.ts";
import { isCutObject, jsonOf } from "../../../lib/json.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { quote } from "../../../outbound/quote.ts";
import { addressOf, type Sender, unavailable } from "../../../outbound/send.ts";
import type { Settings } from "./definition.ts";

const TOKEN_URI = "https://oauth2.googleapis.com/token";

const SCOPE = "https://www.googleapis.com/auth/bigquery";

const TOKEN_SECONDS = 3600;

/** Responses of the token endpoint (RFC 6749, sections 5.1 and 5.2). */
const Issued = z.object({ access_token: z.string().min(1) });
const Rejected = z.object({ error: z.string(), error_description: z.string().optional() });

export const tokenUri = ({ token_uri }: Settings) => token_uri ?? TOKEN_URI;

/**
 * Signs a JWT with the service account's key and exchanges it for an access token (RFC 7523,
 * section 2.1).
 * @throws MisconfiguredError, with a message for the user, if the server rejects it
 */
export async function issueToken({ send }: Sender, config: Settings): Promise<string> {
	const uri = tokenUri(config);
	const { client_email, private_key, private_key_id } = config;
	const now = Math.floor(Date.now() / 1000);
	const assertion = await signJwt(private_key, private_key_id ?? undefined, {
		iss: client_email,
		scope: SCOPE,
		aud: uri,
		iat: now,
		exp: now + TOKEN_SECONDS,
	});
	const secrets = [private_key, assertion];
	const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
	const body = new URLSearchParams({ grant_type, assertion });
	const response = await send(new Request(uri, { method: "POST", body }), secrets);
	const { status, text } = response;
	if (status === 200 && isCutObject(text)) throw unavailable(response);
	const json = jsonOf(text);
	const issued = Issued.safeParse(json);
	if (status === 200 && issued.success) return issued.data.access_token;
	const { success, data } = Rejected.safeParse(json);
	const address = addressOf(new URL(uri));
	if (!success)
		throw new MisconfiguredError(
			`${address} doesn't respond like a token server (status ${status}): check token_uri.`,
		);
	const { error, error_description = error } = data;
	const meaning =
		error === "invalid_grant"
			? "The service account's key was rejected: it was deleted, it belongs to another client_email, or a clock is wrong."
			: `The service account was rejected (${quote(secrets, error)})`.replace(/\.\)$/, ").");
	throw new MisconfiguredError(`${meaning} ${address} says: ${quote(secrets, error_description)}`);
}
