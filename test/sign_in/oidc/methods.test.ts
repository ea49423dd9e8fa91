import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { exhaust } from "../../support/time.ts";
import { call } from "../../support/world.ts";
import { withDomain } from "./support.ts";

const OPERATOR = {
	SSO_GOOGLE_CLIENT_ID: "google",
	SSO_GOOGLE_CLIENT_SECRET: "secret",
	SSO_GITLAB_CLIENT_ID: "gitlab",
} as Partial<Env>;

const methods = async (email?: string, overrides: Partial<Env> = {}, address = v7()) => {
	const query = email === undefined ? "" : `?email=${encodeURIComponent(email)}`;
	return call("GET", `/api/sign_in/methods${query}`, {
		headers: { "cf-connecting-ip": address },
		env: overrides,
	});
};

const OIDC = {
	oidc_issuer: "https://id.example.com",
	oidc_client_id: "tenantry",
	oidc_client_secret: "sealed",
};

describe("the methods for an address", () => {
	test("are a mail and the operator's providers, if its domain says nothing", async () => {
		expect((await methods("ada@example.com")).body).toEqual({
			is_enforced: false,
			methods: [{ method: "mail", path: null }],
		});
		const { body } = await methods(undefined, { ...OPERATOR, MAIL_FROM: "" });
		expect(body.methods).toEqual([{ method: "google-oauth2", path: "/sso/google-oauth2/start" }]);
	});

	test("begin with the provider of its domain, once the domain is verified", async () => {
		const { domain, domain_id, set } = await withDomain({ ...OIDC, verified_at: null });
		const email = `ada+b@${domain}`;
		const mail = { method: "mail", path: null };
		expect((await methods(email)).body).toEqual({ is_enforced: false, methods: [mail] });
		await set({ verified_at: new Date().toISOString() });
		const path = `/sso/oidc/${domain_id}/start?email=${encodeURIComponent(email)}`;
		expect((await methods(email)).body).toEqual({
			is_enforced: false,
			methods: [{ method: "oidc", path }, mail],
		});
		await set({ sso_enforcement: "oidc" });
		expect((await methods(email)).body).toEqual({
			is_enforced: true,
			methods: [{ method: "oidc", path }],
		});
	});

	test("have a mail after a required provider only if the domain has named people for when it fails", async () => {
		const { domain, owner, set } = await withDomain({ ...OIDC, sso_enforcement: "oidc" });
		const namesOf = async (name: string, overrides = {}) => {
			const { body } = await methods(`${name}@${domain}`, overrides);
			return [body.is_enforced, ...body.methods.map(({ method }: { method: string }) => method)];
		};
		expect(await namesOf("ada")).toEqual([true, "oidc"]);
		await set({ break_glass: [owner.id] });
		for (const name of ["ada", "nobody"])
			expect(await namesOf(name)).toEqual([true, "oidc", "mail"]);
		expect(await namesOf("ada", { MAIL_FROM: "" })).toEqual([true, "oidc"]);
	});

	test("are those of its domain in any case, also of an internationalized one with a dot", async () => {
		const domain = `${v7()}.xn--p1ai`;
		const { domain_id } = await withDomain({ ...OIDC, domain, sso_enforcement: "oidc" });
		const path = `/sso/oidc/${domain_id}/start?email=${encodeURIComponent(`ada@${domain}`)}`;
		expect((await methods(`Ada@${domain.toUpperCase()}.`)).body).toEqual({
			is_enforced: true,
			methods: [{ method: "oidc", path }],
		});
	});

	test("don't depend on whether somebody has it", async () => {
		const home = await withDomain(OIDC);
		const { email } = await home.colleague();
		const [known, unknown] = [await methods(email), await methods(`eve@${home.domain}`)];
		expect(JSON.stringify(known.body).replaceAll("ada", "eve")).toBe(JSON.stringify(unknown.body));
	});

	test("can't be asked for more often than 60 times a minute", async () => {
		const address = "198.51.100.77";
		await exhaust(env.AUTH_FAILURES, `methods from ${address}`);
		expect((await methods("ada@example.com", {}, address)).status).toBe(429);
		expect((await methods("ada@example.com")).status).toBe(200);
	});
});
