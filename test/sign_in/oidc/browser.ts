import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { expect } from "vitest";
import { seal } from "../../../src/organizations/domains/connections.ts";
import type { Lie } from "../../support/liar.ts";
import { call } from "../../support/world.ts";
import { outcomeOf, type WithDomain, withDomain } from "./support.ts";

export const CLIENT = { oidc_client_id: "tenantry", secret: "the-client-secret-of-nobody" };

/** A tenant whose verified domain has an OpenID Connect provider. */
export async function withProvider(oidc_issuer = env.PROVIDER_URL, columns = {}) {
	const { oidc_client_id, secret } = CLIENT;
	const home = await withDomain({ oidc_issuer, oidc_client_id, ...columns });
	await home.set({ oidc_client_secret: await seal(env, home.domain_id, secret) });
	return { ...home, path: `/sso/oidc/${home.domain_id}` };
}

export type Home = WithDomain & { path: string };

/** A browser with the cookies of the service. */
export function browser(overrides: Partial<Env> = {}) {
	const cookies = new Map<string, string>();
	return {
		cookies,
		/** Opens a page, and returns the response without following a redirect. */
		async open(path: string, headers: Record<string, string> = {}) {
			const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
			const response = await call("GET", path, {
				headers: { cookie, "cf-connecting-ip": v7(), ...headers },
				env: overrides,
			});
			for (const set of response.headers.getSetCookie()) {
				const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
				if (set.includes("Max-Age=0;")) cookies.delete(name);
				else cookies.set(name, value);
			}
			return response;
		},
	};
}

export type Browser = ReturnType<typeof browser>;

/**
 * Starts a sign-in, and returns where at the provider it leads.
 * @param site where the link is: another site than the service's, unless it is `same-origin`
 */
export async function begin(
	{ path }: { path: string },
	{ open }: Browser,
	{ query = "", site }: { query?: string; site?: string | undefined } = {},
) {
	const sent = site === undefined ? {} : { "sec-fetch-site": site };
	const { status, headers } = await open(`${path}/start${query}`, sent);
	expect(status).toBe(303);
	return new URL(headers.get("location") ?? "", "https://tenantry.test");
}

/** Signs in at `oidc-provider`, and returns the path of the callback. */
export async function signInAt(url: URL, form: Record<string, string>) {
	const jar = new Map<string, string>();
	async function visit(at: string, init: RequestInit = {}): Promise<Response> {
		const cookie = Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ");
		const response = await fetch(at, { ...init, headers: { cookie }, redirect: "manual" });
		for (const set of response.headers.getSetCookie()) {
			const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
			jar.set(name, value);
		}
		const next = response.headers.get("location");
		if (next === null) return response;
		const to = new URL(next, at);
		return to.host === "tenantry.test" ? response : visit(to.href);
	}
	const page = await visit(url.href);
	expect(page.status, await page.clone().text()).toBe(200);
	const last = await visit(page.url, { method: "POST", body: new URLSearchParams(form) });
	const { pathname, search } = new URL(last.headers.get("location") ?? "");
	return pathname + search;
}

/** Starts a sign-in through the liar, and returns what it should say and the outcome of a code. */
export async function atLiar(kind = "plain") {
	const issuer = `${env.LIAR_URL}/${kind}`;
	const home = await withProvider(issuer);
	const user = await home.colleague();
	const own = browser();
	const { searchParams } = await begin(home, own);
	const seconds = Math.floor(Date.now() / 1000);
	const claims = {
		...{ iss: issuer, aud: "tenantry", iat: seconds, exp: seconds + 60 },
		...{ sub: user.uuid, email: user.email, nonce: searchParams.get("nonce") },
	};
	const state = searchParams.get("state") ?? "";
	const answer = async (lie: Lie) => {
		const code = btoa(JSON.stringify(lie)).replaceAll("+", "-").replaceAll("/", "_");
		const query = new URLSearchParams({ code, state });
		return outcomeOf(await own.open(`${home.path}/callback?${query}`));
	};
	return { home, user, claims, answer };
}
