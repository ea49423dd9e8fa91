/** How requests to a catalog are authenticated. */
import type { Sender } from "../../../outbound/send.ts";
import { awsAuth, type KeySource } from "../roles/aws.ts";
import { requestToken } from "../roles/exchange.ts";
import type { Settings } from "./definition.ts";

const tokenUri = ({ catalog_uri, oauth2_server_uri }: Settings) =>
	oauth2_server_uri ?? `${catalog_uri.replace(/\/$/, "")}/v1/oauth/tokens`;

/**
 * Gets a token for a client (RFC 6749, section 4.4).
 * @throws MisconfiguredError, with a message for the user, if the server rejects the client
 */
async function issueToken(server: Sender, config: Settings): Promise<string> {
	const { client_id, client_secret, scope } = config;
	const form = {
		grant_type: "client_credentials",
		client_id: client_id ?? "",
		client_secret: client_secret ?? "",
		scope: scope ?? "catalog",
	};
	const { access_token } = await requestToken(server, [tokenUri(config), form], {
		secrets: [form.client_secret].filter(Boolean),
		setting: "oauth2_server_uri",
		meaning: () => "The client was rejected: check client_id, client_secret and scope.",
	});
	return access_token;
}

type Options = { method: string; headers: Record<string, string>; body?: string | undefined };

/** Returns the functions that make authenticated requests. */
export function authOf(server: Sender, config: Settings, keys: KeySource) {
	const { token, client_secret, signing_name, region } = config;
	const signer = signing_name ? awsAuth(keys, { service: signing_name, region }) : undefined;
	let issued: string | undefined;

	return {
		/** Texts that no message may contain. */
		secrets: () => [
			...[token, client_secret, issued].filter((secret) => typeof secret === "string"),
			...keys.secrets(),
		],

		async request(url: string, { method, headers, body }: Options): Promise<Request> {
			const init = { method, ...(body !== undefined && { body }) };
			if (signer) return signer.sign(new URL(url), { ...init, headers });
			if (client_secret) issued ??= await issueToken(server, config);
			const bearer = token ?? issued;
			return new Request(url, {
				...init,
				headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }) },
			});
		},

		/** Makes the next request get a new token. Returns false if there is no other one. */
		renew() {
			const had = issued !== undefined;
			issued = undefined;
			return had;
		},
	};
}
