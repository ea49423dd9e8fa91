/** The guide for Keycloak (docs/sign-on.md#keycloak), followed in its admin console. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, inject } from "vitest";
import { ADMIN, type Keycloak } from "../../support/keycloak.ts";
import { button } from "./browser.ts";
import type { Home } from "./realm.ts";

/** Returns the names in bold type of a part of the guide. */
function namesOf(part: string) {
	const text = readFileSync(`${import.meta.dirname}/../../../docs/sign-on.md`, "utf8");
	const [, guide = ""] = text.split("### Keycloak\n");
	const [, found = ""] = guide.replaceAll("\n   ", " ").split(`**${part}**\n`);
	const [steps = ""] = found.split("\n\n**");
	const bold = Array.from(steps.matchAll(/\*\*([^*]+)\*\*/g), ([, name = ""]) => name);
	return bold.flatMap((name) => name.split(" › "));
}

/**
 * Opens Keycloak's console as its admin.
 * @returns `name`, which returns a name of the guide that is used, and `end`, which expects that all
 * were
 */
async function openConsole(page: Page, part: string, { url }: Keycloak, realm: string) {
	const names = new Set(namesOf(part));
	const used = new Set<string>();
	await page.goto(`${url}/admin/master/console/#/${realm}/clients`);
	await page.locator("#username").fill(ADMIN.username);
	await page.locator("#password").fill(ADMIN.password);
	await button(page, "Sign In").click();
	const name = (text: string) => {
		expect(names).toContain(text);
		used.add(text);
		return text;
	};
	return { name, end: () => expect(used).toEqual(names) };
}

const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true });
const tab = (page: Page, name: string) => page.getByRole("tab", { name, exact: true });
const field = (page: Page, name: string) => page.getByRole("textbox", { name, exact: true });
const label = (page: Page, name: string) => page.getByText(name, { exact: true }).first();
/** What covers a switch or a choice is clicked instead. */
const force = true;

async function save(page: Page, message: string) {
	await button(page, "Save").click();
	await page.getByText(message).first().waitFor();
}

/**
 * Creates a client for OpenID Connect, and verifies the address of the user.
 * @returns the settings of the domain
 */
export async function followOpenId(page: Page, keycloak: Keycloak, home: Home, username: string) {
	const { name, end } = await openConsole(page, "OpenID Connect", keycloak, home.name);
	await link(page, name("Clients")).click();
	await link(page, name("Create client")).click();
	await label(page, name("Client type")).waitFor();
	await field(page, name("Client ID")).fill("tenantry");
	await button(page, "Next").click();
	await page.getByRole("checkbox", { name: name("Client authentication") }).click({ force });
	await label(page, name("Authentication flow")).waitFor();
	await page.getByRole("checkbox", { name: name("Standard flow"), checked: true }).waitFor();
	await page.getByRole("checkbox", { name: "Direct access grants" }).click({ force });
	await button(page, "Next").click();
	const redirectUri = `${inject("console").url}/sso/oidc/${home.at.id}/callback`;
	await field(page, name("Valid redirect URIs")).fill(redirectUri);
	await save(page, "Client created successfully");
	await tab(page, name("Credentials")).click();
	const secret = await field(page, name("Client Secret")).inputValue();
	await link(page, name("Users")).click();
	await link(page, username).click();
	await label(page, name("Email verified")).waitFor();
	await page.locator("#emailVerified").click({ force });
	await save(page, "The user has been saved");
	await link(page, name("User federation")).click();
	await page.getByText("Add Ldap providers").click({ force });
	await label(page, name("Trust Email")).waitFor();
	end();
	return { Issuer: home.issuer, "Client ID": "tenantry", "Client secret": secret };
}

/**
 * Imports a client for SAML.
 * @returns the settings of the domain
 */
export async function followSaml(page: Page, keycloak: Keycloak, home: Home) {
	const { name, end } = await openConsole(page, "SAML", keycloak, home.name);
	const clientId = `${inject("console").url}/sso/saml/${home.at.id}/metadata`;
	const buffer = Buffer.from(await (await fetch(clientId)).arrayBuffer());
	await link(page, name("Clients")).click();
	await link(page, name("Import client")).click();
	await page
		.locator("input[type=file]")
		.setInputFiles({ name: "metadata.xml", mimeType: "text/xml", buffer });
	await page.locator(`input[value="${clientId}"]`).waitFor();
	await save(page, "Client imported successfully");
	await tab(page, name("Keys")).click();
	await label(page, name("Client signature required")).waitFor();
	await tab(page, name("Settings")).click();
	await label(page, name("Name ID format")).waitFor();
	await button(page, "toggle").first().click();
	await page.getByRole("option", { name: "persistent" }).click();
	await label(page, name("Sign assertions")).waitFor();
	await save(page, "Client successfully updated");
	await tab(page, name("Client scopes")).click();
	await link(page, `${clientId}-dedicated`).click();
	await button(page, name("Add predefined mapper")).click();
	for (const mapper of ["X500 email", "X500 givenName", "X500 surname"])
		await page
			.getByRole("row", { name: name(mapper) })
			.getByRole("checkbox")
			.check();
	await button(page, "Add").click();
	await label(page, "Mapping successfully created").waitFor();
	await link(page, name("Realm settings")).click();
	await tab(page, name("Keys")).click();
	await button(page.getByRole("row", { name: "RS256" }), name("Certificate")).click();
	const dialog = page.getByRole("dialog").last();
	const [certificate = ""] = /MII[\w+/=]+/.exec(await dialog.innerText()) ?? [];
	end();
	return {
		"Entity ID of the provider": home.issuer,
		"Sign-in URL of the provider": `${home.issuer}/protocol/saml`,
		"Certificate of the provider": certificate,
	};
}
