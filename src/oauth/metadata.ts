import type { Context } from "hono";
import { READ_SCOPES, scopes } from "../access/scopes.ts";
import type { App } from "../env.ts";
import { notFound } from "../http/errors.ts";
import { router } from "../http/router.ts";
import type { Audience } from "../keys/audience.ts";
import { MAX_AGE_SECONDS, publicKeys } from "../keys/signing_keys.ts";
import { tokenIssuer } from "../keys/workload_tokens.ts";
import { issuerOf, resourceOf, type Service } from "./protocol/service.ts";
import { DEVICE_GRANT, TOKEN_EXCHANGE } from "./protocol/tokens.ts";

const serviceOf = ({ env, req }: Context<App>): Service => ({ env, url: req.url });

/** The scopes that apps may ask for by themselves. Only a person who wants that asks for all. */
const LIMITED = scopes.filter((scope) => scope !== "*");

/** Clients of `/mcp` ask for all of these: what they read with. A 403 names what else they need. */
const OFFERED = { api: LIMITED, mcp: READ_SCOPES };

/** How apps get tokens for a resource (RFC 9728). */
const protectedResource = (service: Service, audience: Audience) => ({
	resource: resourceOf(service, audience),
	authorization_servers: [issuerOf(service)],
	scopes_supported: OFFERED[audience],
	bearer_methods_supported: ["header"],
	resource_name: "Tenantry",
	resource_documentation: `${issuerOf(service)}/docs/oauth`,
});

/** RFC 8414. */
function authorizationServer(service: Service) {
	const issuer = issuerOf(service);
	return {
		issuer,
		authorization_endpoint: `${issuer}/oauth/authorize`,
		device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
		registration_endpoint: `${issuer}/oauth/register`,
		token_endpoint: `${issuer}/oauth/token`,
		revocation_endpoint: `${issuer}/oauth/revoke`,
		introspection_endpoint: `${issuer}/oauth/introspect`,
		token_endpoint_auth_methods_supported: ["none"],
		revocation_endpoint_auth_methods_supported: ["none"],
		introspection_endpoint_auth_methods_supported: ["none"],
		response_types_supported: ["code"],
		response_modes_supported: ["query"],
		grant_types_supported: ["authorization_code", "refresh_token", DEVICE_GRANT, TOKEN_EXCHANGE],
		code_challenge_methods_supported: ["S256"],
		scopes_supported: LIMITED,
		authorization_response_iss_parameter_supported: true,
		client_id_metadata_document_supported: true,
		service_documentation: `${issuer}/docs/oauth`,
	};
}

/**
 * OpenID Connect Discovery, section 3: for those who check the tokens of exports. Some clients of
 * apps read it instead of RFC 8414's document, so it has all of that.
 */
const openIdProvider = (service: Service) => ({
	...authorizationServer(service),
	jwks_uri: `${issuerOf(service)}/.well-known/openid-keys.json`,
	subject_types_supported: ["public"],
	id_token_signing_alg_values_supported: ["RS256"],
	claims_supported: ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"],
});

async function sendKeys(c: Context<App>, algorithm: Parameters<typeof publicKeys>[1]) {
	const set = await publicKeys(c.env, algorithm);
	if (set.keys.length > 0) c.header("Cache-Control", `public, max-age=${MAX_AGE_SECONDS}`);
	return c.json(set);
}

/**
 * docs/oauth.md#how-an-app-finds-the-service, docs/audit.md#signing-keys,
 * docs/exports.md#without-stored-keys
 */
export default router()
	.get("/oauth-protected-resource/api", (c) => c.json(protectedResource(serviceOf(c), "api")))
	.get("/oauth-protected-resource/mcp", (c) => c.json(protectedResource(serviceOf(c), "mcp")))
	.get("/oauth-authorization-server", (c) => c.json(authorizationServer(serviceOf(c))))
	.get("/openid-configuration", (c) => {
		if (tokenIssuer(c.env) === null) throw notFound();
		return c.json(openIdProvider(serviceOf(c)));
	})
	.get("/openid-keys.json", (c) => sendKeys(c, "RS256"))
	.get("/jwks.json", (c) => sendKeys(c, "EdDSA"));
