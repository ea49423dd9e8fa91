import type { Context } from "hono";
import * as z from "zod";
import type { App } from "../../env.ts";
import { bytesOf } from "../../http/body.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import { isSealed, seal, unseal } from "../../keys/secrets.ts";
import { jsonOf } from "../../lib/json.ts";
import { shorten } from "../../lib/text.ts";
import { DAY_MS } from "../../lib/time.ts";
import { OauthError } from "../protocol/errors.ts";
import { appName, isRedirectUri, redirectUris } from "./metadata.ts";

/*
 * Apps that register themselves (RFC 7591). Nothing is stored: the client id is what the app said,
 * sealed, so that nobody can fill the database.
 */

/** How long an app can ask people for access before it has to register again. */
const LIFETIME_MS = 90 * DAY_MS;

/** How many bytes the URIs can have together: the client id has them, too. */
const MAX_URIS_BYTES = 600;

/** Where the value of `seal` belongs. */
const PLACE = { table: "oauth_clients", row: "self-registered", field: "client_id" };

const Metadata = z.object({
	client_name: appName("Unnamed app"),
	redirect_uris: redirectUris.refine(
		(uris) => new TextEncoder().encode(uris.join("")).length <= MAX_URIS_BYTES,
	),
});

/** The payload that is sealed in a client id. */
const Sealed = Metadata.extend({ expires_at: z.number() });

/** Returns the error for redirect URIs none of which can be used, or that are too long together. */
function badUris(value: unknown) {
	const uris: unknown[] = Array.isArray(value) ? value : [];
	const invalid = uris.find((uri) => typeof uri === "string" && !isRedirectUri(uri));
	const example =
		invalid === undefined ? "" : ` This one can't be used: ${shorten(String(invalid), 100)}`;
	return new OauthError(
		"invalid_redirect_uri",
		`The redirect_uris must have an https URL, a URL of the person's computer or one with the app's own scheme, and at most ${MAX_URIS_BYTES} bytes together.${example}`,
	);
}

/**
 * Registers the app that asks. Redirect URIs that it can't have are left out, and other metadata is
 * ignored, as the RFC allows: all apps are public and use codes. The response says what was
 * registered.
 * @throws OauthError; 429 after ten requests of a network in a minute
 */
export async function register(c: Context<App>) {
	await limitNetwork(c, "app registrations", 10);
	const body = jsonOf(new TextDecoder().decode(await bytesOf(c)));
	const metadata = z.looseObject({ redirect_uris: z.unknown().optional() }).safeParse(body).data;
	if (!metadata)
		throw new OauthError("invalid_client_metadata", "The body must be JSON about the app.");
	const { data } = Metadata.safeParse(metadata);
	if (!data) throw badUris(metadata.redirect_uris);
	const now = Date.now();
	const sealed = JSON.stringify({ ...data, expires_at: now + LIFETIME_MS });
	return {
		client_id: await seal(c.env, sealed, PLACE),
		client_id_issued_at: Math.floor(now / 1000),
		...data,
		token_endpoint_auth_method: "none",
		grant_types: ["authorization_code", "refresh_token"],
		response_types: ["code"],
	};
}

/** Whether a client id has the format of `register`. */
export const isSelfRegistered = isSealed;

/** Returns the metadata of an app; undefined if the id was never given to one, or has expired. */
export async function readSelfRegistered(env: Env, client_id: string) {
	const text = await unseal(env, client_id, PLACE).catch(() => undefined);
	if (text === undefined) return undefined;
	// An id from before a URI was reserved can have none left that can be used.
	const { data } = Sealed.safeParse(JSON.parse(text));
	return data && data.expires_at > Date.now() ? data : undefined;
}
