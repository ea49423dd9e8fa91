import { expect, test } from "vitest";
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

const NOWHERE = { destination: { type: "NoOp", config: {} }, interval: "day" } as const;

/** An organization with an admin who has made things, and has an app, a key and a session. */
async function withAda() {
	const home = await newOrganization();
	const email = newAddress("ada");
	const key = await newMember(home.organization.id, 8, email, { isMailed: true });
	const ada = clientOf(key);
	const account = await ada.serviceAccounts.create(home.at, { name: "Builds" });
	for (const label of ["One", "Two"])
		await ada.serviceAccountKeys.create(
			{ ...home.at, account: account.id },
			{ label, scopes: ["project:read"] },
		);
	await ada.batchExports.create(home.at, { name: "Nightly", ...NOWHERE });
	await ada.personalApiKeys.create({ label: "Laptop", scopes: ["batch_export:write"] });
	await allow(key, home.organization.id);
	const { uuid } = await ada.users.get({ user: "@me" });
	return { ...home, email, ada, uuid };
}

inBrowser("the page of a member", (open) => {
	test("says what belongs to them, ends it, and proves after their removal what ended", async () => {
		const { client, at, path, email, ada } = await withAda();
		const page = await open(`${path}/members`);
		const requests: string[] = [];
		page.on("request", (request) => {
			const { pathname } = new URL(request.url());
			if (pathname.startsWith("/api/")) requests.push(pathname);
		});
		await page.getByRole("link", { name: "Robin" }).first().click();
		await page.getByRole("heading", { name: "Robin" }).waitFor();
		await page
			.getByText("Runs batch exports")
			.or(page.getByText("Changes batch exports"))
			.waitFor();
		await page.getByRole("link", { name: "Nightly" }).waitFor();
		expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(6);
		await checkLooks(page, "member");
		await button(page, "Revoke Laptop").click();
		await button(page, "Revoke key").click();
		await page.getByText("“Laptop” is revoked.").waitFor();
		expect((await ada.personalApiKeys.list()).results.map(({ label }) => label)).not.toContain(
			"Laptop",
		);
		await button(page, "End access of Notes").click();
		await button(page, "End access").click();
		await page.getByText("The access of Notes is ended.").waitFor();

		await button(page, "Remove").click();
		await page.getByText("Robin made 1 service account with 2 keys and 1 export.").waitFor();
		await checkLooks(page, "member-remove");
		await button(page, "Remove member").click();
		await page.getByText("Robin is no longer a member.").waitFor();
		await page.getByText("Not a member any more").waitFor();
		await page.getByRole("heading", { name: "What ended" }).waitFor();
		await page.getByText("Member removed").waitFor();
		await page.getByRole("heading", { name: "Left behind" }).waitFor();
		await page.getByRole("link", { name: "Nightly" }).waitFor();
		await checkLooks(page, "member-removed");
		expect((await client.members.list({ ...at, email })).count).toBe(0);

		await page.getByRole("link", { name: "Activity", exact: true }).last().click();
		await page.getByText("Nightly").first().waitFor();
		await page.getByLabel("Whose").selectOption("them");
		await page.getByText("Level").first().waitFor();
	});

	test("is for admins", async () => {
		const { organization, path, uuid } = await withAda();
		const key = await newMember(organization.id);
		const page = await open(`${path}/members/${uuid}`, { key });
		await page.getByText("Only admins can see this").waitFor();
		await page.getByRole("link", { name: "Members", exact: true }).first().click();
		await page.getByText("Robin").first().waitFor();
		expect(await page.locator("main td a").count()).toBe(0);
	});
});
