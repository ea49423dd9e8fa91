import { expect, test } from "vitest";
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

const EXPORT = {
	name: "Nightly",
	destination: { type: "NoOp", config: {} },
	interval: "day",
} as const;

/** An organization with an export and a member of level 1. */
async function withMember() {
	const home = await newOrganization();
	const email = newAddress("eve");
	const key = await newMember(home.organization.id, 1, email);
	const { uuid } = await clientOf(key).users.get({ user: "@me" });
	const exported = await home.client.batchExports.create(home.at, EXPORT);
	return { ...home, email, key, uuid, exported };
}

inBrowser("access", (open) => {
	test("a role is made, somebody is put in, and sees what they may, and why", async () => {
		const { client, at, path, email, key, uuid, exported } = await withMember();
		const page = await open(`${path}/members/roles`);
		await page.getByText("Auditor").waitFor();
		await checkLooks(page, "access-roles");
		await button(page, "New role").click();
		await page.getByLabel("Name").fill("Data team");
		await button(page, "Create role").click();
		await page.getByRole("heading", { name: "Data team" }).waitFor();
		await button(page, "Add member").click();
		await page.getByLabel("Email address of a member").fill(email);
		await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click();
		await page.getByText("has the role Data team.").waitFor();
		await button(page, "Give access").click();
		await checkLooks(page, "access-give");
		await page.getByRole("dialog").getByRole("button", { name: "Give access" }).click();
		await page.getByText("The access is given.").waitFor();
		await page.getByText("All exports").waitFor();
		await checkLooks(page, "access-role");
		const { results } = await client.accessControls.list(at);
		expect(results).toMatchObject([
			{ resource: "batch_export", role: { name: "Data team" }, access_level: "viewer" },
		]);

		// At the member, and at the object.
		await page.goto(page.url().replace(/\/console\/.*/, `${path}/members/${uuid}/access`));
		await page.getByRole("cell", { name: "The role Data team" }).waitFor();
		await checkLooks(page, "access-member");
		await page.goto(page.url().replace(/\/console\/.*/, `${path}/batch_exports/${exported.id}`));
		await page.getByRole("link", { name: "Who can see this?" }).click();
		await page.getByRole("cell", { name: "The role Data team" }).waitFor();
		await page.getByRole("cell", { name: "Owner" }).waitFor();
		await checkLooks(page, "access-object");

		// Who may only view has no buttons that change something, and reads why.
		const theirs = await open(`${path}/batch_exports`, { key });
		await theirs.getByText("You may only view exports. Why: the role Data team.").waitFor();
		expect(await theirs.getByRole("link", { name: "New export" }).count()).toBe(0);
		await checkLooks(theirs, "access-viewer");
		await theirs.getByRole("link", { name: "Nightly" }).click();
		await theirs.getByText("You may only view this export.").waitFor();
		expect(await button(theirs, "Pause").count()).toBe(0);
		await theirs
			.getByRole("navigation", { name: "About this export" })
			.getByText("Settings")
			.click();
		const name = theirs.getByRole("textbox", { name: "Name", exact: true });
		await name.waitFor();
		expect(await name.isDisabled()).toBe(true);
		expect(await button(theirs, "Save").count()).toBe(0);
		await checkLooks(theirs, "access-viewer-settings");
		await theirs.getByRole("link", { name: "Projects" }).click();
		await theirs.getByRole("heading", { name: "Projects" }).waitFor();
		expect(await theirs.getByRole("note").count()).toBe(0);

		const tab = page.getByRole("button", { name: "Take away" });
		await page.goto(page.url().replace(/\/console\/.*/, `${path}/members/roles`));
		await page.getByRole("link", { name: "Data team" }).click();
		await tab.last().click();
		await page.getByRole("dialog").getByRole("button", { name: "Take away" }).click();
		await page.getByText("The access is taken away.").waitFor();
		expect((await client.accessControls.list(at)).count).toBe(0);
	});

	test("a session with a key that can only read has no buttons that change something", async () => {
		const { client, path } = await withMember();
		const { value } = await client.personalApiKeys.create({
			label: "Reader",
			scopes: ["organization:read", "batch_export:read", "personal_api_key:read", "user:read"],
			// Organizations of other tests require it.
			expires_at: inDays(3),
		});
		const page = await open(`${path}/batch_exports`, { key: value ?? "" });
		await page.getByText("the key that you signed in with can't change it").waitFor();
		expect(await page.getByRole("link", { name: "New export" }).count()).toBe(0);
	});

	test("the first steps let members only view exports with one click", async () => {
		const { client, at, path } = await withMember();
		const page = await open(path);
		await button(page, "Members may only view exports").click();
		await page.getByText("Members may now only view exports.").waitFor();
		await checkLooks(page, "access-first-steps");
		expect((await client.accessControls.list(at)).results).toMatchObject([
			{ resource: "batch_export", role: null, member: null, access_level: "viewer" },
		]);
	});

	test("an access review has everybody with their keys, as a page and as a file", async () => {
		const { path, email, organization, client } = await withMember();
		await client.serviceAccounts.create({ organization: organization.id }, { name: "Deploy" });
		const page = await open(`${path}/members/review`);
		await page.getByText(email).waitFor();
		await page.getByText("Deploy").waitFor();
		expect(await page.locator("main").innerText()).not.toContain(".invalid");
		await checkLooks(page, "access-review");
		await page.evaluate("delete window.showSaveFilePicker");
		await button(page, "Download…").click();
		const downloading = page.waitForEvent("download");
		await page.getByRole("dialog").getByRole("button", { name: "Download" }).click();
		expect((await downloading).suggestedFilename()).toMatch(/^access-review-.*\.csv$/);
	});

	test("activity is filtered by somebody who has left, by the action alone, and by address", async () => {
		const { client, at, path, key, uuid } = await withMember();
		const { id } = await clientOf(key).batchExports.create(at, { ...EXPORT, name: "Made" });
		await client.batchExports.delete({ ...at, id });
		await client.members.remove({ ...at, user: uuid });
		const page = await open(`${path}/activity`);
		await page.getByRole("combobox", { name: "Person" }).fill("robin");
		await page.getByRole("combobox", { name: "Person" }).press("Enter");
		await button(page, "Remove the filter By robin").waitFor();
		await button(page, "Made").first().waitFor();
		await page.getByRole("link", { name: /^eve-/ }).first().waitFor();
		await checkLooks(page, "access-activity");
		await button(page, "Remove the filter By robin").click();
		await page.getByLabel("Action").selectOption("deleted");
		await page.getByText("Member removed").waitFor();
		await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
		await page.getByLabel("Action").selectOption("");
		await page.getByLabel("IP address").fill("192.0.2.99");
		await page.getByText("No entries found").waitFor();
		await page.goto(page.url().replace(/\/console\/.*/, `${path}/members/${uuid}`));
		await page.getByText("Not a member any more").waitFor();
	});
});
