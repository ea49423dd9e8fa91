/** The examples of single sign-on, at the provider of `npm run provider`. */

import { CLIENT, oidcProvider } from "../../scripts/provider/oidc.ts";
import { freePort } from "../../test/support/peers.ts";
import type { Recorder } from "./recorder.ts";

/** Opens the URL of a test as a browser does. Returns the token of the result. */
async function signInAt(url: string, email: string) {
	const cookies = new Map<string, string>();
	let at = url;
	let form: URLSearchParams | undefined;
	for (let pages = 0; pages < 20; pages++) {
		const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
		const post = form && { method: "POST", body: form };
		const response = await fetch(at, { ...post, headers: { cookie }, redirect: "manual" });
		for (const set of response.headers.getSetCookie()) {
			const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
			cookies.set(name, value);
		}
		const next = response.headers.get("location");
		// A page is the provider's form.
		form = next === null ? new URLSearchParams({ email }) : undefined;
		at = new URL(next ?? "", at).href;
		const [, token] = /#tested=(.+)/.exec(at) ?? [];
		if (token) return token;
	}
	throw new Error(`The sign-in at ${url} did not end.`);
}

/**
 * Records single sign-on through a verified domain.
 * @param email of the caller, in the domain
 * @returns the replacements
 */
export async function singleSignOn(
	{ record }: Recorder,
	id: string,
	email: string,
): Promise<[from: string, to: string][]> {
	const port = await freePort();
	const issuer = `http://127.0.0.1:${port}`;
	const provider = oidcProvider(issuer).listen(port, "127.0.0.1");
	const { client_id, client_secret } = CLIENT;
	const settings = {
		oidc_issuer: issuer,
		oidc_client_id: client_id,
		oidc_client_secret: client_secret,
	};
	await record("updateDomain", { parameters: { id }, body: settings });
	await record("findSignInMethods", { parameters: { email }, key: null });
	const ofDomain = { domain_id: id };
	await record("startDomainSignOn", { parameters: ofDomain, key: null });
	await record("returnFromDomainSignOn", { parameters: ofDomain, key: null });
	await record("startSignOn", { parameters: { provider: "github" }, key: null });
	await record("returnFromSignOn", { parameters: { provider: "github" }, key: null });
	async function link() {
		const { url } = await record("createSignInTest", {
			parameters: ofDomain,
			body: { method: "oidc" },
		});
		const token = await signInAt(url ?? "", email);
		await record("completeSignInTest", { parameters: ofDomain, body: { token } });
	}
	const connection = `oidc:${id}`;
	await link();
	await record("listIdentities", { parameters: { uuid: "@me" } });
	await record("deleteIdentity", { parameters: { uuid: "@me", id: connection } });
	await link();
	await record("listMemberIdentities", { parameters: { user__uuid: "@me" } });
	await record("deleteMemberIdentity", { parameters: { user__uuid: "@me", id: connection } });
	provider.closeAllConnections();
	provider.close();
	return [[issuer, "https://id.example.com"]];
}
