import type { Page, Request } from "playwright-core";
import type { Tenantry } from "tenantry-client";
import { expect, test } from "vitest";
import {
	button,
	checkLooks,
	hold,
	inBrowser,
	newMember,
	newOrganization,
	requestsOf,
} from "./support/browser.ts";

const NPM = "https://www.npmjs.com/package";

/** A new organization, where the plugin that greets is installed. */
async function withPlugin() {
	const home = await newOrganization();
	const { client, at } = home;
	const plugin = await client.pipelineDestinations.create(at, { url: `${NPM}/greeting` });
	return { ...home, plugin };
}

/** A plugin that is written in place. */
async function written(client: Tenantry, organization: string, name: string, source: string) {
	const plugin = await client.pipelineDestinations.create({ organization }, { name });
	await client.pipelineDestinations.updateSource(
		{ organization, id: plugin.id },
		{ "index.ts": source },
	);
	return plugin;
}

/** Records what screen readers read out of the state of a file: each change of what is there. */
const RECORD_STATUS = `{
	const status = document.querySelector('.editor [role="status"]');
	globalThis.recorded = [];
	new MutationObserver(() => recorded.push(status.textContent)).observe(status, {
		childList: true,
		characterData: true,
		subtree: true,
	});
}`;

const namesIn = (page: Page) => page.getByRole("listitem").locator("strong").allTextContents();

inBrowser("plugins", (open) => {
	test("a URL without a plugin is rejected at its field, and a started job is in the activity", async () => {
		const { client, project, path } = await newOrganization();
		const page = await open(`${path}/plugins/install`);
		await button(page, "Install GeoIP").waitFor();
		const address = page.getByRole("textbox", { name: "URL" });
		await address.fill(`${NPM}/absent`);
		await button(page, "Install").click();
		await page.getByText(/Could not|not found/i).waitFor();
		await expect.poll(() => address.getAttribute("aria-invalid")).toBe("true");
		await address.fill(`${NPM}/greeting`);
		await button(page, "Install").click();
		await page.getByRole("link", { name: "Set up in a project" }).click();
		await page.getByLabel("Access token").fill("s3cr3t");
		await button(page, "Set up").click();
		await page.getByLabel("Name").fill("Ann");
		await button(page, "Start job").click();
		await page.getByRole("log").getByText("The job greet is done.").waitFor();
		await checkLooks(page, "plugins-log");
		await page.goto(page.url().replace(/log$/, "log?type=errors"));
		await page.getByText("Change or remove the filters.").waitFor();
		await page.getByRole("link", { name: "Activity", exact: true }).last().click();
		await page.getByRole("cell", { name: "Plugin job started greet" }).waitFor();
		expect((await client.pluginConfigs.list({ project: project.id })).count).toBe(1);
	});

	test("the configs of all projects are on one page, and can be filtered", async () => {
		const { client, organization, project, path, plugin } = await withPlugin();
		const other = await client.projects.create({ name: "Shop", organization: organization.id });
		for (const [of, name] of [
			[project, "Here"],
			[other, "There"],
		] as const)
			await client.pluginConfigs.create(
				{ project: of.id },
				{ plugin: plugin.id, order: 1, enabled: true, name, config: { greeting: "Hi" } },
			);
		const page = await open(`${path}/plugin_configs`);
		const there = page.getByRole("region", { name: "Shop: Enabled, in order" });
		await there.getByRole("link", { name: "There", exact: true }).waitFor();
		const here = page.getByRole("link", { name: "Here", exact: true });
		const requests = await requestsOf(page, () => here.waitFor());
		expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(4);
		// A project without configs isn't named.
		await client.projects.create({ name: "Empty", organization: organization.id });
		await page.reload();
		await here.waitFor();
		expect(await page.getByRole("main").getByText("Empty:").count()).toBe(0);
		await page.getByLabel("Search plugin configs").fill("there");
		await here.waitFor({ state: "detached" });
		expect(await there.count()).toBe(1);
		await page.getByLabel("Project").selectOption("Empty");
		await page.getByText("Change or remove the filters.").waitFor();
		await page.getByLabel("Search plugin configs").fill("");
		await page.getByText("No plugins in Empty yet").waitFor();
	});

	test("a hidden config is restored on its page; a family lists what is unused, and its activity", async () => {
		const { client, project, path, plugin } = await withPlugin();
		const { id } = await client.pluginConfigs.create(
			{ project: project.id },
			{ plugin: plugin.id, order: 1, enabled: true, config: { greeting: "Hi" } },
		);
		const config = () => client.pluginConfigs.get({ project: project.id, id });
		const page = await open(`${path}/plugin_configs/${project.id}/${id}`);
		await button(page, "Hide").click();
		await page.getByText("This config is disabled and hidden from lists.").waitFor();
		expect(await config()).toMatchObject({ deleted: true, enabled: false });
		await checkLooks(page, "plugins-config-hidden");

		await page.goto(new URL(`${path}/plugins?family=pipeline_destinations`, page.url()).href);
		await page.getByLabel("Use", { exact: true }).selectOption("Without an enabled config");
		await page.getByRole("link", { name: "Greeting" }).waitFor();
		await page.getByRole("link", { name: "Activity of all destinations" }).click();
		await page.getByRole("cell", { name: "Plugin installed Greeting" }).waitFor();

		await page.goto(new URL(`${path}/plugin_configs/${project.id}/${id}`, page.url()).href);
		await button(page, "Restore config").click();
		await page.getByText("is restored. It stays disabled until you enable it.").waitFor();
		await button(page, "Hide").waitFor();
		expect(await config()).toMatchObject({ deleted: false, enabled: false });
		await client.pluginConfigs.update({ project: project.id, id }, { enabled: true });
		await page.goto(
			new URL(`${path}/plugins?family=pipeline_destinations&unused=true`, page.url()).href,
		);
		await page.getByText("All of them have an enabled config.").waitFor();
	});

	test("a saved secret stays unless it is replaced or removed, and two administrators see each other's changes", async () => {
		const { client, project, path, plugin } = await withPlugin();
		const config = await client.pluginConfigs.create(
			{ project: project.id },
			{ plugin: plugin.id, order: 1, config: { greeting: "Hi", token: "s3cr3t", other: 1 } },
		);
		const page = await open(`${path}/plugin_configs/${project.id}/${config.id}`);
		await page.getByText("A value is saved").waitFor();
		await button(page, "Replace").press("Enter");
		await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("password");
		await page.reload();
		await page.getByText("A value is saved").waitFor();
		const settings = async () =>
			JSON.parse((await client.pluginConfigs.get({ project: project.id, id: config.id })).config);

		await page.getByLabel("Extra").fill("{");
		await button(page, "Save").click();
		await page.getByText("This isn't valid JSON.").waitFor();
		await page.getByLabel("Extra").fill("");
		await page.getByRole("textbox", { name: "Greeting" }).fill("Hello");
		await button(page, "Save").click();
		await page.getByText("Greeting is saved.").waitFor();
		expect(await settings()).toEqual({
			greeting: "Hello",
			token: expect.stringContaining("SECRET"),
			other: 1,
		});

		await page.getByRole("textbox", { name: "Greeting" }).fill("Mine");
		await page.getByText("Remove the saved value").click();
		await client.pluginConfigs.update(
			{ project: project.id, id: config.id },
			{ config: { greeting: "Theirs", token: null } },
		);
		await button(page, "Save").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("Theirs").waitFor();
		await checkLooks(page, "plugins-conflict");
		await button(dialog, "Save your version").click();
		await page.getByText("A value is saved").waitFor({ state: "detached" });
		expect(await settings()).toMatchObject({ greeting: "Mine", token: "" });

		// What is saved right after the switch still has the condition that nobody changed it.
		const answer = await hold(page, `**/plugin_configs/${config.id}`, "GET");
		const isOf = (request: Request, method: string) =>
			request.method() === method && request.url().endsWith(`/plugin_configs/${config.id}`);
		const reading = page.waitForRequest((request) => isOf(request, "GET"));
		await page.getByRole("switch").click();
		await reading;
		await page.getByRole("textbox", { name: "Greeting" }).fill("Again");
		const saving = page.waitForRequest((request) => isOf(request, "PATCH"));
		await button(page, "Save").click();
		expect((await saving).headers()).toHaveProperty("if-match");
		answer();
		await expect.poll(async () => (await settings()).greeting).toBe("Again");
		await button(page, "Remove").click();
		await checkLooks(page, "plugins-config-remove");
		await button(page, "Remove from project").click();
		await page.getByText("Greeting is removed from the project.").waitFor();
		await button(page, "Undo").click();
		await page.getByText("Greeting is restored.").waitFor();
		await button(page, "Remove").waitFor();
		expect((await settings()).greeting).toBe("Again");
	});

	test("enabled plugins are put in order by dragging and by keyboard, and go back if that can't be saved", async () => {
		const { client, project, path, plugin } = await withPlugin();
		for (const [i, name] of ["First", "Second", "Third"].entries())
			await client.pluginConfigs.create(
				{ project: project.id },
				{ plugin: plugin.id, order: i, name, enabled: true, config: { greeting: "Hi" } },
			);
		await client.pluginConfigs.create(
			{ project: project.id },
			{ plugin: plugin.id, order: 0, name: "Off" },
		);
		const saved = async () =>
			(await client.pluginConfigs.list({ project: project.id })).results
				.filter(({ enabled }) => enabled)
				.map(({ name }) => name);
		const page = await open(`${path}/plugin_configs?project=${project.id}`);
		await button(page, "Move Third up").focus();
		await checkLooks(page, "plugins-configs");

		const rearranged = () =>
			page.waitForResponse((response) => response.url().includes("rearrange"));
		let done = rearranged();
		await page.keyboard.press("Enter");
		await page.getByText("Third is now 2 of 3.").waitFor({ state: "attached" });
		await done;
		expect(await saved()).toEqual(["First", "Third", "Second"]);
		done = rearranged();
		await page.keyboard.press("Enter");
		await done;
		expect(await saved()).toEqual(["Third", "First", "Second"]);

		const grips = page.getByTitle("Drag to move");
		const rows = page.getByRole("list").filter({ has: grips }).getByRole("listitem");
		const end = await rows.nth(2).boundingBox();
		done = rearranged();
		await grips.first().hover();
		await page.mouse.down();
		await page.mouse.move(200, (end?.y ?? 0) + (end?.height ?? 0) - 2, { steps: 4 });
		await page.mouse.up();
		await done;
		expect(await saved()).toEqual(["First", "Second", "Third"]);
		await expect.poll(() => namesIn(page)).toEqual(["First", "Second", "Third", "Off"]);

		await page.route("**/rearrange", (route) =>
			route.fulfill({
				status: 403,
				json: { type: "x", code: "y", detail: "Not now.", attr: null },
			}),
		);
		await button(page, "Move First down").click();
		await page.getByText("Not now.").waitFor();
		await expect.poll(() => namesIn(page)).toEqual(["First", "Second", "Third", "Off"]);
		expect(await saved()).toEqual(["First", "Second", "Third"]);

		await page.unroute("**/rearrange");
		const { results } = await client.pluginConfigs.list({ project: project.id });
		const idOf = (name: string) => results.find((config) => config.name === name)?.id ?? 0;
		const orders = { [idOf("Third")]: 1, [idOf("First")]: 2, [idOf("Second")]: 3 };
		await client.pluginConfigs.rearrange({ project: project.id }, { orders });
		await button(page, "Move First down").click();
		await page.getByText("Someone else has changed the order.").waitFor();
		await expect.poll(() => namesIn(page)).toEqual(["Third", "First", "Second", "Off"]);
		expect(await saved()).toEqual(["Third", "First", "Second"]);

		await page.getByRole("switch", { name: "Off is enabled" }).click();
		await page.getByText("Set “Greeting” first, then enable Off.").waitFor();
		const answer = await hold(page, `**/plugin_configs/${idOf("Third")}`);
		await page.getByRole("switch", { name: "Third is enabled" }).click();
		await page.getByRole("switch", { name: "Second is enabled" }).click();
		await page.getByText("Second is disabled.").waitFor();
		answer();
		await page.getByText("Third is disabled.").waitFor();
		await expect.poll(() => page.getByRole("switch", { checked: true }).count()).toBe(1);
		expect(await saved()).toEqual(["First"]);
		await page.getByLabel("State").selectOption("disabled");
		await page.getByRole("link", { name: "First" }).waitFor({ state: "detached" });
		await expect.poll(() => page.url()).toContain("state=disabled");
	});

	test("source is written, saved and run, and isn't overwritten unseen", async () => {
		const { client, organization, path } = await newOrganization();
		const page = await open(`${path}/plugins/install`);
		await page.getByLabel("Name", { exact: true }).fill("Mine");
		await button(page, "Create plugin").click();
		const editor = page.getByRole("textbox", { name: "index.ts" });
		await page.locator(".token.keyword").first().waitFor();
		/** Whether the tab asks before it is closed. */
		const asks = () =>
			page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))");
		expect(await asks()).toBe(false);
		await editor.focus();
		await page.keyboard.press("ControlOrMeta+End");
		await page.keyboard.insertText("export const added = 1;\n");
		await expect.poll(asks).toBe(true);
		await checkLooks(page, "plugins-source");
		await button(page, "Discard changes").click();
		await checkLooks(page, "plugins-source-discard");
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
		await button(page, "Add file").click();
		await checkLooks(page, "plugins-source-add");
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
		await editor.focus();
		// Escape leaves the editor, so that Tab goes on to the next control.
		await page.keyboard.press("Escape");
		await page.keyboard.press("Tab");
		await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("BUTTON");
		await button(page, "Save").click();
		await page.getByText("All changes are saved.").waitFor();
		const [plugin] = (await client.plugins.list({ organization: organization.id })).results;
		const of = { organization: organization.id, id: plugin?.id ?? 0 };
		const source = async () => (await client.pipelineDestinations.getSource(of)).files;
		expect((await source())["index.ts"]).toContain("added");
		expect(plugin?.capabilities).toMatchObject({ methods: ["onEvent"], jobs: ["hello"] });

		await editor.focus();
		await page.keyboard.press("ControlOrMeta+End");
		await page.keyboard.insertText("const = 5;\n");
		await page.locator('.editor [role="status"]').waitFor({ state: "attached" });
		await page.evaluate(RECORD_STATUS);
		await button(page, "Save").click();
		await page.getByText("The source is saved, but doesn't compile: index.ts.").waitFor();
		await button(page, /^index\.ts.*doesn't compile$/).waitFor();
		await checkLooks(page, "plugins-source-broken");
		expect(await page.evaluate<string[]>("recorded")).toEqual([
			expect.stringMatching(/^This file doesn't compile\. .+\(\d+:\d+\)$/),
		]);
		await button(page, /^Go to line \d+$/).click();
		expect(await page.evaluate("getSelection().toString()")).toBe("const = 5;");
		await page.keyboard.insertText("const five = 5;");
		await page.getByText("This file doesn't compile.").waitFor({ state: "detached" });
		await button(page, "Save").click();
		await page.getByText("All changes are saved.").waitFor();
		expect((await client.pipelineDestinations.getSource(of)).errors).toEqual({});

		await client.pipelineDestinations.updateSource(of, {
			"index.ts": "const theirs = 1;\n",
			"site.ts": "// On\r\n// Windows\r\nconst = 6;\r\n",
		});
		await editor.focus();
		await page.keyboard.insertText("// mine\n");
		await button(page, "Save").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("const theirs = 1;").waitFor();
		await checkLooks(page, "plugins-source-conflict");
		expect((await source())["index.ts"]).toContain("theirs");
		await button(dialog, "Keep saved version").click();
		await page.getByText("All changes are saved.").waitFor();
		await expect.poll(() => editor.inputValue()).toContain("theirs");
		expect(await page.getByText("doesn't compile: site.ts").count()).toBe(0);
		await button(page, /^site\.ts/).click();
		await button(page, "Go to line 3").click();
		expect(await page.evaluate("getSelection().toString()")).toBe("const = 6;");
		// The activity names files as their author did.
		const id = page.url().split("/").at(-2);
		const log = await open(`/console/${organization.id}/plugins/${id}/activity`);
		await log.locator(".change").getByText("index.ts", { exact: true }).first().waitFor();
	});

	test("a plugin is checked for updates, and removed once its name is typed", async () => {
		const { client, organization, at, path, plugin } = await withPlugin();
		const page = await open(`${path}/plugins/${plugin.id}`);
		await button(page, "Check for updates").click();
		await page.getByText("The newest version is installed.").waitFor();
		await client.pipelineDestinations.update({ ...at, ...plugin }, { tag: "1.0.0" });
		await button(page, "Check for updates").click();
		await page.getByText("Version 1.1.0 is available.").waitFor();
		const answer = await hold(page, "**/check_for_updates");
		await button(page, "Check for updates").click();
		const upgrade = button(page, "Upgrade");
		await expect.poll(() => upgrade.getAttribute("aria-disabled")).toBe("true");
		answer();
		await upgrade.click();
		await checkLooks(page, "plugins-upgrade");
		await button(page, "Upgrade plugin").click();
		await page.getByText("Greeting is upgraded to 1.1.0.").waitFor();
		await page.getByRole("link", { name: "Activity", exact: true }).last().click();
		const added = page.getByRole("cell", { name: "Plugin installed" });
		await added.waitFor();
		await page.getByTitle("Show only changes by this person").first().click();
		await button(page, /^Remove the filter By .+@/).waitFor();
		await added.waitFor();
		await page.getByLabel("Action").selectOption("upgraded");
		await added.waitFor({ state: "detached" });
		await page.getByRole("cell", { name: "Plugin upgraded" }).waitFor();
		await page.getByRole("link", { name: "Overview" }).last().click();
		await button(page, "Remove plugin").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("textbox").fill("Greeting");
		await checkLooks(page, "plugins-remove");
		await button(dialog, "Remove plugin").click();
		await page.getByText("No plugins yet").waitFor();
		expect((await client.plugins.list({ organization: organization.id })).count).toBe(0);
		await button(page, "Undo").click();
		await page.getByText("Greeting is restored.").waitFor();
		await button(page, "Remove plugin").waitFor();
		expect((await client.plugins.list({ organization: organization.id })).count).toBe(1);
	});

	test("a plugin whose address names a version moves to the newest one", async () => {
		const { client, organization, at, path } = await newOrganization();
		const url = `${NPM}/greeting/v/1.0.0`;
		const { id } = await client.pipelineDestinations.create(at, { url });
		const page = await open(`${path}/plugins/${id}`);
		await page.getByText("1.1.0 available").waitFor();
		await button(page, "Upgrade").click();
		await button(page, "Upgrade plugin").click();
		await page.getByText("Greeting is upgraded to 1.1.0.").waitFor();
		await page.getByRole("link", { name: "npm: greeting/v/1.1.0" }).waitFor();
		const upgraded = await client.pipelineDestinations.get({
			organization: organization.id,
			id,
		});
		expect(upgraded).toMatchObject({ tag: "1.1.0", url: `${NPM}/greeting/v/1.1.0` });
	});

	test("a member finds no buttons for what is an admin's", async () => {
		const { client, organization, project, path, plugin } = await withPlugin();
		const own = await written(client, organization.id, "Own", "export const jobs = {};");
		await client.pipelineDestinations.update(
			{ organization: organization.id, id: own.id },
			{ config_schema: [{ key: "token", secret: true }] },
		);
		const key = await newMember(organization.id);
		const page = await open(`${path}/plugins/${own.id}/source`, { key });
		await page.getByText("This plugin runs with secrets, so only admins can change it.").waitFor();
		await page.locator(".token").first().waitFor();
		expect(await button(page, "Save").count()).toBe(0);
		await page.goto(page.url().replace(/plugins.*/, `plugins/${plugin.id}`));
		await button(page, "Check for updates").waitFor();
		expect(await button(page, "Make global").count()).toBe(0);
		await page.goto(page.url().replace(/plugins.*/, `plugin_configs?project=${project.id}`));
		await page.getByText(/No plugins in .* yet/).waitFor();
	});
});
