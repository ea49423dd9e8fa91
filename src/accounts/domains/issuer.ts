import { invalid } from "../../http/errors.ts";

export const INVALID_ISSUER =
	"Enter the URL of the issuer, without a user name, query or fragment.";

/** Whether a text is the identifier of an OpenID provider: a URL without query and fragment. */
export function isIssuer(text: string) {
	const { protocol = "", username, password } = URL.parse(text) ?? {};
	return /^https?:$/.test(protocol) && username === "" && password === "" && !/[?#]/.test(text);
}

/**
 * @param attr the field with the issuer
 * @throws 400 if the issuer isn't on the public internet or doesn't use HTTPS, unless private
 * destinations are allowed
 */
export async function checkIssuer(
	env: Env,
	issuer: string | null | undefined,
	attr = "oidc_issuer",
) {
	if (!issuer) return;
	const { allowsPrivate, checkPublicHost } = await import("../../outbound/dns/reach.ts");
	const { protocol, hostname } = new URL(issuer);
	if (protocol !== "https:" && !allowsPrivate(env))
		throw invalid(attr, "The issuer must have an https URL.");
	const failure = await checkPublicHost(env, hostname);
	// If the resolver doesn't respond, the URL is accepted, since each sign-in checks it again.
	if (failure && !failure.retryable) throw invalid(attr, failure.error);
}
