import { expect, inject, test } from "vitest";
import { allow } from "./support/app.ts";
import {
	button,
	checkLooks,
	clientOf,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
} from "./support/browser.ts";
import { inDays } from "./support/world.ts";

const works = (token: string) =>
	clientOf(token)
		.projects.list()
		.then(
			() => true,
			() => false,
		);

inBrowser("the apps that have access", (open) => {
	test("are on the page of the account, where the person ends them", async () => {
		const { organization } = await newOrganization("Harbour Ltd");
		const key = await newMember(organization.id);
		const other = await allow(key, organization.id);
		const token = await allow(key, organization.id, { ends_at: inDays(7) });
		const page = await open("/console/account", { key });
		const apps = page.getByRole("table", { name: "Apps" });
		await apps.getByText("calls itself “Notes”").first().waitFor();
		await apps.getByText("Changes webhooks · reads projects").first().waitFor();
		await apps.getByText("In Harbour Ltd").first().waitFor();
		expect(await works(token)).toBe(true);
		await button(page, "End access of Notes").first().click();
		await page.getByRole("dialog", { name: "End the access of “Notes”?" }).waitFor();
		await checkLooks(page, "own-apps-end");
		await page.getByRole("dialog").getByRole("button", { name: "End access" }).click();
		await page.getByText("The access of “Notes” is ended.").waitFor();
		await expect.poll(() => button(page, "End access of Notes").count()).toBe(1);
		expect([await works(token), await works(other)]).toEqual([false, true]);
	});

	test("are on a page of the organization, where admins end those of members", async () => {
		const { organization, path } = await newOrganization("Harbour Ltd");
		const email = newAddress("ada");
		const key = await newMember(organization.id, 1, email);
		const member = await open(`${path}/apps`, { key });
		await member.getByText("Only admins can see this").waitFor();
		const page = await open(`${path}/apps`);
		await page.getByText("No apps yet").waitFor();
		const token = await allow(key, organization.id);
		await page.reload();
		const row = page.getByRole("row", { name: email });
		await row.getByText("calls itself “Notes”").waitFor();
		await row.getByRole("button", { name: "End access" }).click();
		await page.getByText("can no longer do anything for Robin").waitFor();
		await page.getByRole("dialog").getByRole("button", { name: "End access" }).click();
		await page.getByText("No apps yet").waitFor();
		expect(await works(token)).toBe(false);
		await page.goto(`${inject("console").url}${path}/activity`);
		await page.getByText("Access of an app ended").first().waitFor();
		const owner = newAddress("olga");
		await allow(await newMember(organization.id, 15, owner), organization.id);
		await allow(key, organization.id);
		const admins = await open(`${path}/apps`, { key: await newMember(organization.id, 8) });
		const ofMember = admins.getByRole("row", { name: email });
		await ofMember.getByRole("button", { name: "End access" }).waitFor();
		const ofOwner = admins.getByRole("row", { name: owner });
		await ofOwner.getByText("calls itself “Notes”").waitFor();
		expect(await ofOwner.getByRole("button", { name: "End access" }).count()).toBe(0);
	});

	test("are registered, changed unless somebody else has done it, and deleted by admins", async () => {
		const { client, at, path } = await newOrganization("Harbour Ltd");
		const page = await open(`${path}/apps`);
		await button(page, "Register app").click();
		await page.getByLabel("Name").fill("Notes");
		await page.getByLabel("Redirect URIs").fill("javascript:alert(1)");
		await button(page, "Register app").last().click();
		await page.getByText("Enter an https URL").waitFor();
		await page
			.getByLabel("Redirect URIs")
			.fill("https://notes.example/callback\n\n http://127.0.0.1/callback");
		await checkLooks(page, "apps-register");
		await button(page, "Register app").last().click();
		await page.getByText("“Notes” is registered.").waitFor();
		const one = async () => (await client.oauthClients.list(at)).results[0];
		expect(await one()).toMatchObject({
			name: "Notes",
			redirect_uris: ["https://notes.example/callback", "http://127.0.0.1/callback"],
		});
		await button(page, "Actions for Notes").click();
		await button(page, "Change Notes").click();
		const dialog = page.getByRole("dialog", { name: "Change Notes" });
		await dialog.getByLabel("Redirect URIs").fill("https://notes.example/other");
		const { id = "" } = (await one()) ?? {};
		await client.oauthClients.update({ ...at, id }, { redirect_uris: ["https://notes.example/x"] });
		await dialog.getByRole("button", { name: "Save" }).click();
		await page.getByRole("dialog", { name: "Someone else changed this" }).waitFor();
		await button(page, "Save your version").click();
		await expect
			.poll(async () => (await one())?.redirect_uris)
			.toEqual(["https://notes.example/other"]);
		await page.getByText("https://notes.example/other").waitFor();
		await checkLooks(page, "apps-registered");
		await button(page, "Actions for Notes").click();
		await button(page, "Delete Notes").click();
		await button(page, "Delete app").click();
		await page.getByText("No registered apps").waitFor();
		expect(await one()).toBe(undefined);
	});

	test("can be limited to those on a list, which ends the access of others", async () => {
		const { client, organization, path } = await newOrganization("Harbour Ltd");
		const key = await newMember(organization.id);
		const token = await allow(key, organization.id);
		const seen = async () => (await clientOf(token).projects.list()).count;
		expect(await seen()).toBe(1);
		const page = await open(`${path}/apps`);
		await page.getByRole("radio", { name: "Only these" }).check();
		await page.getByLabel("Client IDs").fill("tenantry-cli\n");
		await checkLooks(page, "apps-allowed");
		await button(page, "Save").click();
		await page.getByText("The allowed apps are saved.").waitFor();
		const allowed = async () => (await client.organizations.get(organization)).allowed_apps;
		expect(await allowed()).toEqual(["tenantry-cli"]);
		expect(await seen()).toBe(0);
		await page.reload();
		expect(await page.getByLabel("Client IDs").inputValue()).toBe("tenantry-cli");
		await page.getByRole("radio", { name: "All apps" }).check();
		await button(page, "Save").click();
		await expect.poll(allowed).toBe(null);
		expect(await seen()).toBe(1);
	});
});
