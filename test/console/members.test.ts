import { expect, test } from "vitest";
import { checkLooks, inBrowser, newOrganization } from "./support/browser.ts";

inBrowser("members", (open) => {
	test("shows who is a member, and filters by the URL", async () => {
		const { path } = await newOrganization();
		const page = await open(`${path}/members`);
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		await checkLooks(page, "members");
		await page.getByRole("searchbox", { name: "Search members" }).fill("nobody");
		await page.getByText("No member's name or address contains “nobody”.").waitFor();
		expect(page.url()).toMatch(/\?search=nobody$/);
	});
});
