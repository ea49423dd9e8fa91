/** Organizations whose people sign in with a realm of Keycloak. */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import type { Tenantry } from "tenantry-client";
import { expect, inject } from "vitest";
import type { Keycloak } from "../../support/keycloak.ts";
import { codeOf } from "../../support/totp.ts";
import { button, clientOf, newMember, type Open } from "./browser.ts";
import { linkTo } from "./mail.ts";
import { withDomain } from "./world.ts";

const PASSWORD = "password-of-somebody";

const CLIENT_ID = "tenantry";

/** An organization with a verified domain, and a realm for its people. */
export async function newHome({ url, admin }: Keycloak) {
	const { domainAt: at, ...home } = await withDomain();
	const { domain } = home;
	const name = randomUUID().slice(0, 8);
	await admin("POST", "", { realm: name, enabled: true });
	const realm = (method: string, path: string, body?: unknown) =>
		admin(method, `/${name}${path}`, body);
	/** Adds a person to the realm. */
	const add = async (username: string, more: object = {}) => {
		const email = `${username}@${domain}`;
		const person = { username, email, emailVerified: true, enabled: true };
		const names = { firstName: "Ada", lastName: "Lovelace" };
		const credentials = [{ type: "password", value: PASSWORD, temporary: false }];
		const { id } = await realm("POST", "/users", { ...person, ...names, credentials, ...more });
		return { id: String(id), username, email };
	};
	return {
		...home,
		name,
		at,
		issuer: `${url}/realms/${name}`,
		realm,
		add,
		save: (settings: object) => home.client.domains.update(at, settings),
		/** Adds a person to the realm, who is an admin of the organization. */
		addAdmin: async (username: string, more: object = {}) => {
			const person = await add(username, more);
			const isMailed = true;
			const key = await newMember(home.organization.id, 8, person.email, { isMailed });
			const client = clientOf(key);
			return { ...person, key, client, uuid: (await client.users.get({ user: "@me" })).uuid };
		},
		/** The member with the address; undefined if there is none. */
		member: async (email: string) =>
			(await home.client.members.list(home.at)).results.find(({ user }) => user.email === email),
	};
}

export type Home = Awaited<ReturnType<typeof newHome>>;

/** The certificates of the keys with which the realm can sign, and which key each is of. */
async function certificatesOf({ realm }: Home) {
	const { keys } = await realm("GET", "/keys");
	return (keys as { use: string; providerId: string; certificate?: string }[]).flatMap(
		({ use, providerId, certificate }) =>
			use === "SIG" && certificate ? [{ providerId, certificate }] : [],
	);
}

/** A way to connect a realm, which does at Keycloak what its console does in the guide. */
export type Way = { name: string; method: "oidc" | "saml"; connect: (home: Home) => Promise<void> };

export const OPENID: Way = {
	name: "OpenID Connect",
	method: "oidc",
	async connect({ realm, save, at, issuer }: Home) {
		const secret = randomUUID();
		await realm("POST", "/clients", {
			protocol: "openid-connect",
			clientId: CLIENT_ID,
			secret,
			publicClient: false,
			directAccessGrantsEnabled: false,
			redirectUris: [`${inject("console").url}/sso/oidc/${at.id}/callback`],
		});
		await save({
			oidc_issuer: issuer,
			oidc_client_id: CLIENT_ID,
			oidc_client_secret: secret,
			jit_provisioning_enabled: true,
		});
	},
};

export const SAML: Way = {
	name: "SAML",
	method: "saml",
	async connect(home: Home) {
		const { realm, save, at, issuer } = home;
		const clientId = `${inject("console").url}/sso/saml/${at.id}/metadata`;
		const property = (name: string, property: string, oid: string) => ({
			name,
			protocol: "saml",
			protocolMapper: "saml-user-property-mapper",
			config: {
				"user.attribute": property,
				"attribute.name": `urn:oid:${oid}`,
				"attribute.nameformat": "URI Reference",
				"friendly.name": property,
			},
		});
		await realm("POST", "/clients", {
			protocol: "saml",
			clientId,
			redirectUris: [`${inject("console").url}/sso/saml/${at.id}/acs`],
			attributes: {
				"saml.client.signature": "false",
				"saml.assertion.signature": "true",
				"saml.server.signature": "true",
				"saml.authnstatement": "true",
				"saml.force.post.binding": "true",
				"saml.signature.algorithm": "RSA_SHA256",
				saml_name_id_format: "persistent",
			},
			protocolMappers: [
				property("X500 email", "email", "1.2.840.113549.1.9.1"),
				property("X500 givenName", "firstName", "2.5.4.42"),
				property("X500 surname", "lastName", "2.5.4.4"),
			],
		});
		const [certificate] = await certificatesOf(home);
		await save({
			saml_entity_id: issuer,
			saml_acs_url: `${issuer}/protocol/saml`,
			saml_x509_cert: certificate?.certificate ?? "",
			jit_provisioning_enabled: true,
		});
	},
};

export const WAYS = [OPENID, SAML];

/** Adds a key to the realm, which signs with the key that has the highest priority: at first 100. */
export async function addKey(home: Home, priority: number) {
	const { id } = await home.realm("POST", "/components", {
		name: `rsa-${priority}`,
		providerId: "rsa-generated",
		providerType: "org.keycloak.keys.KeyProvider",
		config: { priority: [String(priority)], enabled: ["true"], active: ["true"] },
	});
	const keys = await certificatesOf(home);
	return {
		certificate: keys.find(({ providerId }) => providerId === id)?.certificate ?? "",
		/** All certificates, as `saml_x509_cert` has them. */
		certificates: keys.map(({ certificate }) => certificate).join("\n\n"),
		setPriority: async (priority: number) => {
			const component = await home.realm("GET", `/components/${id}`);
			component.config.priority = [String(priority)];
			await home.realm("PUT", `/components/${id}`, component);
		},
	};
}

/** Gives somebody an authenticator app. Returns its secret. */
export async function addFactor({ client }: { client: Tenantry }) {
	const { secret } = await client.twoFactor.begin({ user: "@me" });
	await client.twoFactor.confirm({ user: "@me" }, { code: await codeOf(secret, -1) });
	return secret;
}

/** A member who is signed in by mail, and has an account in the realm. */
export async function signedInByMail(open: Open, home: Home) {
	const person = await home.add("robin");
	await newMember(home.organization.id, 1, person.email, { isMailed: true });
	const page = await open("/console", { key: "" });
	await enter(page, person.email);
	await button(page, "Send a link by mail").click();
	await page.goto(await linkTo(person.email));
	await button(page, "Sign in").click();
	await arrive(page, home);
	return { ...person, page };
}

/** Enters an address on the sign-in page. */
export async function enter(page: Page, email: string) {
	await page.goto(`${inject("console").url}/console/sign_in`);
	await page.getByLabel("Email address").fill(email);
	await button(page, "Continue").click();
}

/** Goes to the provider of the address. */
export async function goToProvider(page: Page, email: string) {
	await enter(page, email);
	await page.getByRole("link", { name: "Continue with your organization" }).click();
}

/** Enters the password at Keycloak. */
export async function authenticate(page: Page, username: string) {
	await page.locator("#username").fill(username);
	await page.locator("#password").fill(PASSWORD);
	await button(page, "Sign In").click();
}

/** Signs in with Keycloak, where nobody is signed in yet. */
export async function signIn(page: Page, { email, username }: { email: string; username: string }) {
	await goToProvider(page, email);
	await authenticate(page, username);
}

/** Waits until the browser shows the organization to somebody who has signed in. */
export async function arrive(page: Page, { path }: Home) {
	await page.getByRole("link", { name: "Members" }).or(problemOn(page)).first().waitFor();
	expect(await problemOn(page).allTextContents()).toEqual([]);
	// The console goes there from `/console` after it has shown the link.
	await page.waitForURL((url) => url.pathname === path);
}

/** Why a sign-in failed. */
export const problemOn = (page: Page) => page.getByRole("alert").filter({ hasText: /./ });

const openDomain = (page: Page, { path, at }: Home) =>
	page.goto(`${inject("console").url}${path}/domains/${at.id}`);

/** Saves the settings of a provider, by their labels on the page of the domain. */
export async function enterSettings(page: Page, home: Home, settings: Record<string, string>) {
	await openDomain(page, home);
	for (const [label, value] of Object.entries(settings))
		await page.getByLabel(label, { exact: true }).fill(value);
	await saveSettings(page);
}

export async function saveSettings(page: Page) {
	await button(page, "Save sign-in settings").click();
	await page.getByText("The sign-in settings are saved.").waitFor();
}

/** Tests the connection on the page of the domain. */
export async function testConnection(page: Page, home: Home, way: Way) {
	await openDomain(page, home);
	await button(page, `Test ${way.name}`).click();
}

/** Expects that the test has passed and linked the account, and closes its result. */
export async function expectWorks(page: Page) {
	const dialog = page.getByRole("dialog");
	await dialog.waitFor();
	expect(await dialog.innerText()).toContain("The sign-in works");
	await dialog.getByText("is linked to yours here").waitFor();
	await button(page, "Close").last().click();
}
