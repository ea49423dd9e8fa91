/**
 * Stand-ins for the token exchanges of AWS, Google Cloud and Microsoft Entra ID. Each checks a token
 * against the issuer's discovery and keys, as the cloud documents it, and rejects it with the cloud's
 * words. What they issue is accepted by the storage of the tests.
 */
import { env, exports } from "cloudflare:workers";
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import { vi } from "vitest";
import { sharedKey } from "../../src/exports/destinations/azure/shared_key.ts";
import { issueToken } from "../../src/exports/destinations/bigquery/token.ts";
import { sender } from "../../src/outbound/send.ts";
import { isSigned } from "./aws_signature.ts";
import { ACCOUNT } from "./azurite.ts";
import { ACCOUNT as SERVICE } from "./bigquery.ts";
import { KEYS } from "./bucket.ts";
import { signer } from "./exporting.ts";
import { HANG_MS } from "./hang.ts";

const HOUR_SECONDS = 3600;

export const ISSUER = "https://app.tenantry.test";
export const ROLE = "arn:aws:iam::123456789012:role/exports/tenantry";
export const PROVIDER =
	"projects/123456789012/locations/global/workloadIdentityPools/exports/providers/tenantry";
export const SERVICE_ACCOUNT = "exporter@project.iam.gserviceaccount.com";
export const TENANT = "8f7e6d5c-0000-4000-8000-000000000001";
export const APPLICATION = "8f7e6d5c-0000-4000-8000-000000000002";

/** What a customer has set up in a cloud. */
export type Trust = {
	iss: string;
	/** Audiences that are accepted. */
	aud: string[];
	sub: string;
	/** Names of what there is: the role, the provider, the tenant, the application. */
	exists: string[];
	/** Whether the cloud can get the keys of the issuer. */
	isReached: boolean;
	/** By how much the cloud's clock is ahead, in milliseconds. */
	ahead: number;
	/** Whether the principal may act as the service account. */
	isUser: boolean;
	/** How long credentials are valid, in seconds. */
	lifetime: number;
};

type Failure = "iss" | "keys" | "token" | "exp" | "aud" | "sub";

/** Fetches a document of the issuer, as a cloud does: without a key, and only over HTTPS. */
async function published(url: string) {
	if (!url.startsWith(`${ISSUER}/`)) throw new Error("unreachable");
	const response = await exports.default.fetch(url);
	if (!response.ok) throw new Error(`answered ${response.status}`);
	// biome-ignore lint/suspicious/noExplicitAny: checked below
	return response.json<any>();
}

/** Returns which claim of a token a cloud rejects first; null if it accepts the token. */
export async function rejectedClaim(token: string, trust: Trust): Promise<Failure | null> {
	const { iss } = decodeJwt(token);
	if (iss !== trust.iss) return "iss";
	if (!trust.isReached) return "keys";
	const discovery = await published(`${iss}/.well-known/openid-configuration`);
	if (discovery.issuer !== iss) return "iss";
	if (decodeProtectedHeader(token).alg !== "RS256") return "token";
	try {
		const keys = await published(discovery.jwks_uri);
		const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
			algorithms: ["RS256"],
			currentDate: new Date(Date.now() + trust.ahead),
			requiredClaims: ["iat", "exp", "sub", "aud", "jti"],
		});
		if (!trust.aud.includes(String(payload.aud))) return "aud";
		return payload.sub === trust.sub ? null : "sub";
	} catch (error) {
		if (error instanceof errors.JWTExpired) return "exp";
		return "token";
	}
}

const json = (body: object, status = 200) => Response.json(body, { status });

type Cloud = {
	trust: Trust;
	/** The credentials that were issued, each of which works. */
	issued: Set<string>;
	/** The tokens that were sent. */
	tokens: string[];
	/** How often credentials were asked for. */
	exchanges: string[];
};

type Handler = (cloud: Cloud, url: URL, request: Request) => Promise<Response>;

const xml = (status: number, text: string) =>
	new Response(text, { status, headers: { "content-type": "text/xml" } });

const awsError = (status: number, code: string, message: string) =>
	xml(
		status,
		`<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId></ErrorResponse>`,
	);

const AWS_ERRORS: Record<Failure, [number, string, string]> = {
	iss: [
		400,
		"InvalidIdentityToken",
		`No OpenIDConnect provider found in your account for ${ISSUER}`,
	],
	keys: [
		400,
		"InvalidIdentityToken",
		"Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation for requirements",
	],
	token: [400, "InvalidIdentityToken", "The ID Token provided is not a valid JWT."],
	exp: [
		400,
		"ExpiredTokenException",
		"Token expired: current date/time must be before the expiration date/time",
	],
	aud: [400, "InvalidIdentityToken", "Incorrect token audience"],
	sub: [403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"],
};

const sts: Handler = async (cloud, url, request) => {
	const form = new URLSearchParams(await request.text());
	const token = form.get("WebIdentityToken") ?? "";
	cloud.tokens.push(token);
	if (form.get("Action") !== "AssumeRoleWithWebIdentity" || form.get("Version") !== "2011-06-15")
		return awsError(400, "InvalidAction", "Could not find operation");
	if (!/^[\w+=,.@-]{2,64}$/.test(form.get("RoleSessionName") ?? ""))
		return awsError(400, "ValidationError", "1 validation error detected: roleSessionName");
	if (!cloud.trust.exists.includes(url.hostname))
		return awsError(
			403,
			"RegionDisabledException",
			`STS is not activated in this region for account:123456789012.`,
		);
	const failure = await rejectedClaim(token, cloud.trust);
	if (failure) return awsError(...AWS_ERRORS[failure]);
	if (!cloud.trust.exists.includes(form.get("RoleArn") ?? "")) return awsError(...AWS_ERRORS.sub);
	const session = `session-${crypto.randomUUID()}`;
	cloud.issued.add(session);
	const expiration = new Date(Date.now() + cloud.trust.lifetime * 1000).toISOString();
	return xml(
		200,
		`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>${session}</SessionToken><SecretAccessKey>${KEYS.aws_secret_access_key}</SecretAccessKey><Expiration>${expiration}</Expiration><AccessKeyId>${KEYS.aws_access_key_id}</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
	);
};

const GOOGLE_ERRORS: Record<Failure, [string, string]> = {
	iss: [
		"invalid_grant",
		`The issuer in ID Token ${ISSUER} does not match the expected ones: https://elsewhere.example.`,
	],
	keys: ["invalid_grant", "Error connecting to the given credential's issuer."],
	token: ["invalid_grant", "ID Token is malformed."],
	exp: ["invalid_grant", "ID Token issued at 1 is stale to sign-in."],
	aud: ["invalid_grant", "The audience in ID Token does not match the expected audience."],
	sub: ["unauthorized_client", "The given credential is rejected by the attribute condition."],
};

const RESOURCE = "//iam.googleapis.com/";

const googleSts: Handler = async (cloud, _, request) => {
	const form = new URLSearchParams(await request.text());
	const token = form.get("subject_token") ?? "";
	cloud.tokens.push(token);
	const refuse = (error: string, error_description: string) =>
		json({ error, error_description }, 400);
	const audience = form.get("audience") ?? "";
	if (
		form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:token-exchange" ||
		form.get("subject_token_type") !== "urn:ietf:params:oauth:token-type:jwt" ||
		form.get("requested_token_type") !== "urn:ietf:params:oauth:token-type:access_token" ||
		!audience.startsWith(RESOURCE)
	)
		return refuse("invalid_request", 'Invalid value for "audience".');
	if (!cloud.trust.exists.includes(audience.slice(RESOURCE.length)))
		return refuse(
			"invalid_target",
			'The target service indicated by the "audience" parameters is invalid. This might either be because the pool or provider is disabled or deleted or because it doesn\'t exist.',
		);
	const failure = await rejectedClaim(token, cloud.trust);
	if (failure) return refuse(...GOOGLE_ERRORS[failure]);
	const access_token = `federated-${form.get("scope")?.split("/").at(-1)}-${crypto.randomUUID()}`;
	cloud.issued.add(access_token);
	return json({ access_token, expires_in: cloud.trust.lifetime, token_type: "Bearer" });
};

const bearer = (request: Request) => request.headers.get("authorization")?.replace("Bearer ", "");

const iamCredentials: Handler = async (cloud, url, request) => {
	const federated = bearer(request) ?? "";
	const account = decodeURIComponent(
		/serviceAccounts\/(.+):generateAccessToken$/.exec(url.pathname)?.[1] ?? "",
	);
	const refuse = (code: number, message: string) => json({ error: { code, message } }, code);
	if (!cloud.issued.has(federated) || !federated.startsWith("federated-cloud-platform"))
		return refuse(401, "Request had invalid authentication credentials.");
	if (!cloud.trust.exists.includes(account))
		return refuse(404, "Not found; Gaia id not found for email");
	if (!cloud.trust.isUser)
		return refuse(
			403,
			"Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
		);
	const accessToken = `impersonated-${crypto.randomUUID()}`;
	cloud.issued.add(accessToken);
	const expireTime = new Date(Date.now() + cloud.trust.lifetime * 1000).toISOString();
	return json({ accessToken, expireTime });
};

const entraError = (status: number, error: string, text: string) =>
	json(
		{
			error,
			error_description: `${text} Trace ID: 01234567-89ab-cdef-0123-456789abcdef`,
		},
		status,
	);

const record = (claim: string) =>
	`No matching federated identity record found for presented assertion ${claim}. Check your federated identity credential Subject, Audience and Issuer against the presented assertion.`;

const ENTRA_ERRORS: Record<Failure, [number, string, string]> = {
	iss: [401, "invalid_client", `AADSTS700211: ${record("issuer")}`],
	keys: [400, "invalid_request", "AADSTS501661: Request to External OIDC endpoint failed."],
	token: [401, "invalid_client", "AADSTS5002727: Invalid JWT header."],
	exp: [
		401,
		"invalid_client",
		"AADSTS700024: Client assertion is not within its valid time range.",
	],
	aud: [401, "invalid_client", `AADSTS700212: ${record("audience")}`],
	sub: [401, "invalid_client", `AADSTS700213: ${record("subject")}`],
};

const entra: Handler = async (cloud, url, request) => {
	const form = new URLSearchParams(await request.text());
	const token = form.get("client_assertion") ?? "";
	cloud.tokens.push(token);
	const [, tenant = "", ...path] = url.pathname.split("/");
	if (!cloud.trust.exists.includes(tenant))
		return entraError(400, "invalid_request", `AADSTS90002: Tenant '${tenant}' not found.`);
	if (!cloud.trust.exists.includes(form.get("client_id") ?? ""))
		return entraError(
			400,
			"unauthorized_client",
			"AADSTS700016: Application was not found in the directory.",
		);
	if (
		path.join("/") !== "oauth2/v2.0/token" ||
		form.get("grant_type") !== "client_credentials" ||
		form.get("scope") !== "https://storage.azure.com/.default" ||
		form.get("client_assertion_type") !== "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	)
		return entraError(400, "invalid_request", "AADSTS900144: The request body is invalid.");
	const failure = await rejectedClaim(token, cloud.trust);
	if (failure) return entraError(...ENTRA_ERRORS[failure]);
	const access_token = `entra-${crypto.randomUUID()}`;
	cloud.issued.add(access_token);
	return json({ access_token, expires_in: cloud.trust.lifetime, token_type: "Bearer" });
};

/** Amazon S3: only with a temporary key that was issued. */
const amazonStorage: Handler = async (cloud, url, request) => {
	const body = new Uint8Array(await request.arrayBuffer());
	const session = request.headers.get("x-amz-security-token") ?? "";
	const header = (name: string) => request.headers.get(name);
	const signed = { method: request.method, url: url.href, header, body };
	if (!cloud.issued.has(session) || !(await isSigned(signed, session)))
		return xml(403, "<Error><Code>InvalidAccessKeyId</Code><Message>Unknown</Message></Error>");
	return REAL_FETCH(
		await signer.sign(`${env.S3_URL}${url.pathname}${url.search}`, {
			method: request.method,
			headers: Object.fromEntries(
				[...request.headers].filter(([name]) => /^(content-type|x-amz-meta-.*)$/.test(name)),
			),
			...(body.length > 0 && { body }),
		}),
	);
};

/** Google Cloud Storage: only with an access token, and with the headers that it has with one. */
const googleStorage: Handler = async (cloud, url, request) => {
	const names = [...request.headers.keys()];
	if (!cloud.issued.has(bearer(request) ?? ""))
		return xml(
			401,
			"<Error><Code>AuthenticationRequired</Code><Message>Authentication required.</Message></Error>",
		);
	if (names.some((name) => name.startsWith("x-amz-")))
		return xml(400, "<Error><Code>InvalidArgument</Code><Message>x-amz-</Message></Error>");
	const meta = [...request.headers].filter(([name]) => name.startsWith("x-goog-meta-"));
	const type = request.headers.get("content-type");
	const signed = await signer.sign(`${env.S3_URL}${url.pathname}${url.search}`, {
		method: request.method,
		headers: {
			...(type && { "content-type": type }),
			...Object.fromEntries(
				meta.map(([name, value]) => [name.replace("x-goog-", "x-amz-"), value]),
			),
		},
		...(request.body && { body: await request.arrayBuffer() }),
	});
	const response = await REAL_FETCH(signed);
	const headers = [...response.headers].map(([name, value]) => [
		name.replace(/^x-amz-/, "x-goog-"),
		value,
	]);
	return new Response(response.body, {
		status: response.status,
		headers: Object.fromEntries(headers),
	});
};

/** Azure Blob Storage: only with an access token. Azurite accepts those only over HTTPS. */
const azureStorage: Handler = async (cloud, url, request) => {
	const refused = (code: string, status: number) =>
		new Response(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`, {
			status,
			headers: { "x-ms-error-code": code },
		});
	if (!cloud.issued.has(bearer(request) ?? "")) return refused("InvalidAuthenticationInfo", 401);
	const { account_name: account, account_key: key } = ACCOUNT;
	const to = new URL(`${env.AZURE_URL}${url.pathname}${url.search}`);
	const body = await request.arrayBuffer();
	const headers = new Headers(request.headers);
	headers.delete("user-agent");
	if (body.byteLength > 0) headers.set("content-length", String(body.byteLength));
	headers.delete("authorization");
	headers.set("authorization", await sharedKey(request.method, to, headers, { account, key }));
	return REAL_FETCH(to, {
		method: request.method,
		headers,
		...((body.byteLength > 0 || request.method === "PUT") && { body }),
	});
};

/** BigQuery: only with an access token. The stand-in behind it has its own. */
const bigQuery: Handler = async (cloud, url, request) => {
	if (!cloud.issued.has(bearer(request) ?? ""))
		return json(
			{ error: { message: "Invalid Credentials", errors: [{ reason: "authError" }] } },
			401,
		);
	const server = sender(env, HANG_MS);
	const key = { ...SERVICE, private_key: env.BIGQUERY_PRIVATE_KEY };
	const { value } = await issueToken(server, { ...key, token_uri: `${env.BIGQUERY_URL}/token` });
	const headers = new Headers(request.headers);
	headers.set("authorization", `Bearer ${value}`);
	const body = await request.arrayBuffer();
	return REAL_FETCH(`${env.BIGQUERY_URL}${url.pathname}${url.search}`, {
		method: request.method,
		headers,
		...(body.byteLength > 0 && { body }),
	});
};

const HOSTS: [RegExp, Handler][] = [
	[/^bigquery\.googleapis\.com$/, bigQuery],
	[/^sts\.[\w-]+\.amazonaws\.com$/, sts],
	[/^s3\.[\w-]+\.amazonaws\.com$/, amazonStorage],
	[/^sts\.googleapis\.com$/, googleSts],
	[/^iamcredentials\.googleapis\.com$/, iamCredentials],
	[/^storage\.googleapis\.com$/, googleStorage],
	[/^login\.microsoftonline\.com$/, entra],
	[/^\w+\.blob\.core\.windows\.net$/, azureStorage],
];

const REAL_FETCH = globalThis.fetch;

/** Lets requests to the clouds reach the stand-ins until the mocks are restored. */
export function clouds(trust: Partial<Trust> = {}): Cloud {
	const cloud: Cloud = {
		trust: {
			iss: ISSUER,
			aud: ["sts.amazonaws.com", `https:${RESOURCE}${PROVIDER}`, "api://AzureADTokenExchange"],
			sub: "",
			exists: [ROLE, "sts.eu-west-1.amazonaws.com", PROVIDER, SERVICE_ACCOUNT, TENANT, APPLICATION],
			isReached: true,
			isUser: true,
			ahead: 0,
			lifetime: HOUR_SECONDS,
			...trust,
		},
		issued: new Set(),
		tokens: [],
		exchanges: [],
	};
	vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
		const url = new URL(input instanceof Request ? input.url : String(input));
		const [, handler] = HOSTS.find(([host]) => host.test(url.hostname)) ?? [];
		if (!handler) return REAL_FETCH(input, init);
		if (url.protocol !== "https:") throw new Error("Clouds are reached over HTTPS.");
		if (![amazonStorage, googleStorage, azureStorage, bigQuery].includes(handler))
			cloud.exchanges.push(url.href);
		return handler(cloud, url, new Request(input, init));
	});
	return cloud;
}
