import { env } from "cloudflare:workers";
import { eq, inArray } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { unseal } from "../../../src/organizations/domains/connections.ts";
import { certificateOf } from "../../sign_in/saml/support.ts";
import { CERTIFICATE } from "../../support/certificate.ts";
import {
	domainName,
	insertDomain,
	link,
	moveTo,
	SAML,
	sessionOf,
	verified_at,
} from "../../support/domains.ts";
import { wrong } from "../../support/errors.ts";
import { withoutPatience } from "../../support/time.ts";
import {
	call,
	cost,
	db,
	join,
	person,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";

const MASK = "**************** SECRET ****************";

const hex = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("hex");

const OIDC = {
	oidc_issuer: "https://idp.example.com/tenant",
	oidc_client_id: "tenantry",
	oidc_client_secret: "a-client-secret",
};

/** A tenant whose owner has an address in a verified domain, and a function that changes it. */
async function home(row: Partial<typeof domains.$inferInsert> = {}) {
	const tenant = await world();
	const domain = domainName();
	const domain_id = await insertDomain(tenant.id, { domain, verified_at, ...row });
	const email = await moveTo(tenant.owner, domain);
	const patch = (body: object, options: object = {}) =>
		tenant.here("PATCH", `/domains/${domain_id}`, { body, ...options });
	const stored = async () => (await db.select().from(domains).where(eq(domains.id, domain_id)))[0];
	return { ...tenant, domain, domain_id, email, patch, stored };
}

/** Says that a user has set up a second factor. */
const giveFactor = (...people: { id: number }[]) =>
	db
		.update(users)
		.set({ is_2fa_enabled: true })
		.where(
			inArray(
				users.id,
				people.map(({ id }) => id),
			),
		);

const works = async (key: string) => (await call("GET", "/api/users/@me", { key })).status === 200;

test("a certificate is rejected if it has a key that isn't RSA", async () => {
	const { here, patch } = await home();
	const saml_x509_cert = await certificateOf("elliptic");
	const rejection = { status: 400, body: { code: "invalid_input", attr: "saml_x509_cert" } };
	expect(await patch({ saml_x509_cert })).toMatchObject(rejection);
	const body = { domain: domainName(), saml_x509_cert };
	expect(await here("POST", "/domains", { body })).toMatchObject(rejection);
});

describe("the OpenID provider of a domain", () => {
	test("is set when a domain is created, and its secret is stored encrypted and never returned", async () => {
		const { here } = await world();
		const created = await here("POST", "/domains", { body: { domain: domainName(), ...OIDC } });
		expect(created.body).toMatchObject({ ...OIDC, oidc_client_secret: MASK, has_oidc: true });
		const { id } = created.body;
		const [row] = await db.select().from(domains).where(eq(domains.id, id));
		expect(row?.oidc_client_secret).toMatch(/^sealed:/);
		expect(await unseal(env, id, row?.oidc_client_secret ?? "")).toBe(OIDC.oidc_client_secret);
		for (const path of ["/domains", `/domains/${id}`, "/activity_log"])
			expect(JSON.stringify((await here("GET", path)).body)).not.toContain(OIDC.oidc_client_secret);
	});

	test("keeps its secret if a PATCH has the mask, null or no secret, and loses it with an empty one", async () => {
		const { patch, stored, here } = await home();
		await patch(OIDC);
		const before = (await stored())?.oidc_client_secret;
		for (const oidc_client_secret of [MASK, null, undefined]) {
			const after = await patch({ oidc_client_secret, oidc_client_id: "another" });
			expect(after.body).toMatchObject({ oidc_client_secret: MASK, has_oidc: true });
			expect((await stored())?.oidc_client_secret).toBe(before);
		}
		expect((await patch({ oidc_client_secret: "" })).body).toMatchObject({
			oidc_client_secret: null,
			has_oidc: false,
		});
		const log = (await here("GET", "/activity_log?scope=Domain")).body.results;
		expect(log[0].detail.changes).toEqual([
			{ field: "oidc_client_secret", action: "deleted", before: "********", after: null },
		]);
		expect(JSON.stringify(log)).not.toMatch(/sealed|a-client-secret/);
	});

	test("gets the secret again if its issuer changes, so that nobody can have it sent elsewhere", async () => {
		const { patch } = await home();
		await patch(OIDC);
		const rejection = wrong(
			"required",
			"Enter the client secret again: the issuer has changed.",
			"oidc_client_secret",
		);
		const oidc_issuer = "https://attacker.example.com/";
		expect(await patch({ oidc_issuer })).toMatchObject(rejection);
		expect(await patch({ oidc_issuer, oidc_client_secret: MASK })).toMatchObject(rejection);
		expect((await patch({ oidc_issuer: "" })).body.has_oidc).toBe(false);
		expect(await patch({ oidc_issuer })).toMatchObject(rejection);
		expect((await patch({ ...OIDC, oidc_issuer })).body).toMatchObject({ oidc_issuer });
	});

	test.each<[string, string, string]>([
		["a trailing slash", "/plain/", "Enter LIAR/plain"],
		["the issuer that another one's document names", "/other", "Enter LIAR/plain"],
		[
			"the URL of the discovery document",
			"/plain/.well-known/openid-configuration",
			"Enter LIAR/plain",
		],
		["the URL of a page below it", "/realms/acme/account", "Enter LIAR/realms/acme"],
		["the name of a realm", "/nothing", "Enter LIAR/realms/nothing"],
		["the admin console of a realm", "/nothing/acme/console", "Enter LIAR/realms/acme"],
		["only a host with realms", "", "Enter it with your realm: LIAR/realms/<realm>"],
		[
			"the document of all tenants",
			`/says_${hex({ discovery: { issuer: "https://login.example.com/{tenantid}/v2.0" } })}`,
			"Enter it with the ID of your tenant.",
		],
		["a page", "/broken", "has no document that names an issuer."],
		["a redirect", "/redirect", "answered 302."],
	])("is checked when it is saved, and the right one is offered for %s", async (_, path, words) => {
		const { patch, stored } = await home();
		const oidc_issuer = `${env.LIAR_URL}${path}`;
		const detail = expect.stringContaining(words.replace("LIAR", env.LIAR_URL));
		const rejection = { status: 400, body: { code: "invalid_input", attr: "oidc_issuer", detail } };
		expect(await patch({ ...OIDC, oidc_issuer })).toMatchObject(rejection);
		expect((await stored())?.oidc_issuer).toBeNull();
	});

	test.each(["/plain", "/realms/acme", "/busy", "/hang"])(
		"is saved if its provider names it, or doesn't respond now: %s",
		async (path) => {
			const { patch } = await home();
			const oidc_issuer = `${env.LIAR_URL}${path}`;
			const save = () => patch({ ...OIDC, oidc_issuer });
			const saved = await (path === "/hang" ? withoutPatience(save) : save());
			expect(saved.body).toMatchObject({ oidc_issuer });
		},
	);

	test("has an https URL on the public internet, unless private destinations are allowed", async () => {
		const { patch, here } = await home();
		const strict = { env: { ALLOW_PRIVATE_DESTINATIONS: "false" } };
		const http = { oidc_issuer: "http://idp.example.com" };
		expect(await patch(http, strict)).toMatchObject(
			wrong("invalid_input", "The issuer must have an https URL.", "oidc_issuer"),
		);
		const local = { oidc_issuer: "https://127.0.0.1/" };
		const rejection = wrong("invalid_input", "127.0.0.1 is a private address.", "oidc_issuer");
		expect(await patch(local, strict)).toMatchObject(rejection);
		const creation = { body: { domain: domainName(), ...local }, ...strict };
		expect(await here("POST", "/domains", creation)).toMatchObject(rejection);
		const loose = { env: { ALLOW_PRIVATE_DESTINATIONS: "true" } };
		expect((await patch(http, loose)).status).toBe(200);
		expect((await patch(local, loose)).status).toBe(200);
	});
});

describe("enforcing single sign-on", () => {
	const untested = wrong(
		"sign_in_not_tested",
		"Sign in this way yourself before you enforce it, so that you know that it works.",
		"sso_enforcement",
	);

	test.each(["saml", "oidc", "google-oauth2", "github", "gitlab"])(
		"with %s requires that its setter has signed in in that way, with an address of the domain",
		async (sso_enforcement) => {
			const { patch, owner, domain_id, email, id, domain } = await home();
			await patch({ ...SAML, ...OIDC });
			const isOwn = sso_enforcement === "saml" || sso_enforcement === "oidc";
			const connection = (of: string) => (isOwn ? `${sso_enforcement}:${of}` : sso_enforcement);
			const other = await join(id, 8);
			await link(other.id, connection(domain_id), await moveTo(other, domain));
			await link(owner.id, connection(domain_id), "owner@elsewhere.example");
			await link(owner.id, "saml:another", email);
			await link(owner.id, "oidc:another", email);
			expect(await patch({ sso_enforcement })).toMatchObject(untested);
			await link(owner.id, connection(domain_id), email);
			const enforced = await patch({ sso_enforcement });
			expect(enforced.body.sso_enforcement).toBe(sso_enforcement);
			expect(cost(enforced).trips).toBe(2);
		},
	);

	test("fails if the setter's account is unlinked in between", async () => {
		const { patch, owner, email } = await home();
		await link(owner.id, "github", email);
		const unlink = async () => db.delete(identities).where(eq(identities.user_id, owner.id));
		expect(await patch({ sso_enforcement: "github" }, { env: racing(unlink) })).toMatchObject(
			untested,
		);
	});

	test("with OpenID Connect requires all three of its fields, and keeps them set", async () => {
		const { patch, owner, domain_id, email } = await home();
		await link(owner.id, `oidc:${domain_id}`, email);
		const incomplete = wrong(
			"invalid_input",
			"OpenID Connect cannot be enforced without its issuer, client id and client secret.",
			"sso_enforcement",
		);
		await patch({ ...OIDC, oidc_client_id: "" });
		expect(await patch({ sso_enforcement: "oidc" })).toMatchObject(incomplete);
		expect((await patch({ oidc_client_id: "x", sso_enforcement: "oidc" })).status).toBe(200);
		for (const empty of [{ oidc_client_id: null }, { oidc_client_secret: "" }, { oidc_issuer: "" }])
			expect(await patch(empty)).toMatchObject(incomplete);
		expect((await patch({ oidc_client_secret: "another" })).status).toBe(200);
	});

	test("ends the sessions of everyone in the domain who signed in in another way, and no others", async () => {
		const { patch, owner, domain_id, domain, email, key, id } = await home({
			...SAML,
		});
		const connection = `saml:${domain_id}`;
		await link(owner.id, connection, email);
		const [inside, outside, neighbour, saved] = [
			await person(),
			await person(),
			await person(),
			await join(id, 1),
		];
		await moveTo(inside, domain);
		await moveTo(neighbour, `sub.${domain}`);
		await moveTo(saved, domain);
		await giveFactor(saved);
		expect((await patch({ break_glass: [saved.uuid] })).status).toBe(200);
		const ended = [
			await sessionOf(inside.id),
			await sessionOf(inside.id, { method: "google-oauth2", connection: "google-oauth2" }),
			await sessionOf(inside.id, { method: "saml", connection: "saml:another" }),
			await sessionOf(owner.id),
		];
		const kept = [
			await sessionOf(inside.id, { method: "saml", connection }),
			inside.key,
			await sessionOf(outside.id),
			await sessionOf(neighbour.id),
			await sessionOf(saved.id),
			key,
		];
		expect((await patch({ sso_enforcement: "saml" })).status).toBe(200);
		expect(await Promise.all(ended.map(works))).toEqual(ended.map(() => false));
		expect(await Promise.all(kept.map(works))).toEqual(kept.map(() => true));
	});

	test("ends no session if it fails, or if nothing about it changes", async () => {
		const { patch, owner, domain_id, email } = await home({ ...SAML });
		const session = await sessionOf(owner.id);
		expect(await patch({ sso_enforcement: "saml" })).toMatchObject(untested);
		expect(await works(session)).toBe(true);
		await link(owner.id, `saml:${domain_id}`, email);
		await patch({ sso_enforcement: "saml" });
		const later = await sessionOf(owner.id);
		await patch({ sso_enforcement: "saml", saml_acs_url: "https://idp.example.com/new" });
		expect(await works(later)).toBe(true);
	});
});

describe("another provider", () => {
	test.each([
		["SAML entity ID", "saml", { saml_entity_id: "https://other.example.com" }],
		["missing SAML entity ID", "saml", { saml_entity_id: null }],
		["missing SAML certificate", "saml", { saml_x509_cert: "" }],
		["issuer", "oidc", { ...OIDC, oidc_issuer: "https://other.example.com" }],
		["missing issuer", "oidc", { oidc_issuer: "" }],
		["missing client secret", "oidc", { oidc_client_secret: "" }],
	])(
		"(%s) unlinks the accounts at the former one, and ends their sessions",
		async (_, sso, change) => {
			const { patch, owner, domain_id, email } = await home({ ...SAML });
			await patch(OIDC);
			const connection = `${sso}:${domain_id}`;
			const other = sso === "saml" ? `oidc:${domain_id}` : `saml:${domain_id}`;
			await link(owner.id, connection, email);
			await link(owner.id, other, email);
			const [through, beside] = [
				await sessionOf(owner.id, { method: sso, connection }),
				await sessionOf(owner.id, { method: "x", connection: other }),
			];
			expect((await patch(change)).status).toBe(200);
			const left = await db.select().from(identities).where(eq(identities.user_id, owner.id));
			expect(left.map(({ connection }) => connection)).toEqual([other]);
			expect([await works(through), await works(beside)]).toEqual([false, true]);
		},
	);

	test.each([
		["certificate", "saml", { saml_x509_cert: `Renewed\n${CERTIFICATE}` }],
		["URL", "saml", { saml_acs_url: "https://idp.example.com/new" }],
		["client", "oidc", { oidc_client_id: "new", oidc_client_secret: "new" }],
	])("isn't what a new %s means: accounts stay linked", async (_, sso, change) => {
		const { patch, owner, domain_id, email } = await home({ ...SAML });
		await patch(OIDC);
		const connection = `${sso}:${domain_id}`;
		await link(owner.id, connection, email);
		const session = await sessionOf(owner.id, { method: sso, connection });
		await patch({ sso_enforcement: sso });
		expect((await patch(change)).status).toBe(200);
		expect(await works(session)).toBe(true);
	});

	test("can't replace one that is enforced, because nobody could sign in then", async () => {
		const { patch, owner, domain_id, email, here } = await home({ ...SAML });
		await link(owner.id, `saml:${domain_id}`, email);
		await patch({ sso_enforcement: "saml" });
		const change = { saml_entity_id: "https://other.example.com" };
		const rejection = wrong(
			"sign_in_not_tested",
			"Nobody has signed in through the new provider. Stop enforcing single sign-on, sign in through it, then enforce it again.",
			"sso_enforcement",
		);
		expect(await patch(change)).toMatchObject(rejection);
		expect(await patch({ ...change, sso_enforcement: "saml" })).toMatchObject(rejection);
		expect(await patch({ saml_entity_id: "" })).toMatchObject({ status: 400 });
		expect((await here("GET", `/domains/${domain_id}`)).body).toMatchObject(SAML);
		expect((await patch({ ...change, sso_enforcement: "" })).body).toMatchObject(change);
		expect(await patch({ sso_enforcement: "saml" })).toMatchObject({
			body: { code: "sign_in_not_tested" },
		});
	});

	test("can't be enforced by the request that sets it", async () => {
		const { patch, owner, domain_id, email } = await home({ ...SAML });
		await link(owner.id, `saml:${domain_id}`, email);
		const body = { saml_entity_id: "https://new.example.com", sso_enforcement: "saml" };
		expect(await patch(body)).toMatchObject({ status: 400, body: { code: "sign_in_not_tested" } });
	});
});

test("deleting a domain unlinks the accounts at its providers, and ends their sessions", async () => {
	const { here, owner, domain_id, email } = await home({ ...SAML });
	const connection = `saml:${domain_id}`;
	await link(owner.id, connection, email);
	await link(owner.id, "github", email);
	const session = await sessionOf(owner.id, { method: "saml", connection });
	expect((await here("DELETE", `/domains/${domain_id}`)).status).toBe(204);
	expect(await works(session)).toBe(false);
	const left = await db.select().from(identities).where(eq(identities.user_id, owner.id));
	expect(left.map(({ connection }) => connection)).toEqual(["github"]);
});

describe("break glass", () => {
	test("is changed by owners only", async () => {
		const { id, domain, domain_id, owner, patch } = await home();
		const admin = await join(id, 8);
		const path = `/api/organizations/${id}/domains/${domain_id}`;
		const as = (body: object) => call("PATCH", path, { key: admin.key, body });
		await moveTo(admin, domain);
		await giveFactor(admin, owner);
		expect(await as({ break_glass: [admin.uuid] })).toMatchObject({
			status: 403,
			body: { detail: "Only owners can choose who signs in without the provider." },
		});
		const both = [owner.uuid, admin.uuid];
		const set = await patch({ break_glass: both });
		expect(set.body.break_glass.toSorted()).toEqual(both.toSorted());
		expect((await as({ break_glass: [] })).status).toBe(403);
		expect((await as({ break_glass: both, saml_idp_initiated: true })).body).toMatchObject({
			saml_idp_initiated: true,
		});
		expect((await patch({ break_glass: both.toReversed() })).body).toEqual({
			...set.body,
			saml_idp_initiated: true,
		});
	});

	test("names only active members with an address of the domain", async () => {
		const { id, domain, patch, owner } = await home();
		await giveFactor(owner);
		const outside = await join(id, 1);
		const stranger = await person();
		await moveTo(stranger, domain);
		await giveFactor(outside, stranger);
		const account = await serviceAccount({ id, owner });
		for (const uuid of [outside.uuid, stranger.uuid, account.id])
			expect(await patch({ break_glass: [owner.uuid, uuid] })).toMatchObject(
				wrong("does_not_exist", `Invalid pk "${uuid}" - object does not exist.`, "break_glass"),
			);
	});

	test("names only people with a second factor", async () => {
		const { patch, owner } = await home();
		expect(await patch({ break_glass: [owner.uuid] })).toMatchObject(
			wrong("invalid_input", `${owner.uuid} must set up a second factor first.`, "break_glass"),
		);
	});

	test("ends for members who leave, even if they return", async () => {
		const { id, domain, patch, owner, here, domain_id } = await home();
		const other = await join(id, 8);
		await moveTo(other, domain);
		await giveFactor(owner, other);
		await patch({ break_glass: [owner.uuid, other.uuid] });
		await here("DELETE", `/members/${other.uuid}`);
		const shown = async () => (await here("GET", `/domains/${domain_id}`)).body.break_glass;
		expect(await shown()).toEqual([owner.uuid]);
		const [row] = await db.select().from(domains).where(eq(domains.id, domain_id));
		await db.insert(members).values({
			organization_id: row?.organization_id ?? 0,
			user_id: other.id,
			level: 8,
		});
		expect(await shown()).toEqual([owner.uuid]);
	});

	test("ends with its sessions while single sign-on is enforced", async () => {
		const { patch, owner, email } = await home();
		await link(owner.id, "github", email);
		await giveFactor(owner);
		await patch({ break_glass: [owner.uuid], sso_enforcement: "github" });
		const session = await sessionOf(owner.id);
		expect((await patch({ jit_provisioning_level: 8 })).status).toBe(200);
		expect(await works(session)).toBe(true);
		expect((await patch({ break_glass: [] })).status).toBe(200);
		expect(await works(session)).toBe(false);
		expect(await db.$count(personalApiKeys, eq(personalApiKeys.user_id, owner.id))).toBe(1);
	});
});
