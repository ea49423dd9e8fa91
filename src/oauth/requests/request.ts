import type * as z from "zod";
import { scopes as known, READ_SCOPES } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { invalid } from "../../http/errors.ts";
import { isLoopback } from "../../http/origins.ts";
import { type Client, findClient, selectRegistered } from "../clients/clients.ts";
import { isSameRedirect } from "../clients/redirect_uris.ts";
import { audienceOf, issuerOf, type Service } from "../protocol/issuer.ts";
import { type AppRequest, type Previewed, type Request, request } from "./shape.ts";

/** What an app asks for. */
export type Asked = { client: Client; audience: string; scopes: string[] };

/** Returns the known scopes in a request. Others, such as `offline_access`, are ignored. */
export function knownIn(scope = "") {
	const wanted = scope.split(" ");
	return known.filter((each) => wanted.includes(each));
}

/** Returns the scopes that an app asks for: to read everything if it names no known scope. */
function scopesIn(scope: string | undefined) {
	const wanted = knownIn(scope);
	return wanted.length > 0 ? wanted : READ_SCOPES;
}

/** @throws 400 if the resource isn't one of this service. Without one, the app asks for the API. */
export function audienceIn(service: Service, resource: string | undefined) {
	const audience = resource === undefined ? "api" : audienceOf(service, resource);
	if (!audience) throw invalid("resource", "The app asks for a token of another service.");
	return audience;
}

type Registered = Parameters<typeof findClient>[2];

/**
 * Finds the app that asks, and the scopes that it asks for.
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

/** Selects the app that asks, if it is registered. */
export const selectAsking = ({ db, key }: Tenant, { client_id }: Pick<Request, "client_id">) =>
	selectRegistered(db, client_id, key.user_id);

/**
 * Checks who asks, and where the app continues. These errors are shown to the person, and not sent to
 * the app: a request that could be anybody's must not lead the browser anywhere.
 * @param registered the row of `selectAsking`, if there is one
 * @throws 400
 */
async function checkSender(service: Service, request: Previewed, registered: Registered) {
	const asking = await identify(service, request, registered);
	if (!asking.client.redirect_uris.some((uri) => isSameRedirect(uri, request.redirect_uri)))
		throw invalid("redirect_uri", "The address that the app wants to continue at isn't its own.");
	return asking;
}

/**
 * Checks the request of an app.
 * @param registered the row of `selectAsking`, if there is one
 * @throws 400
 */
export async function check(
	service: Service,
	request: Request,
	registered: Registered,
): Promise<Asked> {
	const audience = audienceIn(service, request.resource);
	return { ...(await checkSender(service, request, registered)), audience };
}

/** Returns what is wrong with a request (RFC 6749, section 4.1.2.1; RFC 8707, section 2). */
function errorIn(service: Service, given: Previewed) {
	const { error } = request.safeParse(given);
	const field = error?.issues[0]?.path[0];
	const { response_type, resource } = given;
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

/** What the person has to know about who asks for what. */
export const describe = ({ client, audience, scopes }: Asked) => ({
	client_id: client.client_id,
	client_name: client.name,
	client_host: client.host,
	client_organization: client.organization,
	audience,
	scopes,
});

/**
 * Returns what the person has to know to decide, or the error that the app gets instead. Writes
 * nothing.
 */
export async function preview(
	tenant: Tenant,
	request: Previewed,
): Promise<z.infer<typeof AppRequest>> {
	const [[registered]] = await tenant.read(selectAsking(tenant, request));
	const asking = await checkSender(tenant, request, registered);
	const error = errorIn(tenant, request);
	const audience = error ? "api" : audienceIn(tenant, request.resource);
	const redirect = new URL(request.redirect_uri);
	return {
		...describe({ ...asking, audience }),
		redirect_host: isLoopback(redirect) || redirect.protocol !== "https:" ? null : redirect.host,
		error,
		cancel_url: urlWith(tenant, request, { error: error ?? "access_denied" }),
	};
}
