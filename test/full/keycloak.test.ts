/** Sign-ins with Keycloak, set up as docs/sign-on.md says. */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { inBrowser, newOrganization } from "../console/support/browser.ts";
import { missingKeycloak, startKeycloak } from "../support/keycloak.ts";

const missing = await missingKeycloak();
let keycloak: Awaited<ReturnType<typeof startKeycloak>>;

const PASSWORD = "password-of-somebody";

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** An organization with a verified domain, and a realm for its people. */
async function newHome() {
	const home = await newOrganization();
	const name = randomUUID().slice(0, 8);
	const domain = `acme-${name}.example.com`;
	const { id, verification_challenge } = await home.client.domains.create(home.at, { domain });
	const record = `${inject("console").resolver}_tenantry-challenge.${domain}`;
	await fetch(record, { method: "PUT", body: verification_challenge });
	await home.client.domains.verify({ ...home.at, id });
	await keycloak.admin("POST", "", { realm: name, enabled: true });
	const realm = (method: string, path: string, body?: unknown) =>
		keycloak.admin(method, `/${name}${path}`, body);
	const save = (settings: object) => home.client.domains.update({ ...home.at, id }, settings);
	/** Adds a person to the realm. */
	const add = async (username: string, more: object = {}) => ({
		username,
		email: `${username}@${domain}`,
		...(await realm("POST", "/users", {
			username,
			email: `${username}@${domain}`,
			emailVerified: true,
			firstName: "Ada",
			lastName: "Lovelace",
			enabled: true,
			credentials: [{ type: "password", value: PASSWORD, temporary: false }],
			...more,
		})),
	});
	const members = async () => (await home.client.members.list(home.at)).results;
	return {
		...home,
		id,
		domain,
		issuer: `${keycloak.url}/realms/${name}`,
		realm,
		save,
		add,
		members,
	};
}

/** Connects the realm with OpenID Connect. */
async function withOpenId() {
	const home = await newHome();
	await home.realm("POST", "/clients", {
		protocol: "openid-connect",
		clientId: "tenantry",
		publicClient: false,
		standardFlowEnabled: true,
		directAccessGrantsEnabled: false,
		redirectUris: [`${inject("console").url}/sso/oidc/${home.id}/callback`],
		secret: "secret-of-nobody",
	});
	await home.save({
		oidc_issuer: home.issuer,
		oidc_client_id: "tenantry",
		oidc_client_secret: "secret-of-nobody",
		jit_provisioning_enabled: true,
	});
	return home;
}

/** Goes to the provider of the address. */
async function goToProvider(page: Page, email: string) {
	await page.getByLabel("Email address").fill(email);
	await button(page, "Continue").click();
	await page.getByRole("link", { name: "Continue with your organization" }).click();
}

/** Enters the password at Keycloak, which has been given the name. */
async function authenticate(page: Page) {
	await page.locator("#password").fill(PASSWORD);
	await button(page, "Sign In").click();
}

describe.skipIf(missing)(`with Keycloak${missing}`, () => {
	beforeAll(async () => {
		keycloak = await startKeycloak();
	});

	inBrowser("OpenID Connect", (open) => {
		test("signs in a new person, who is a member then", async () => {
			const home = await withOpenId();
			const { email } = await home.add("ada");
			const page = await open("/console/sign_in", { key: "" });
			await goToProvider(page, email);
			await authenticate(page);
			await page.getByText("To continue, click Sign in.").waitFor();
			await button(page, "Sign in").click();
			await page.waitForURL(`**${home.path}*`);
			const { user } = (await home.members()).find((member) => member.user.email === email) ?? {};
			expect(user).toMatchObject({ first_name: "Ada" });
		});
	});
});
