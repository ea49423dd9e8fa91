import type * as z from "zod";
import { scopes as allScopes, READ_SCOPES } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { invalid } from "../../http/errors.ts";
import { isLoopback } from "../../http/origins.ts";
import { type Client, findClient, selectRegistered } from "../apps/clients.ts";
import { isSameRedirect } from "../apps/metadata.ts";
import { audienceOf, issuerOf, type Service } from "../protocol/service.ts";
import { type AppRequest, type Previewed, type Request, request } from "./shape.ts";

/** The access that an app requests. */
export type AccessRequest = { client: Client; audience: string; scopes: string[] };

/** Returns the known scopes in a request. Others, such as `offline_access`, are ignored. */
export function knownScopes(scope = "") {
	const names = scope.split(" ");
	return allScopes.filter((each) => names.includes(each));
}

/** Returns the requested scopes: to read everything if the app names no known scope. */
function scopesIn(scope: string | undefined) {
	const scopes = knownScopes(scope);
	return scopes.length > 0 ? scopes : READ_SCOPES;
}

/** @throws 400 if the resource isn't one of this service. Without one, the app asks for the API. */
export function audienceIn(service: Service, resource: string | undefined) {
	const audience = resource === undefined ? "api" : audienceOf(service, resource);
	if (!audience) throw invalid("resource", "The app asks for a token of another service.");
	return audience;
}

type Registered = Parameters<typeof findClient>[2];

/**
 * Finds the app of a request, and the scopes that it requests.
 * @param registered as in `findClient`
 * @throws 400
 */
export async function identify(
	service: Service,
	request: Pick<Request, "client_id" | "scope">,
	registered?: Registered,
) {
	const scopes = scopesIn(request.scope);
	return { client: await findClient(service, request.client_id, registered), scopes };
}

/** Selects the app of a request, if it is registered. */
export const selectApp = ({ db, key }: Tenant, { client_id }: Pick<Request, "client_id">) =>
	selectRegistered(db, client_id, key.user_id);

/**
 * Identifies the app of a request, and checks where it continues. These errors are shown to the
 * person, and not sent to the app: a request that could be anybody's must not lead the browser
 * anywhere.
 * @param registered the row of `selectApp`, if there is one
 * @throws 400
 */
async function identifySender(service: Service, request: Previewed, registered: Registered) {
	const sender = await identify(service, request, registered);
	if (!sender.client.redirect_uris.some((uri) => isSameRedirect(uri, request.redirect_uri)))
		throw invalid("redirect_uri", "The redirect URI isn't registered for this app.");
	return sender;
}

/**
 * Checks the request of an app.
 * @param registered the row of `selectApp`, if there is one
 * @throws 400
 */
export async function checkRequest(
	service: Service,
	request: Request,
	registered: Registered,
): Promise<AccessRequest> {
	const audience = audienceIn(service, request.resource);
	return { ...(await identifySender(service, request, registered)), audience };
}

/** Returns the error in a request, or null (RFC 6749, section 4.1.2.1; RFC 8707, section 2). */
function errorIn(service: Service, previewed: Previewed) {
	const { error } = request.safeParse(previewed);
	const field = error?.issues[0]?.path[0];
	const { response_type, resource } = previewed;
	if (field === "response_type" && response_type) return "unsupported_response_type";
	if (error) return "invalid_request";
	return resource === undefined || audienceOf(service, resource) ? null : "invalid_target";
}

/** Returns the URL at which the app continues, with its state and our name (RFC 9207). */
export function urlWith(
	service: Service,
	{ redirect_uri, state }: Pick<Request, "redirect_uri" | "state">,
	result: { code: string } | { error: string },
) {
	const url = new URL(redirect_uri);
	const parameters = { ...result, ...(state !== undefined && { state }), iss: issuerOf(service) };
	for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
	return url.href;
}

/** Returns the description of a request for the person who decides. */
export const toDescription = ({ client, audience, scopes }: AccessRequest) => ({
	client_id: client.client_id,
	client_name: client.name,
	client_host: client.host,
	client_organization: client.organization,
	audience,
	scopes,
});

/**
 * Returns the description of a request for the person, and the error that the app gets if it is
 * invalid. Writes nothing.
 */
export async function preview(
	tenant: Tenant,
	request: Previewed,
): Promise<z.infer<typeof AppRequest>> {
	const [[registered]] = await tenant.read(selectApp(tenant, request));
	const sender = await identifySender(tenant, request, registered);
	const error = errorIn(tenant, request);
	const audience = error ? "api" : audienceIn(tenant, request.resource);
	const redirect = new URL(request.redirect_uri);
	return {
		...toDescription({ ...sender, audience }),
		redirect_host: isLoopback(redirect) || redirect.protocol !== "https:" ? null : redirect.host,
		error,
		cancel_url: urlWith(tenant, request, { error: error ?? "access_denied" }),
	};
}
