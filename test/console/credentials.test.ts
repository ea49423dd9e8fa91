import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
	button,
	checkLooks,
	clientOf,
	inBrowser,
	newMember,
	newOrganization,
} from "./support/browser.ts";
import { inDays } from "./support/world.ts";

inBrowser("the credentials of an organization", (open) => {
	test("are listed with their owners, filtered, and saved as a file", async () => {
		const { organization, path } = await newOrganization();
		const client = clientOf();
		const at = { organization: organization.id };
		const account = await client.serviceAccounts.create(at, { name: "Deployments" });
		const key = await client.serviceAccountKeys.create(
			{ ...at, account: account.id },
			{ label: "Nightly", scopes: ["project:read"], expires_at: inDays(3) },
		);
		await client.webhooks.create(at, { url: "http://127.0.0.1:9/secret", description: "" });
		const member = await newMember(organization.id, 1);
		const page = await open(`${path}/credentials`);
		const rows = page.getByRole("table", { name: "Credentials" }).getByRole("row");
		await page.getByRole("cell", { name: "127.0.0.1:9 Webhook secret" }).waitFor();
		expect(await page.getByText("secret", { exact: true }).count()).toBe(0);
		await checkLooks(page, "credentials");
		await page.getByLabel("Kind").selectOption("Service account keys");
		await expect.poll(() => rows.count()).toBe(2);
		await expect.poll(() => rows.nth(1).innerText()).toContain("Reads projects");
		await page.getByLabel("Use").selectOption("End within 30 days");
		await page.getByRole("searchbox", { name: "Search credentials" }).fill("deploy");
		await expect.poll(() => new URL(page.url()).search).toContain("search=deploy");
		await expect.poll(() => rows.count()).toBe(2);
		await button(page, "Download…").click();
		const dialog = page.getByRole("dialog", { name: "Download" });
		await dialog.getByText("1 credential, filtered").waitFor();
		const saving = page.waitForEvent("download");
		await page.evaluate("delete window.showSaveFilePicker");
		await button(dialog, "Download").click();
		const file = await readFile(await (await saving).path(), "utf8");
		expect(file.trim().split("\r\n")).toHaveLength(2);
		expect(file).toContain("Nightly");
		expect(file).not.toContain(key.value);
		await page.getByLabel("Use").selectOption("Not used for 90 days");
		await page.getByText("No credential matches").waitFor();
		await page.getByLabel("Use").selectOption("Used or not");
		await page.getByRole("link", { name: "Nightly" }).click();
		await page.getByRole("heading", { name: "Nightly" }).waitFor();
		const other = await open(`${path}/credentials`, { key: member });
		await other.getByText("Only admins can see this").waitFor();
	});
});
