import type { Context } from "hono";
import type { App } from "../../env.ts";
import { AUDIENCES, type Audience } from "../../keys/audience.ts";
import { OauthError } from "./errors.ts";
import type { Form } from "./form.ts";

/** The base URLs of this service: where its pages are, and where the request came. */
export type Service = Pick<Context<App>, "env"> & { url: string };

/** Returns the identifier of the authorization server (RFC 8414, section 2). */
export const issuerOf = ({ env, url }: Service) => (URL.parse(env.APP_URL) ?? new URL(url)).origin;

/** Returns the identifier of a resource (RFC 8707, section 2), at the host of the request. */
export const resourceOf = ({ url }: Pick<Service, "url">, audience: Audience) =>
	new URL(`/${audience}`, url).href;

/**
 * Returns the resource with this identifier; undefined if there is none. Resources of other hosts
 * don't count: an app would send them tokens that work here.
 */
export function audienceOf(service: Service, resource: string): Audience | undefined {
	const url = URL.parse(resource);
	if (!url || ![issuerOf(service), new URL(service.url).origin].includes(url.origin))
		return undefined;
	const path = url.href.slice(url.origin.length).replace(/\/$/, "");
	return AUDIENCES.find((audience) => path === `/${audience}`);
}

/** @throws OauthError if the request names another resource than the one of the consent */
export function checkResource(service: Service, form: Form, { audience }: { audience: unknown }) {
	const resource = form.optional("resource");
	if (resource !== undefined && audienceOf(service, resource) !== audience)
		throw new OauthError("invalid_target", "The consent was given for another resource.");
}
