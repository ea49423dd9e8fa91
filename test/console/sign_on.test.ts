import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { CLIENT } from "../../scripts/provider/oidc.ts";
import { newPair } from "../support/saml.ts";
import { codeOf } from "../support/totp.ts";
import { button, checkLooks, clientOf, inBrowser, newMember } from "./support/browser.ts";
import { withDomain } from "./support/world.ts";

/** Nothing listens there. */
const NOBODY = "http://127.0.0.1:9";

/**
 * A new organization with a verified domain that has an OpenID provider.
 * @param joins whether new people become members
 */
async function withProvider(oidc_issuer = NOBODY, joins = false) {
	const home = await withDomain({
		oidc_issuer,
		oidc_client_id: CLIENT.client_id,
		oidc_client_secret: CLIENT.client_secret,
	});
	if (joins) await home.client.domains.update(home.domainAt, { jit_provisioning_enabled: true });
	return { ...home, id: home.domainAt.id };
}

inBrowser("single sign-on", (open) => {
	test("the sign-in page asks for the address, and offers what its domain has", async () => {
		const { domain, id } = await withProvider();
		const page = await open("/console/sign_in", { key: "" });
		await page.getByLabel("Email address").fill(`ada@${domain}`);
		await button(page, "Continue").click();
		const provider = page.getByRole("link", { name: "Continue with your organization" });
		await provider.waitFor();
		expect(await provider.getAttribute("href")).toBe(
			`/sso/oidc/${id}/start?email=${encodeURIComponent(`ada@${domain}`)}`,
		);
		await checkLooks(page, "sign-on-ways");
		await provider.click();
		// It can't be reached, and the page says so.
		await page.getByText("The provider can't be reached.").waitFor();
		await checkLooks(page, "sign-on-problem");
		await page.getByLabel("Email address").fill(`ada@${domain}`);
		await button(page, "Continue").click();
		await button(page, "Send a link by mail").click();
		await page.getByText("Check your mail.").waitFor();
	});

	test("a new person signs in at the provider of the domain, and is a member then", async () => {
		const { client, at, domain, path } = await withProvider(inject("console").provider, true);
		const page = await open("/console/sign_in", { key: "" });
		const email = `ada@${domain}`;
		await page.getByLabel("Email address").fill(email);
		await button(page, "Continue").click();
		await page.getByRole("link", { name: "Continue with your organization" }).click();
		await page.getByRole("heading", { name: "A provider to try" }).waitFor();
		expect(await page.getByLabel("Email address").inputValue()).toBe(email);
		await button(page, "Sign in").click();
		// Without a further click.
		await page.waitForURL(`**${path}*`);
		const { results } = await client.members.list(at);
		expect(results.map(({ user }) => user.email)).toContain(email);
		await page.goto(`${inject("console").url}/console/account`);
		await page.getByText("OpenID Connect of Analytics Ltd", { exact: true }).waitFor();
		await checkLooks(page, "sign-on-linked");
	});

	/** Signs in at the provider that everybody can try. */
	async function signInAt(page: Page, email: string) {
		await page.getByLabel("Email address").fill(email);
		await button(page, "Sign in").click();
	}

	const ASKS = "To continue, click Sign in. This works once.";

	test("a sign-in that a page elsewhere or a link in a mail started needs a click", async () => {
		const { domain, id, path } = await withProvider(inject("console").provider, true);
		const page = await open("/console/sign_in", { key: "" });
		await page.goto(`${inject("console").url}/sso/oidc/${id}/start`);
		await signInAt(page, `eve@${domain}`);
		await page.getByText(ASKS).waitFor();
		await button(page, "Sign in").click();
		await page.waitForURL(`**${path}*`);
	});

	test("a link of somebody else's sign-in needs a click", async () => {
		const { domain, id } = await withProvider(inject("console").provider, true);
		const eve = await open("/console/sign_in", { key: "" });
		await eve.route("**/api/sign_in/complete", (route) => route.abort());
		await eve.evaluate(`location.assign("/sso/oidc/${id}/start")`);
		const returned = eve.waitForResponse((response) => response.url().includes("/callback"));
		await signInAt(eve, `eve@${domain}`);
		const link = await (await returned).headerValue("location");
		expect(link).toContain("#token=");
		const ada = await open(link ?? "", { key: "" });
		await ada.getByText(ASKS).waitFor();
	});

	test("a sign-in to another account asks whether the current session ends", async () => {
		const { domain, id, path } = await withProvider(inject("console").provider, true);
		const page = await open(path);
		await page.evaluate(`location.assign("/sso/oidc/${id}/start")`);
		await signInAt(page, `ada@${domain}`);
		const dialog = page.getByRole("dialog");
		await dialog.getByText(`ada@${domain}`).first().waitFor();
		await checkLooks(page, "sign-on-other");
	});

	/** A domain that requires its provider, which only its owner has signed in through. */
	async function enforced(named: boolean) {
		const provider = inject("console").provider;
		const { at, domain, id, organization, path } = await withProvider(provider);
		const email = `grace@${domain}`;
		const key = await newMember(organization.id, 15, email, { isMailed: true });
		const client = clientOf(key);
		const { secret } = await client.twoFactor.begin({ user: "@me" }, {});
		await client.twoFactor.confirm({ user: "@me" }, { code: await codeOf(secret) });
		const page = await open(`${path}/domains/${id}`, { key });
		await button(page, "Test OpenID Connect").click();
		await signInAt(page, email);
		await page.getByRole("heading", { name: "The sign-in works" }).waitFor();
		const { uuid } = await client.users.get({ user: "@me" });
		await client.domains.update(
			{ ...at, id },
			{ sso_enforcement: "oidc", ...(named && { break_glass: [uuid] }) },
		);
		return { domain };
	}

	/** Goes to a provider that can't be reached, and comes back. */
	async function goAndComeBack(page: Page) {
		await page.route("**/sso/**", (route) => route.abort());
		await button(page, "Continue").click();
		await expect.poll(() => page.url()).toContain("chrome-error:");
		await page.goBack({ waitUntil: "commit" });
		await page.getByRole("link", { name: "Continue with your organization" }).waitFor();
		expect(page.url()).toBe(`${inject("console").url}/console/sign_in`);
	}

	test("the sign-in page offers a mail to any address of a domain that has named people, before its provider and after it failed", async () => {
		const { domain } = await enforced(true);
		const page = await open("/console/sign_in", { key: "" });
		const mail = button(page, "Send a link by mail");
		await page.getByLabel("Email address").fill(`nobody@${domain}`);
		await mail.waitFor();
		await checkLooks(page, "sign-on-break-glass");
		await page.getByLabel("Email address").fill("nobody@example.org");
		await mail.waitFor({ state: "detached" });
		await page.getByLabel("Email address").fill(`nobody@${domain}`);
		await goAndComeBack(page);
		await mail.click();
		await page.getByText("Check your mail.").waitFor();
	});

	test("the sign-in page offers no mail for a domain that has named nobody, and Back leads to it", async () => {
		const { domain } = await enforced(false);
		const page = await open("/console/sign_in", { key: "" });
		await page.getByLabel("Email address").fill(`nobody@${domain}`);
		await goAndComeBack(page);
		expect(await button(page, "Send a link by mail").count()).toBe(0);
		await button(page, "Use another address").click();
		await page.reload();
		await page.getByLabel("Email address").waitFor();
	});

	test("the sign-in page never shows text of the URL", async () => {
		const page = await open("/console/sign_in#problem=Call%200900%20now", { key: "" });
		await page.getByText("Signing in didn't work. Try again.").waitFor();
		expect(await page.locator("body").innerText()).not.toContain("0900");
		expect(page.url()).not.toContain("problem");
	});

	test("a test of a connection shows which check failed, on the page of the domain", async () => {
		const { path, id } = await withProvider();
		const page = await open(`${path}/domains/${id}`);
		await button(page, "Test OpenID Connect").click();
		await page.getByRole("heading", { name: "The sign-in failed" }).waitFor();
		expect(page.url()).toBe(`${inject("console").url}${path}/domains/${id}`);
		await page.getByText("The provider can be reached").waitFor();
		await checkLooks(page, "sign-on-test");
	});

	test("a test of a connection shows each claim, and links the account of the admin", async () => {
		const { path, id, domain, organization } = await withProvider(inject("console").provider);
		const email = `grace@${domain}`;
		const key = await newMember(organization.id, 8, email);
		const page = await open(`${path}/domains/${id}`, { key });
		await button(page, "Test OpenID Connect").click();
		await page.getByLabel("Email address").fill(email);
		await button(page, "Sign in").click();
		await page.getByRole("heading", { name: "The sign-in works" }).waitFor();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("is linked to yours here").waitFor();
		await dialog.getByText(email).first().waitFor();
		expect(await dialog.getByText("Failed").count()).toBe(0);
		await checkLooks(page, "sign-on-tested");
		await button(page, "Close").last().click();
		await page.getByLabel("People sign in with").selectOption("oidc");
		await button(page, "Save sign-in settings").click();
		await page.getByText("The sign-in settings are saved.").waitFor();
	});

	test("the page of a domain shows the steps of the provider that is chosen, with the values to copy", async () => {
		const home = await withDomain();
		const page = await open(`${home.path}/domains/${home.domainAt.id}`);
		const provider = page.getByLabel("Which provider do you use?");
		for (const [name, step, samlStep] of [
			["Okta", "Create App Integration", "SAML 2.0"],
			["Microsoft Entra ID", "Certificates & secrets", "Unique User Identifier"],
			["Google Workspace", "https://accounts.google.com", "Download metadata"],
			["Keycloak", "Valid redirect URIs", "Client signature required"],
		] as const) {
			await provider.selectOption(name);
			await page.getByText(`Steps at ${name} for OpenID Connect`).waitFor();
			const first = page.getByRole("group", { name: "OpenID Connect" });
			await first.getByText(step).first().waitFor();
			expect(await first.getByText(samlStep).count()).toBe(0);
			// It stays open.
			if (name === "Okta") await page.getByText(`Steps at ${name} for SAML`).click();
			const second = page.getByRole("group", { name: "SAML", exact: true });
			await second.getByText(samlStep).first().waitFor();
		}
		await checkLooks(page, "sign-on-guide");
		// The choice is no setting, so nothing is to save.
		await page.getByRole("link", { name: "Members" }).click();
		await page.getByRole("heading", { name: "Members" }).waitFor();
	});

	test("the metadata of a SAML provider fills in its settings when it is saved", async () => {
		const { path, id } = await withProvider();
		const [, certificate = ""] = (await newPair()).cert
			.split("-----")
			.filter((part) => part.trim());
		const page = await open(`${path}/domains/${id}`);
		const metadata = page.getByLabel("Metadata of the provider");
		await metadata.fill("https://127.0.0.1:9/metadata");
		await button(page, "Save sign-in settings").click();
		await page.getByText("127.0.0.1:9").first().waitFor();
		await metadata.fill(
			`<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://id.example.com"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://id.example.com/sso"/></IDPSSODescriptor></EntityDescriptor>`,
		);
		await button(page, "Save sign-in settings").click();
		await page.getByText("The sign-in settings are saved.").waitFor();
		const textIn = (label: string) => page.getByLabel(label).inputValue();
		await expect.poll(() => textIn("Entity ID of the provider")).toBe("https://id.example.com");
		expect(await textIn("Sign-in URL of the provider")).toBe("https://id.example.com/sso");
		expect(await textIn("Certificate of the provider")).toContain("BEGIN CERTIFICATE");
		expect(await metadata.inputValue()).toBe("");
		await checkLooks(page, "sign-on-metadata");
	});

	test("an admin unlinks the account of a member at the provider", async () => {
		const { domain, id, path } = await withProvider(inject("console").provider, true);
		const ada = await open("/console/sign_in", { key: "" });
		await ada.evaluate(`location.assign("/sso/oidc/${id}/start")`);
		await signInAt(ada, `ada@${domain}`);
		await ada.waitForURL(`**${path}*`);
		const page = await open(`${path}/members`);
		await button(page, "Actions for Ada Example").click();
		await button(page, "Sign-in accounts of Ada Example").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText(`ada@${domain}`).waitFor();
		await checkLooks(page, "sign-on-accounts");
		await button(page, "Unlink OpenID Connect").click();
		await button(page, "Unlink").click();
		await dialog.getByText("None.").waitFor();
	});
});
