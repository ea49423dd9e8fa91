import * as oauth from "oauth4webapi";
import * as z from "zod";
import { lowerCaseAscii, email as validEmail } from "../../http/fields.ts";
import { singleLine } from "../../outbound/mail.ts";
import { checkedRequests } from "../../outbound/oauth.ts";
import { reason } from "../../outbound/reason.ts";
import { domainOf } from "../domains/connections.ts";
import type { Connection } from "./connections.ts";
import { SignInError } from "./problems.ts";
import type { Verified } from "./shape.ts";

/* OpenID Connect with the code flow and PKCE. */

/** Names of methods of a second factor in `amr` (RFC 8176). */
const SECOND_FACTORS = ["mfa", "otp", "hwk", "sc"];

/** What a sign-in remembers while the browser is at the provider. */
export const Pending = z.object({ nonce: z.string(), verifier: z.string() });

type Pending = z.infer<typeof Pending>;

/** Returns the options of all requests to the provider. */
const through = (env: Env, { issuer, client_secret }: Connection) =>
	checkedRequests(
		env,
		issuer,
		[client_secret],
		(error) => new SignInError("provider_unavailable", reason(error)),
	);

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
	const url = URL.parse(issuer);
	if (!url) throw new SignInError("not_configured", "The issuer isn't a URL.");
	const response = await oauth.discoveryRequest(url, options);
	if (response.status !== 200)
		throw new SignInError(
			"provider_unavailable",
			`The discovery of ${issuer} answered ${response.status}.`,
		);
	return oauth.processDiscoveryResponse(url, response);
}

/** Converts errors of the library to problems. */
function toProblem(error: unknown): never {
	if (error instanceof oauth.AuthorizationResponseError)
		throw new SignInError("provider_denied", said(error.error, error.error_description));
	if (error instanceof oauth.ResponseBodyError)
		throw new SignInError("provider_denied", said(error.error, error.error_description));
	if (error instanceof SignInError) throw error;
	if (
		error instanceof oauth.OperationProcessingError ||
		error instanceof oauth.UnsupportedOperationError ||
		error instanceof oauth.WWWAuthenticateChallengeError
	)
		throw new SignInError("invalid_response", error.message);
	throw error;
}

const said = (code: string, description = "") =>
	singleLine(`The provider answered ${code}${description && `: ${description}`}`).slice(0, 300);

/** Returns the URL of the provider to which the browser goes. */
export async function authorizationUrl(
	env: Env,
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
	const server = await discover(connection, through(env, connection)).catch(toProblem);
	const url = URL.parse(server.authorization_endpoint ?? "");
	if (!url)
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

/**
 * Checks the provider's response, and returns who it is.
 * @param url that the provider redirected to
 * @throws SignInError
 */
export const verify = (
	env: Env,
	connection: Connection,
	response: { url: URL; redirect_uri: string; state: string; pending: Pending },
): Promise<Verified> => read(env, connection, response).catch(toProblem);

async function read(
	env: Env,
	connection: Connection,
	{ url, redirect_uri, state, pending }: Parameters<typeof verify>[2],
) {
	const options = through(env, connection);
	const { client_id, client_secret } = connection;
	const server: oauth.AuthorizationServer = await discover(connection, options);
	const client: oauth.Client = { client_id };
	const parameters = oauth.validateAuthResponse(server, client, url, state);
	const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
	const proof =
		methods.includes("client_secret_basic") && !isGitHub(connection)
			? oauth.ClientSecretBasic(client_secret)
			: oauth.ClientSecretPost(client_secret);
	const response = await oauth.authorizationCodeGrantRequest(
		...([server, client, proof, parameters, redirect_uri, pending.verifier, options] as const),
	);
	if (isGitHub(connection)) {
		const { access_token } = await oauth.processAuthorizationCodeResponse(server, client, response);
		const { profileOf } = await import("./github.ts");
		return profileOf(env, connection, access_token, options);
	}
	const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
		expectedNonce: pending.nonce,
		requireIdToken: true,
	});
	await oauth.validateApplicationLevelSignature(server, response, options);
	const ofToken: Record<string, unknown> & { sub: string } = oauth.getValidatedIdTokenClaims(
		tokens,
	) ?? { sub: "" };
	const claims =
		ofToken.email === undefined && server.userinfo_endpoint
			? {
					...(await userInfo(server, client, { ...tokens, sub: ofToken.sub }, options)),
					...ofToken,
				}
			: ofToken;
	return toVerified(connection, claims);
}

async function userInfo(
	server: oauth.AuthorizationServer,
	client: oauth.Client,
	{ access_token, sub }: { access_token: string; sub: string },
	options: Options,
) {
	const response = await oauth.userInfoRequest(server, client, access_token, options);
	return oauth.processUserInfoResponse(server, client, sub, response);
}

const Claims = z.object({
	sub: z.string().min(1).max(255),
	email: z.string().optional().catch(undefined),
	email_verified: z.boolean().optional().catch(undefined),
	hd: z.string().optional().catch(undefined),
	given_name: z.string().catch(""),
	family_name: z.string().catch(""),
	amr: z.array(z.string()).catch([]),
});

function toVerified(connection: Connection, all: Record<string, unknown>): Verified {
	const parsed = Claims.safeParse(all);
	if (!parsed.success)
		throw new SignInError("invalid_response", "The subject is missing or too long.");
	const claims = parsed.data;
	const email = validEmail().safeParse(claims.email);
	if (!email.success)
		throw new SignInError(
			"email_missing",
			"The provider reported no email address: the claim email is missing or invalid.",
		);
	const { domain_id } = connection;
	return {
		connection: connection.connection,
		domain_id,
		subject: claims.sub,
		email: email.data,
		is_email_verified: isVerified(connection, claims, email.data),
		first_name: claims.given_name,
		last_name: claims.family_name,
		has_factor: claims.amr.some((method) => SECOND_FACTORS.includes(method)),
		claims: all,
	};
}

/**
 * Whether the address is the person's. The provider of a domain decides about its addresses, so it
 * doesn't have to say so. Google verifies an address only once, unless it hosts its domain (`hd`):
 * somebody who has left a company may still have an account with its address.
 */
function isVerified(
	{ connection, domain_id }: Connection,
	{ email_verified, hd }: z.infer<typeof Claims>,
	email: string,
) {
	if (domain_id !== null) return email_verified !== false;
	if (connection !== "google-oauth2") return email_verified === true;
	return email_verified === true && lowerCaseAscii(hd ?? "gmail.com") === domainOf(email);
}
