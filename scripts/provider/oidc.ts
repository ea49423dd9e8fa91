/**
 * A provider for OpenID Connect to try single sign-on with, and for tests: `oidc-provider` with a
 * page where you say who you are. It believes everything, so it must only be reachable from this
 * computer.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { Provider } from "oidc-provider";

export const CLIENT = { client_id: "tenantry", client_secret: "the-client-secret-of-nobody" };

/** Who somebody says they are. */
type Person = { sub: string; claims: Record<string, unknown>; amr: string[] };

/** Returns what was entered: an address or, from tests, the claims as JSON. */
function toPerson(form: URLSearchParams): Person {
	const address = form.get("email") ?? "";
	const [first = ""] = address.split("@");
	const claims: Record<string, unknown> = JSON.parse(form.get("claims") || "{}");
	return {
		sub: String(claims.sub ?? address),
		claims: {
			...{ email: address, email_verified: true },
			...{ given_name: first.charAt(0).toUpperCase() + first.slice(1), family_name: "Example" },
			...claims,
		},
		amr: form.has("factor") ? ["pwd", "mfa"] : ["pwd"],
	};
}

const escapeHtml = (value: unknown) =>
	String(value ?? "").replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

const page = (hint: unknown) => `<!doctype html><html lang="en"><meta charset="utf-8">
<title>A provider to try</title>
<main><h1>A provider to try</h1><p>It believes who you say you are.</p>
<form method="post">
<p><label>Email address <input name="email" type="email" required value="${escapeHtml(hint)}"></label></p>
<p><label><input name="factor" type="checkbox"> I used a second factor</label></p>
<button>Sign in</button>
</form></main></html>`;

function configure(issuer: string, people: Map<string, Person>) {
	const provider = new Provider(issuer, {
		clients: [{ ...CLIENT, redirect_uris: ["https://tenantry.example/callback"] }],
		claims: {
			openid: ["sub", "amr"],
			email: ["email", "email_verified"],
			profile: ["given_name", "family_name"],
		},
		features: { devInteractions: { enabled: false } },
		ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
		pkce: { required: () => true },
		cookies: { keys: ["the-key-of-nobody"] },
		interactions: { url: (_, { uid }) => `/interaction/${uid}` },
		async findAccount(_, sub) {
			const person = people.get(sub);
			return (
				person && {
					accountId: sub,
					claims: async () => ({ ...person.claims, sub, amr: person.amr }),
				}
			);
		},
		// Nobody has to consent.
		async loadExistingGrant({ oidc }) {
			const grant = new provider.Grant({
				clientId: oidc.client?.clientId ?? "",
				accountId: oidc.session?.accountId ?? "",
			});
			grant.addOIDCScope("openid email profile");
			await grant.save();
			return grant;
		},
	});
	// The path contains the id of a domain.
	provider.Client.prototype.redirectUriAllowed = (uri: string) =>
		/^(https:\/\/tenantry\.test|http:\/\/(localhost|127\.0\.0\.1):\d+)\/sso\//.test(uri);
	return provider;
}

/** Returns the server of a provider, which calls itself `issuer`. */
export function oidcProvider(issuer: string): Server {
	const people = new Map<string, Person>();
	const provider = configure(issuer, people);
	const handle = provider.callback();
	const read = async (request: IncomingMessage) => new URLSearchParams(await text(request));
	return createServer(async (request, response) => {
		if (!request.url?.startsWith("/interaction/")) return handle(request, response);
		const { params } = await provider.interactionDetails(request, response);
		if (request.method !== "POST") {
			response.setHeader("content-type", "text/html; charset=utf-8");
			return response.end(page(params.login_hint));
		}
		const person = toPerson(await read(request));
		people.set(person.sub, person);
		const login = { accountId: person.sub, amr: person.amr };
		await provider.interactionFinished(request, response, { login });
	});
}
