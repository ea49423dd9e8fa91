import { DiscoveryError, discover } from "../../outbound/discovery.ts";
import { reason } from "../../outbound/errors.ts";
import { checkedRequests } from "../../outbound/oauth.ts";

/* Checking an issuer when it is saved, and finding the one that was meant. */

/** The provider doesn't respond, or not now. */
class NoAnswerError extends Error {}

const isTemporary = ({ status = 0 }: DiscoveryError) =>
	[408, 429].includes(status) || status >= 500;

/** Returns why an issuer has no discovery; undefined if it has one, or if the provider doesn't say. */
async function problemOf(
	env: Env,
	issuer: string,
): Promise<DiscoveryError | NoAnswerError | undefined> {
	const options = checkedRequests(env, issuer, [], (error) => new NoAnswerError(reason(error)));
	return discover(issuer, options).then(
		() => undefined,
		(error: unknown) => {
			if (error instanceof DiscoveryError)
				return isTemporary(error) ? new NoAnswerError(error.message) : error;
			if (error instanceof NoAnswerError) return error;
			throw error;
		},
	);
}

/** How many issuers are tried instead of one. */
const MAX_TRIED = 12;

const MAX_LENGTH = 512;

/** Returns the URL with another path. */
const at = ({ origin }: URL, ...segments: string[]) => [origin, ...segments].join("/");

/**
 * Returns what may have been meant: without what is below the issuer, such as the path of the
 * discovery or of another page; with what providers have below their host.
 */
function candidates(issuer: string, named: string | undefined) {
	const url = new URL(issuer);
	const segments = url.pathname.split("/").filter(Boolean);
	const isUsable = named !== undefined && named.length <= MAX_LENGTH && !named.includes("{");
	const above = segments.map((_, i) => at(url, ...segments.slice(0, -1 - i)));
	const host = url.hostname.replace(/^([\w-]+)-admin(\.okta(preview|-emea)?\.com)$/, "$1$2");
	return [
		...new Set([
			// Microsoft Entra ID, whose first version names another issuer.
			...(url.hostname.endsWith(".microsoftonline.com") ? [at(url, ...segments, "v2.0")] : []),
			...(isUsable ? [named] : []),
			...(host === url.hostname ? [] : [`https://${host}`]),
			...above,
			// Keycloak, now and before version 17.
			...segments
				.slice(-2)
				.toReversed()
				.flatMap((realm) => [at(url, "realms", realm), at(url, "auth", "realms", realm)]),
		]),
	].slice(0, MAX_TRIED);
}

const isWebUrl = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "");

/** Returns the first of the candidates that is an issuer. */
async function find(env: Env, issuers: string[]) {
	const tried = issuers
		.filter(isWebUrl)
		.map(async (each) => ((await problemOf(env, each)) ? [] : [each]));
	return (await Promise.all(tried)).flat()[0];
}

/** Returns what an admin can enter instead. */
async function remedyFor(env: Env, issuer: string, { named }: DiscoveryError) {
	const found = await find(env, candidates(issuer, named));
	if (found) return `Enter ${found}`;
	if (named?.includes("{")) return "Enter it with the ID of your tenant.";
	const { origin } = new URL(issuer);
	if (await find(env, [at(new URL(issuer), "realms", "master")]))
		return `Enter it with your realm: ${origin}/realms/<realm>`;
	return "Enter the issuer exactly as the provider's discovery document writes it.";
}

/**
 * Returns why a text isn't the issuer of a provider, and what to enter instead; undefined if it is,
 * or if the provider doesn't respond.
 */
export async function whyNoIssuer(env: Env, issuer: string) {
	const problem = await problemOf(env, issuer);
	if (!(problem instanceof DiscoveryError)) return undefined;
	return `${problem.message} ${await remedyFor(env, issuer, problem)}`;
}
