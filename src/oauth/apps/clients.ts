import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { aliased, type Database } from "../../db/client.ts";
import { oauthClients } from "../../db/schema/oauth.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { invalid } from "../../http/errors.ts";
import { jsonOf } from "../../lib/json.ts";
import { reason } from "../../outbound/errors.ts";
import { allowsPrivate } from "../../outbound/reach.ts";
import { sender } from "../../outbound/send.ts";
import { issuerOf, type Service } from "../protocol/service.ts";
import { DEVICE_GRANT } from "../protocol/tokens.ts";
import { appName, redirectUris } from "./metadata.ts";
import { isSelfRegistered, readSelfRegistered } from "./self_registered.ts";

/*
 * Apps publish a document about themselves at the URL that is their client id
 * (draft-ietf-oauth-client-id-metadata-document), or an organization registers them, or they
 * register themselves.
 */

/** An app that asks for access. */
export type Client = {
	client_id: string;
	name: string;
	/** The host whose owner is responsible for the app; null for an app that was registered. */
	host: string | null;
	/** The name of the organization that registered the app; null for others. */
	organization: string | null;
	redirect_uris: string[];
	/** How the app gets tokens. */
	grant_types: string[];
};

/**
 * Selects the app that is registered with this id, if the user belongs to the organization that
 * registered it. No row for an app with a document.
 */
export const selectRegistered = (db: Database, client_id: string, user_id: number) =>
	db
		.select({
			client_id: oauthClients.id,
			name: oauthClients.name,
			organization: aliased(organizations.name, "organization_name"),
			redirect_uris: oauthClients.redirect_uris,
		})
		.from(oauthClients)
		.innerJoin(organizations, eq(organizations.id, oauthClients.organization_id))
		.where(
			and(
				eq(oauthClients.id, client_id),
				sql`exists (select 1 from ${members}
					where ${members.organization_id} = ${organizations.id} and ${members.user_id} = ${user_id})`,
			),
		);

type Registered = Awaited<ReturnType<typeof selectRegistered>>[number];

/** SQL condition on `oauth_clients`: the app is still registered as it was read. */
export const isStill = ({ client_id, redirect_uris }: Registered) =>
	and(eq(oauthClients.id, client_id), eq(oauthClients.redirect_uris, redirect_uris));

/** How long an app's host may take to respond. */
const TIMEOUT_MS = 5_000;

/** The largest document that is accepted (section 8.7 recommends half of it). */
const MAX_CHARACTERS = 10_000;

/** How long a document is cached. */
const MAX_AGE_SECONDS = 300;

const Document = z.object({
	client_id: z.string(),
	client_name: z.unknown().optional(),
	redirect_uris: redirectUris,
	token_endpoint_auth_method: z.literal("none").nullish(),
	grant_types: z.array(z.unknown()).catch([]),
});

/** The command line (packages/cli), which is part of the service. */
const COMMAND_LINE = {
	client_id: "tenantry-cli",
	name: "Tenantry command line",
	redirect_uris: ["http://127.0.0.1/callback"],
	grant_types: ["authorization_code", DEVICE_GRANT],
};

/** @param why without quotation marks */
const badClient = (why: string) => invalid("client_id", `The app can't be identified: ${why}`);

/** Returns the URL of an app's document (section 3). Throws 400 if it isn't one. */
function urlOf(env: Env, client_id: string) {
	const url = URL.parse(client_id);
	if (url?.href !== client_id)
		throw badClient("its client_id is neither registered nor a complete URL.");
	const isSecure = url.protocol === "https:" || (url.protocol === "http:" && allowsPrivate(env));
	if (!isSecure || url.pathname === "/" || url.hash || url.username || url.password)
		throw badClient("its client_id must be an https URL with a path.");
	return url;
}

async function fetchText(env: Env, url: URL) {
	const request = new Request(url, { headers: { accept: "application/json" } });
	const { status, text } = await sender(env, TIMEOUT_MS)
		.exchange(request, [])
		.catch((error) => {
			throw badClient(reason(error));
		});
	if (status !== 200) throw badClient(`${url.host} answered ${status}.`);
	if (text.length > MAX_CHARACTERS) throw badClient("its document is too large.");
	return text;
}

/** Returns the app whose document is at this URL. */
async function findDocument(env: Env, client_id: string): Promise<Client> {
	const url = urlOf(env, client_id);
	const cache = await caches.open("oauth_clients");
	const cached = await cache.match(client_id);
	const text = cached ? await cached.text() : await fetchText(env, url);
	const { data } = Document.safeParse(jsonOf(text));
	if (!data) throw badClient("its document is invalid, or the app needs a secret.");
	if (data.client_id !== client_id) throw badClient("its document is about another app.");
	if (!cached) {
		const headers = { "cache-control": `max-age=${MAX_AGE_SECONDS}` };
		await cache.put(client_id, new Response(text, { headers }));
	}
	const { client_name, redirect_uris } = data;
	const name = appName(url.host).parse(client_name);
	const grant_types = data.grant_types.filter((type) => typeof type === "string");
	return { client_id, name, host: url.host, organization: null, redirect_uris, grant_types };
}

async function findSelfRegistered(env: Env, client_id: string): Promise<Client> {
	const app = await readSelfRegistered(env, client_id);
	if (!app) throw badClient("its registration is unknown or has expired.");
	const { client_name, redirect_uris } = app;
	const grant_types = ["authorization_code"];
	return {
		client_id,
		name: client_name,
		host: null,
		organization: null,
		redirect_uris,
		grant_types,
	};
}

/**
 * Returns the app with this client id. Its metadata document is fetched from its host, and cached for
 * a few minutes.
 * @param registered the row of `selectRegistered`, if there is one
 * @throws 400 if the app isn't registered, and has no document about itself
 */
export async function findClient(
	service: Service,
	client_id: string,
	registered?: Registered,
): Promise<Client> {
	if (registered) return { ...registered, host: null, grant_types: ["authorization_code"] };
	if (isSelfRegistered(client_id)) return findSelfRegistered(service.env, client_id);
	if (client_id !== COMMAND_LINE.client_id) return findDocument(service.env, client_id);
	return { ...COMMAND_LINE, host: new URL(issuerOf(service)).host, organization: null };
}
