import * as oauth from "oauth4webapi";
import * as z from "zod";
import { quoted } from "../../lib/text.ts";
import { CLOCK_TOLERANCE_MS } from "../../lib/time.ts";
import { DiscoveryError, discover as fetchDiscovery } from "../../outbound/discovery.ts";
import { reason } from "../../outbound/errors.ts";
import { singleLine } from "../../outbound/mail.ts";
import { checkedRequests } from "../../outbound/oauth.ts";
import { SignInError } from "../provider/problems.ts";
import type { Verified } from "../provider/shape.ts";
import { hasEmail, merge, toVerified } from "./claims.ts";
import type { Connection } from "./connections.ts";

/* OpenID Connect with the code flow and PKCE. */

/** The state of a sign-in while the browser is at the provider. */
export const Pending = z.object({ nonce: z.string(), verifier: z.string() });

type Pending = z.infer<typeof Pending>;

/** Returns the options of all requests to the provider. */
export const through = (env: Env, { issuer, client_secret }: Connection) =>
	checkedRequests(
		env,
		issuer,
		[client_secret],
		(error) => new SignInError("provider_unavailable", reason(error)),
	);

/** The default is that of OpenID Connect Discovery, section 3. */
const Methods = z.array(z.string()).catch(["client_secret_basic"]);

type Options = ReturnType<typeof through>;

/** GitHub has no discovery. */
const isGitHub = ({ connection }: Connection) => connection === "github";

async function discover(connection: Connection, options: Options) {
	const { issuer } = connection;
	if (isGitHub(connection))
		return {
			issuer,
			authorization_endpoint: `${issuer}/authorize`,
			token_endpoint: `${issuer}/access_token`,
			code_challenge_methods_supported: ["S256"],
		};
	if (!URL.canParse(issuer)) throw new SignInError("not_configured", "The issuer isn't a URL.");
	return fetchDiscovery(issuer, options);
}

/** Converts errors of the library to problems. */
function toProblem(error: unknown): never {
	if (error instanceof oauth.AuthorizationResponseError)
		throw new SignInError("provider_denied", said(error.error, error.error_description));
	if (error instanceof oauth.ResponseBodyError)
		throw new SignInError("provider_denied", said(error.error, error.error_description));
	if (error instanceof SignInError) throw error;
	if (error instanceof DiscoveryError)
		throw new SignInError(
			error.status === undefined ? "invalid_response" : "provider_unavailable",
			error.message,
		);
	if (
		error instanceof oauth.OperationProcessingError ||
		error instanceof oauth.UnsupportedOperationError ||
		error instanceof oauth.WWWAuthenticateChallengeError ||
		// A discovery or keys with values of another type.
		error instanceof TypeError ||
		error instanceof DOMException
	)
		throw new SignInError("invalid_response", detailOf(error));
	throw error;
}

/** The library's message about a claim that isn't as expected. The nonce is a secret. */
const Mismatch = z.object({
	claim: z.enum(["iss", "aud", "azp"]),
	claims: z.record(z.string(), z.unknown()),
	expected: z.unknown().optional(),
});

/** About a time, in seconds. */
const Untimely = z.object({
	claim: z.enum(["exp", "nbf"]),
	claims: z.record(z.string(), z.number().catch(0)),
	now: z.number(),
});

/** About the parameter `iss` of a response (RFC 9207). */
const OtherIssuer = z.object({ expected: z.string(), parameters: z.instanceof(URLSearchParams) });

/** Returns the time in words, or the number itself if there is no such date. */
function timeOf(seconds = 0) {
	const time = new Date(seconds * 1000);
	return Number.isNaN(time.getTime()) ? String(seconds) : time.toISOString();
}

/** Returns the error for the admin, with the wrong value. */
function detailOf({ message, cause }: Error) {
	const mismatch = Mismatch.safeParse(cause).data;
	if (mismatch) {
		const { claim, claims, expected } = mismatch;
		const instead = expected === undefined ? "" : `, not ${quoted(expected)}`;
		return `The ID token's ${claim} is ${quoted(claims[claim])}${instead}.`;
	}
	const untimely = Untimely.safeParse(cause).data;
	if (untimely) {
		const { claim, claims, now } = untimely;
		return `The ID token's ${claim} is ${timeOf(claims[claim])}. It was ${timeOf(now)}.`;
	}
	const other = OtherIssuer.safeParse(cause).data;
	return other
		? `The response is of the issuer ${quoted(other.parameters.get("iss"))}, not ${quoted(other.expected)}.`
		: message;
}

const said = (code: string, description = "") =>
	singleLine(`The provider answered ${code}${description && `: ${description}`}`).slice(0, 300);

/** Returns the URL of the provider to which the browser goes. */
export async function authorizationUrl(
	options: Options,
	connection: Connection,
	{
		redirect_uri,
		state,
		email,
		pending,
	}: {
		redirect_uri: string;
		state: string;
		email: string | undefined;
		pending: Pending;
	},
) {
	const server = await discover(connection, options).catch(toProblem);
	const url = URL.parse(server.authorization_endpoint ?? "");
	if (!url || !["https:", "http:"].includes(url.protocol))
		throw new SignInError("provider_unavailable", "Its discovery has no authorization endpoint.");
	const parameters = {
		client_id: connection.client_id,
		redirect_uri,
		response_type: "code",
		scope: isGitHub(connection) ? "read:user user:email" : "openid email profile",
		state,
		code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
		code_challenge_method: "S256",
		...(!isGitHub(connection) && { nonce: pending.nonce }),
		...(email && { login_hint: email }),
	};
	for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
	return url.href;
}

/** The URL that a provider redirected to, and the state of the sign-in. */
type Callback = { url: URL; redirect_uri: string; state: string; pending: Pending };

/** Exchanges the code of a callback. Returns the response, and the parameters to read it with. */
async function redeem(
	options: Options,
	connection: Connection,
	{ url, redirect_uri, state, pending }: Callback,
) {
	const { client_id, client_secret } = connection;
	const server: oauth.AuthorizationServer = await discover(connection, options);
	const client: oauth.Client = {
		client_id,
		[oauth.clockTolerance]: CLOCK_TOLERANCE_MS / 1000,
	};
	const parameters = oauth.validateAuthResponse(server, client, url, state);
	const methods = Methods.parse(server.token_endpoint_auth_methods_supported);
	const proof =
		methods.includes("client_secret_basic") && !isGitHub(connection)
			? oauth.ClientSecretBasic(client_secret)
			: oauth.ClientSecretPost(client_secret);
	const response = await oauth.authorizationCodeGrantRequest(
		...([server, client, proof, parameters, redirect_uri, pending.verifier, options] as const),
	);
	return { server, client, response };
}

/**
 * Checks the provider's response, and returns who it is.
 * @throws SignInError
 */
export const verify = (env: Env, connection: Connection, callback: Callback): Promise<Verified> =>
	isGitHub(connection)
		? readProfile(env, connection, callback).catch(toProblem)
		: verifyIdToken(through(env, connection), connection, callback);

async function readProfile(env: Env, connection: Connection, callback: Callback) {
	const options = through(env, connection);
	const { server, client, response } = await redeem(options, connection, callback);
	const { access_token } = await oauth.processAuthorizationCodeResponse(server, client, response);
	const { profileOf } = await import("./github.ts");
	return profileOf(env, connection, { access_token, options });
}

/**
 * Verifies the ID token that a provider gives for the code of a callback.
 * @throws SignInError
 */
export const verifyIdToken = (options: Options, connection: Connection, callback: Callback) =>
	readClaims(options, connection, callback)
		.then((claims) => toVerified(connection, claims))
		.catch(toProblem);

async function readClaims(options: Options, connection: Connection, callback: Callback) {
	const { server, client, response } = await redeem(options, connection, callback);
	const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
		expectedNonce: callback.pending.nonce,
		requireIdToken: true,
	});
	await oauth.validateApplicationLevelSignature(server, response, options);
	const ofToken: Record<string, unknown> & { sub: string } = oauth.getValidatedIdTokenClaims(
		tokens,
	) ?? { sub: "" };
	if (hasEmail(ofToken) || !server.userinfo_endpoint) return ofToken;
	const info = await userInfo(server, client, { ...tokens, sub: ofToken.sub, options });
	return merge(ofToken, info);
}

async function userInfo(
	server: oauth.AuthorizationServer,
	client: oauth.Client,
	{ access_token, sub, options }: { access_token: string; sub: string; options: Options },
) {
	const response = await oauth.userInfoRequest(server, client, access_token, options);
	return oauth.processUserInfoResponse(server, client, sub, response);
}
