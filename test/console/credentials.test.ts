import { readFile } from "node:fs/promises";
import { expect, inject, test } from "vitest";
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

	test("other lists are sorted by their columns, and saved in that order", async () => {
		const { client, at, path } = await newOrganization();
		for (const name of ["Zebra", "=apple", "Ähre"])
			await client.organizationProjects.create(at, { name });
		const page = await open(`${path}/projects`);
		const names = () =>
			page.getByRole("table", { name: "Projects" }).getByRole("link").allInnerTexts();
		await page.getByRole("link", { name: "Zebra" }).waitFor();
		const title = page.getByRole("columnheader", { name: "Name" });
		await title.getByRole("button").click();
		await expect.poll(names).toEqual(["=apple", "Ähre", "Default project", "Zebra"]);
		expect(await title.getAttribute("aria-sort")).toBe("ascending");
		await title.getByRole("button").click();
		await expect.poll(names).toEqual(["Zebra", "Default project", "Ähre", "=apple"]);
		await checkLooks(page, "projects-sorted");
		const saving = page.waitForEvent("download");
		await button(page, "Save as CSV").click();
		const [head, ...lines] = (await readFile(await (await saving).path(), "utf8")).split("\r\n");
		expect(head).toBe("\ufeffName,Visibility,Time zone,Created,ID");
		expect(lines[0]).toMatch(/^Zebra,Everyone,/);
		expect(lines[3]).toMatch(/^'=apple,/);
		await title.getByRole("button").click();
		await expect.poll(() => new URL(page.url()).search).toBe("");
	});

	test("each list of an organization is sorted, filtered and saved", async () => {
		const { client, at, project, path } = await newOrganization();
		for (const name of ["zoe", "ada"])
			await client.invites.create(at, { target_email: newAddress(name), send_email: false });
		const config = { bucket_name: "logs", region: "eu-north-1", prefix: "" };
		const key = { aws_access_key_id: "id", aws_secret_access_key: "secret" };
		for (const name of ["Zulu", "Alpha"]) {
			const destination = { type: "S3" as const, config: { ...config, ...key, prefix: name } };
			await client.auditStreams.create(at, { name, destination });
			await client.oauthClients.create(at, { name, redirect_uris: ["https://a.example/callback"] });
			const plugin = await client.pipelineDestinations.create(at, { name });
			await client.pluginConfigs.create({ project: project.id }, { plugin: plugin.id, order: 1 });
		}
		const page = await open(`${path}/members`);
		async function lists(at: string, label: string, title: string, first: string) {
			await page.goto(`${inject("console").url}${path}/${at}`);
			const table = page.getByRole("table", { name: label, exact: true });
			const heading = table.getByRole("columnheader", { name: title, exact: true });
			const row = table.getByRole("row").nth(1);
			await heading.getByRole("button").click();
			await expect.poll(() => row.innerText(), { message: at }).toContain(first);
			const list = page.getByRole("navigation", { name: `Pages of ${label}` });
			const saving = page.waitForEvent("download");
			await button(list, "Save as CSV").click();
			const lines = (await readFile(await (await saving).path(), "utf8")).split("\r\n");
			expect(lines[1], at).toContain(first);
		}
		await lists("members", "Members", "Last active", "admin@example.com");
		// On paper, there are no menu, filters and buttons.
		await page.emulateMedia({ media: "print" });
		const print = page.getByRole("table", { name: "Members", exact: true });
		expect(await print.isVisible()).toBe(true);
		for (const rest of [".side", ".filters", ".pager"])
			expect(await page.locator(rest).first().isVisible(), rest).toBe(false);
		await page.emulateMedia({ media: "screen" });
		await lists("members/invites", "Invites", "Invited", "ada");
		await lists("members/roles", "Roles", "Name", "Auditor");
		await lists("plugins", "Plugins", "Plugin", "Alpha");
		await lists("plugin_configs?view=table", "Plugin configs", "Plugin", "Alpha");
		await checkLooks(page, "configs-table");
		await page.getByLabel("State").selectOption("Enabled");
		await page.getByText("No plugin configs found").waitFor();
		await lists("audit_streams", "Audit streams", "Name", "Alpha");
		await lists("apps", "Registered apps", "App", "Alpha");
		await page.goto(`${inject("console").url}${path}/members/invites`);
		await page.getByLabel("State").selectOption("Expired");
		await page.getByText("No invites found").waitFor();
		await page.getByLabel("State").selectOption("Open");
		await page.getByLabel("Level").selectOption("Member");
		await expect
			.poll(() => page.getByRole("table", { name: "Invites" }).getByRole("row").count())
			.toBe(3);
	});

	test("members who weren't active are found by admins", async () => {
		const { organization, path } = await newOrganization();
		const key = await newMember(organization.id, 1);
		const page = await open(`${path}/members`);
		await page.getByRole("row", { name: "Robin" }).waitFor();
		await page.getByRole("columnheader", { name: "Last active" }).waitFor();
		await checkLooks(page, "members-active");
		const seen = await open(`${path}/members`, { key });
		await seen.getByRole("row", { name: "Robin" }).waitFor();
		expect(await seen.getByRole("columnheader", { name: "Last active" }).count()).toBe(0);
		await page.getByLabel("Activity").selectOption("Not active for 90 days");
		await page.getByText("No members found").waitFor();
		await page.getByLabel("Activity").selectOption("Active or not");
		await page.getByRole("row", { name: "Robin" }).waitFor();
		const title = page.getByRole("columnheader", { name: "Joined" });
		await title.getByRole("button").click();
		await expect.poll(() => title.getAttribute("aria-sort")).toBe("ascending");
	});
});
