import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { allow } from "./support/app.ts";
import {
	checkLooks,
	clientOf,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
} from "./support/browser.ts";

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

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
		const ends_at = new Date(Date.now() + 7 * 86_400_000).toISOString();
		const other = await allow(key, organization.id);
		const token = await allow(key, organization.id, { ends_at });
		const page = await open("/console/account", { key });
		const apps = page.getByRole("table", { name: "Apps" });
		await apps.getByText("calls itself “Notes”").first().waitFor();
		await apps.getByText("Changes webhooks · reads projects").first().waitFor();
		await apps.getByText("In Harbour Ltd").first().waitFor();
		await checkLooks(page, "own-apps");
		expect(await works(token)).toBe(true);
		await button(page, "End access").first().click();
		await page.getByRole("dialog", { name: "End the access of “Notes”?" }).waitFor();
		await checkLooks(page, "own-apps-end");
		await page.getByRole("dialog").getByRole("button", { name: "End access" }).click();
		await page.getByText("The access of “Notes” is ended.").waitFor();
		await expect.poll(() => button(page, "End access").count()).toBe(1);
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
		await checkLooks(page, "apps");
		await row.getByRole("button", { name: "End access" }).click();
		await page.getByText("can no longer do anything for Robin").waitFor();
		await page.getByRole("dialog").getByRole("button", { name: "End access" }).click();
		await page.getByText("No apps yet").waitFor();
		expect(await works(token)).toBe(false);
		await page.goto(`${inject("console").url}${path}/activity`);
		await page.getByText("Access of an app ended").first().waitFor();
	});
});
