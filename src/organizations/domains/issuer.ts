import { invalid } from "../../http/errors.ts";

export const INVALID_ISSUER =
	"Enter the URL of the issuer, without a user name, query or fragment.";

/** Whether a text is the identifier of an OpenID provider: a URL without query and fragment. */
export function isIssuer(text: string) {
	const { protocol = "", username, password } = URL.parse(text) ?? {};
	return /^https?:$/.test(protocol) && username === "" && password === "" && !/[?#]/.test(text);
}

/**
 * Checks that the issuer is a provider, which its discovery says.
 * @param attr the field with the issuer
 * @throws 400 if it isn't, with the right issuer if that can be found; if it isn't on the public
 * internet or doesn't use HTTPS, unless private destinations are allowed
 */
export async function checkIssuer(
	env: Env,
	issuer: string | null | undefined,
	attr = "oidc_issuer",
) {
	if (!issuer) return;
	const { allowsPrivate, checkPublicHost } = await import("../../outbound/reach.ts");
	const { protocol, hostname } = new URL(issuer);
	if (protocol !== "https:" && !allowsPrivate(env))
		throw invalid(attr, "The issuer must have an https URL.");
	const failure = await checkPublicHost(env, hostname);
	if (failure && !failure.retryable) throw invalid(attr, failure.error);
	const { whyNoIssuer } = await import("./issuer_check.ts");
	// If the resolver or the provider doesn't respond, the URL is accepted, since each sign-in checks
	// it again.
	const problem = failure ? undefined : await whyNoIssuer(env, issuer);
	if (problem) throw invalid(attr, problem);
}
