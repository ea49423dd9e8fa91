import { cipherOf, MASK } from "../../keys/secrets.ts";

/** The settings of a domain's own providers. */
const SETTINGS = {
	saml: ["saml_entity_id", "saml_acs_url", "saml_x509_cert"],
	oidc: ["oidc_issuer", "oidc_client_id", "oidc_client_secret"],
} as const;

type Own = keyof typeof SETTINGS;

export type Settings = { [K in (typeof SETTINGS)[Own][number]]?: string | null | undefined };

/** Whether a provider of the domain is set up. */
const has = (sso: Own, settings: Settings) => SETTINGS[sso].every((field) => settings[field]);

export const hasSaml = (settings: Settings) => has("saml", settings);

export const hasOidc = (settings: Settings) => has("oidc", settings);

/** Returns why a connection can't be enforced; undefined if it is set up. */
export function whyIncomplete(sso: string, settings: Settings) {
	if (sso === "saml" && !hasSaml(settings))
		return "SAML cannot be enforced without its entity id, sign-in URL and certificate.";
	if (sso === "oidc" && !hasOidc(settings))
		return "OpenID Connect cannot be enforced without its issuer, client id and client secret.";
	return undefined;
}

/**
 * The column that identifies the provider. A user's id is only valid at the provider that issued it.
 */
const NAMES = { saml: "saml_entity_id", oidc: "oidc_issuer" } as const;

/** Whether a provider was replaced or removed. */
export const isReplaced = (sso: Own, before: Settings, after: Settings) =>
	has(sso, before) && (!has(sso, after) || before[NAMES[sso]] !== after[NAMES[sso]]);

const cipher = (env: Env, domain_id: string) => cipherOf(env, "domains", domain_id);

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
	secret ? cipher(env, domain_id).seal("oidc_client_secret", secret) : secret;

/** Decrypts the client secret of a domain. */
export const unseal = (env: Env, domain_id: string, sealed: string) =>
	cipher(env, domain_id).unseal("oidc_client_secret", sealed);
