import * as z from "zod";
import { signJwt } from "../../../auth/private_key.ts";
import { Misconfigured } from "../destination.ts";
import { quote } from "../quote.ts";
import { addressOf, send } from "../send.ts";
import type { Settings } from "./errors.ts";

/** Where Google issues access tokens. */
const TOKEN_URI = "https://oauth2.googleapis.com/token";

const SCOPE = "https://www.googleapis.com/auth/bigquery";

/** How long a token is asked for: the longest time that Google allows. */
const TOKEN_SECONDS = 3600;

/** Answers of the token endpoint (RFC 6749, sections 5.1 and 5.2). */
const Issued = z.object({ access_token: z.string().min(1) });
const Refused = z.object({
	error: z.string(),
	error_description: z.string().optional(),
});

/** The JSON of a text; undefined: it is none. */
export function jsonOf(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export const tokenUri = ({ token_uri }: Settings) => token_uri ?? TOKEN_URI;

/**
 * Exchanges a JWT that the service account's key signs for an access token (RFC 7523, section 2.1).
 * @throws Misconfigured, with a message for the user, if it is refused
 */
export async function issueToken(env: Env, config: Settings, timeoutMs: number): Promise<string> {
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
	const { status, text } = await send(
		env,
		new Request(uri, {
			method: "POST",
			body: new URLSearchParams({ grant_type, assertion }),
		}),
		{ timeoutMs, secrets },
	);
	const json = jsonOf(text);
	const issued = Issued.safeParse(json);
	if (status === 200 && issued.success) return issued.data.access_token;
	const { success, data } = Refused.safeParse(json);
	const address = addressOf(new URL(uri));
	if (!success)
		throw new Misconfigured(
			`${address} doesn't answer as a token server does (status ${status}): check token_uri.`,
		);
	const { error, error_description = error } = data;
	const meaning =
		error === "invalid_grant"
			? "The service account's key is refused: it was deleted, belongs to another client_email, or a clock is wrong."
			: `The service account is refused (${quote(secrets, error)})`.replace(/\.\)$/, ").");
	throw new Misconfigured(`${meaning} ${address} says: ${quote(secrets, error_description)}`);
}
