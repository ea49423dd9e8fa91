import { cipherOf, MASK } from "../../keys/secrets.ts";

const cipher = (env: Env, domain_id: string) => cipherOf(env, "domains", domain_id);

const FIELD = "oidc_client_secret";

/**
 * Returns the client secret in a body.
 * @returns undefined if the stored one stays, null if it is removed
 */
export const secretIn = (body: { oidc_client_secret?: string | null | undefined }) =>
	[undefined, null, MASK].some((kept) => kept === body.oidc_client_secret)
		? undefined
		: body.oidc_client_secret || null;

/** Encrypts the result of `secretIn`. Throws 400 if `SECRETS_KEY` isn't set. */
export const seal = async (env: Env, domain_id: string, secret: string | null | undefined) =>
	secret ? cipher(env, domain_id).seal(FIELD, secret) : secret;

/** Decrypts the client secret of a domain. */
export const unseal = (env: Env, domain_id: string, sealed: string) =>
	cipher(env, domain_id).unseal(FIELD, sealed);
