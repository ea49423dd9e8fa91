import { invalid } from "../../http/errors.ts";

/**
 * @throws 400 if the issuer isn't on the public internet or doesn't use HTTPS, unless private
 * destinations are allowed
 */
export async function checkIssuer(env: Env, issuer: string | null | undefined) {
	if (!issuer) return;
	const { allowsPrivate, checkPublicHost } = await import("../../outbound/dns/reach.ts");
	const { protocol, hostname } = new URL(issuer);
	if (protocol !== "https:" && !allowsPrivate(env))
		throw invalid("oidc_issuer", "The issuer must have an https URL.");
	const failure = await checkPublicHost(env, hostname);
	// If the resolver doesn't respond, the URL is accepted, since each sign-in checks it again.
	if (failure && !failure.retryable) throw invalid("oidc_issuer", failure.error);
}
