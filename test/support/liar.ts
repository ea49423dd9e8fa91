/** A provider for OpenID Connect that says whatever a test wants. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { text } from "node:stream/consumers";
import { serve } from "./registry.ts";

/** What a code of the liar stands for. */
export type Lie = {
	/** The claims of the ID token; missing: there is none. */
	claims?: Record<string, unknown>;
	/** How the ID token is signed: by default, with the key that the provider publishes. */
	signature?: "another key" | "none" | "the client's secret";
	/** The response to the token request, instead of tokens. */
	error?: { status: number; body: unknown };
	/** The response of userinfo. */
	userinfo?: unknown;
	/** GitHub's responses. */
	github?: { user: unknown; emails: unknown };
};

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

const published = generateKeyPairSync("rsa", { modulusLength: 2048 });
const another = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** Returns an ID token. */
function idToken({ claims, signature }: Lie, secret: string) {
	const alg =
		signature === "none" ? "none" : signature === "the client's secret" ? "HS256" : "RS256";
	const body = `${encode({ alg, kid: "1", typ: "JWT" })}.${encode(claims)}`;
	const with_ = ({ privateKey }: { privateKey: KeyObject }) =>
		sign("sha256", Buffer.from(body), privateKey).toString("base64url");
	if (alg === "none") return `${body}.`;
	if (alg === "HS256")
		return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
	return `${body}.${with_(signature === "another key" ? another : published)}`;
}

/** Values that its documents have instead. */
export type Said = { discovery?: object; keys?: object };

const said = (issuer: string): Said =>
	JSON.parse(Buffer.from(issuer.split("/says_")[1] ?? "7b7d", "hex").toString());

/** Returns what a liar whose issuer is `issuer` responds. */
export function lie(
	issuer: string,
	path: string,
	{ authorization = "", form }: { authorization?: string | undefined; form: URLSearchParams },
): { status?: number; body: unknown } {
	const told = (code: string) => JSON.parse(Buffer.from(code, "base64url").toString()) as Lie;
	const bearer = () => told(authorization.split(" ")[1] ?? "");
	switch (path) {
		case "/.well-known/openid-configuration":
			return {
				body: {
					issuer,
					authorization_endpoint: `${issuer}/authorize`,
					token_endpoint: `${issuer}/token`,
					jwks_uri: `${issuer}/keys`,
					userinfo_endpoint: `${issuer}/userinfo`,
					authorization_response_iss_parameter_supported: issuer.endsWith("/named"),
					...said(issuer).discovery,
				},
			};
		case "/keys": {
			const keys = [{ ...published.publicKey.export({ format: "jwk" }), kid: "1", use: "sig" }];
			return { body: { keys, ...said(issuer).keys } };
		}
		case "/userinfo":
			return { body: bearer().userinfo };
		case "/token":
		case "/login/oauth/access_token": {
			const code = form.get("code") ?? "";
			const { error, ...lie } = told(code);
			if (error) return error;
			const secret = form.get("client_secret") ?? "the-client-secret-of-nobody";
			const id_token = lie.claims && { id_token: idToken(lie, secret) };
			return { body: { access_token: code, token_type: "bearer", ...id_token } };
		}
		case "/user":
			return { body: bearer().github?.user };
		case "/user/emails":
			return { body: bearer().github?.emails };
		default:
			return { status: 404, body: {} };
	}
}

const HUGE = Buffer.alloc(10_000_000, " ");

/**
 * The liar's path starts with the name of what it does:
 * - `/plain` and `/named` tell what the code says; the latter names itself in each response.
 * - `/hang` never responds, `/redirect` leads to a private host, `/huge` sends 10 MB, `/other` says
 *   that it is another issuer, `/broken` sends no JSON, `/nothing` and `/busy` have an error.
 * - `/text/` and hex has this text.
 * - `/realms/acme`, `nothing` and `master` are as in Keycloak.
 * - `/says_` and JSON in hex has these values in its discovery and keys.
 */
export async function liar() {
	const origin = await serve(async (request, response) => {
		const [, name = "", path = ""] = /^\/((?:realms\/)?\w+)([^?]*)/.exec(request.url ?? "") ?? [];
		if (/^(nothing|realms\/(?!acme|nothing|master))/.test(name))
			return response.writeHead(404).end();
		if (name === "busy") return response.writeHead(503).end();
		if (name === "hang") return undefined;
		if (name === "text") return response.end(Buffer.from(path.slice(1), "hex"));
		if (name === "redirect")
			return response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
		if (name === "huge")
			return response.writeHead(200, { "content-type": "application/json" }).end(HUGE);
		if (name === "broken")
			return response.writeHead(200, { "content-type": "application/json" }).end("{");
		const issuer = `${origin}/${name === "other" ? "plain" : name}`;
		const form = new URLSearchParams(await text(request));
		const { status = 200, body } = lie(issuer, path, { ...request.headers, form });
		response.writeHead(status, { "content-type": "application/json" });
		return response.end(JSON.stringify(body));
	});
	return origin;
}
