import type { Page, Request } from "playwright-core";
import type { Tenantry } from "tenantry-client";
import { expect, test } from "vitest";
import { checkLooks, inBrowser, newMember, newOrganization } from "./support/browser.ts";

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
	test("a plugin from npm is installed, set up and enabled, and its job's line appears in the log", async () => {
		const { client, organization, project, path } = await newOrganization();
		const page = await open(`${path}/plugins`);
		await page.getByText("No plugins yet").waitFor();
		await page.getByRole("link", { name: "plugin config", exact: true }).click();
		await page.getByText("A plugin config sets up a plugin in one project.").waitFor();
		await page.getByRole("main").getByRole("link", { name: "Plugins", exact: true }).click();
		await page.getByRole("link", { name: "Install plugin" }).click();
		await page.getByRole("button", { name: "Install GeoIP" }).waitFor();

		const address = page.getByRole("textbox", { name: "URL" });
		await address.fill(`${NPM}/absent`);
		await page.getByRole("button", { name: "Install", exact: true }).click();
		await page.getByText(/Could not|not found/i).waitFor();
		await expect.poll(() => address.getAttribute("aria-invalid")).toBe("true");
		await address.fill(`${NPM}/greeting`);
		await page.getByRole("button", { name: "Install", exact: true }).click();
		await page.getByRole("heading", { name: "Greeting", level: 1 }).waitFor();

		await page.getByRole("link", { name: "Set up in a project" }).click();
		await expect
			.poll(() => page.getByRole("textbox", { name: "Greeting" }).inputValue())
			.toBe("Hello");
		await page.getByRole("textbox", { name: "Greeting" }).fill("Good morning");
		await page.getByLabel("Tone").selectOption("loud");
		await page.getByLabel("Access token").fill("s3cr3t");
		await checkLooks(page, "plugins-set-up");
		await page.getByRole("button", { name: "Set up" }).click();

		await page.getByLabel("Name").fill("Ann");
		await page.getByRole("button", { name: "Start job" }).click();
		const log = page.getByRole("log");
		await log.getByText("Good morning, Ann!").waitFor();
		await log.getByText("The job greet is done.").waitFor();
		await checkLooks(page, "plugins-log");

		const [config] = (await client.pluginConfigs.list({ project: project.id })).results;
		expect(config).toMatchObject({ enabled: true, name: "Greeting" });
		expect(JSON.parse(config?.config ?? "")).toEqual({
			greeting: "Good morning",
			tone: "loud",
			token: expect.stringContaining("SECRET"),
		});
		await page.goto(page.url().replace(/log$/, "log?type=errors"));
		await page.getByText("Change or remove the filters.").waitFor();
		await page.getByRole("link", { name: "Activity", exact: true }).last().click();
		await page.getByRole("cell", { name: "Plugin job started greet" }).waitFor();
		await checkLooks(page, "plugins-config-activity");

		await page.goto(`${page.url().split("/console")[0]}${path}/plugins`);
		await page.getByText("npm: greeting").waitFor();
		await checkLooks(page, "plugins");
		expect((await client.plugins.list({ organization: organization.id })).count).toBe(1);
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
		await page.getByLabel("Project").selectOption("All projects");
		const there = page.getByRole("region", { name: "Shop: Enabled, in order" });
		await there.getByRole("link", { name: "There", exact: true }).waitFor();
		await page.getByRole("link", { name: "Here", exact: true }).waitFor();
		await checkLooks(page, "plugins-configs-all");
		await page.getByLabel("Search plugin configs").fill("there");
		await page.getByText(`No plugin configs found in ${project.name}.`).waitFor();
		await there.waitFor();
	});

	test("a hidden config is restored on its page; a family lists what is unused, and its activity", async () => {
		const { client, project, path, plugin } = await withPlugin();
		const { id } = await client.pluginConfigs.create(
			{ project: project.id },
			{ plugin: plugin.id, order: 1, enabled: true, config: { greeting: "Hi" } },
		);
		const config = () => client.pluginConfigs.get({ project: project.id, id });
		const page = await open(`${path}/plugin_configs/${project.id}/${id}`);
		await page.getByRole("button", { name: "Hide", exact: true }).click();
		await page.getByText("This config is disabled and hidden from lists.").waitFor();
		expect(await config()).toMatchObject({ deleted: true, enabled: false });
		await checkLooks(page, "plugins-config-hidden");

		await page.goto(new URL(`${path}/plugins?family=pipeline_destinations`, page.url()).href);
		await page.getByLabel("Use", { exact: true }).selectOption("Without an enabled config");
		await page.getByRole("link", { name: "Greeting" }).waitFor();
		await page.getByRole("link", { name: "Activity of all destinations" }).click();
		await page.getByRole("cell", { name: "Plugin installed Greeting" }).waitFor();
		await checkLooks(page, "plugins-family-activity");

		await page.goto(new URL(`${path}/plugin_configs/${project.id}/${id}`, page.url()).href);
		await page.getByRole("button", { name: "Restore config" }).click();
		await page.getByText("is restored. It stays disabled until you enable it.").waitFor();
		await page.getByRole("button", { name: "Hide", exact: true }).waitFor();
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
		await checkLooks(page, "plugins-settings");
		await page.getByRole("button", { name: "Replace" }).press("Enter");
		await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("password");
		await page.reload();
		await page.getByText("A value is saved").waitFor();
		const settings = async () =>
			JSON.parse((await client.pluginConfigs.get({ project: project.id, id: config.id })).config);

		await page.getByLabel("Extra").fill("{");
		await page.getByRole("button", { name: "Save", exact: true }).click();
		await page.getByText("This isn't valid JSON.").waitFor();
		await page.getByLabel("Extra").fill("");
		await page.getByRole("textbox", { name: "Greeting" }).fill("Hello");
		await page.getByRole("button", { name: "Save", exact: true }).click();
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
		await page.getByRole("button", { name: "Save", exact: true }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("Theirs").waitFor();
		await checkLooks(page, "plugins-conflict");
		await dialog.getByRole("button", { name: "Save your version" }).click();
		await page.getByText("A value is saved").waitFor({ state: "detached" });
		expect(await settings()).toMatchObject({ greeting: "Mine", token: "" });

		// What is saved right after the switch still has the condition that nobody changed it.
		const answer = Promise.withResolvers<void>();
		const isOf = (request: Request, method: string) =>
			request.method() === method && request.url().endsWith(`/plugin_configs/${config.id}`);
		await page.route(`**/plugin_configs/${config.id}`, async (route) => {
			if (isOf(route.request(), "GET")) await answer.promise;
			await route.fallback();
		});
		const reading = page.waitForRequest((request) => isOf(request, "GET"));
		await page.getByRole("switch").click();
		await reading;
		await page.getByRole("textbox", { name: "Greeting" }).fill("Again");
		const saving = page.waitForRequest((request) => isOf(request, "PATCH"));
		await page.getByRole("button", { name: "Save", exact: true }).click();
		expect((await saving).headers()).toHaveProperty("if-match");
		answer.resolve();
		await expect.poll(async () => (await settings()).greeting).toBe("Again");
		await page.getByRole("button", { name: "Remove", exact: true }).click();
		await checkLooks(page, "plugins-config-remove");
		await page.getByRole("button", { name: "Remove from project" }).click();
		await page.getByText("Greeting is removed from the project.").waitFor();
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
		await page.getByRole("button", { name: "Move Third up" }).focus();
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
		await page.getByRole("button", { name: "Move First down" }).click();
		await page.getByText("Not now.").waitFor();
		await expect.poll(() => namesIn(page)).toEqual(["First", "Second", "Third", "Off"]);
		expect(await saved()).toEqual(["First", "Second", "Third"]);

		await page.unroute("**/rearrange");
		const { results } = await client.pluginConfigs.list({ project: project.id });
		const idOf = (name: string) => results.find((config) => config.name === name)?.id ?? 0;
		const orders = { [idOf("Third")]: 1, [idOf("First")]: 2, [idOf("Second")]: 3 };
		await client.pluginConfigs.rearrange({ project: project.id }, { orders });
		await page.getByRole("button", { name: "Move First down" }).click();
		await page.getByText("Someone else has changed the order.").waitFor();
		await expect.poll(() => namesIn(page)).toEqual(["Third", "First", "Second", "Off"]);
		expect(await saved()).toEqual(["Third", "First", "Second"]);

		await page.getByRole("switch", { name: "Off is enabled" }).click();
		await page.getByText("Set “Greeting” first, then enable Off.").waitFor();
		const answer = Promise.withResolvers<void>();
		await page.route(`**/plugin_configs/${idOf("Third")}`, async (route) => {
			await answer.promise;
			await route.continue();
		});
		await page.getByRole("switch", { name: "Third is enabled" }).click();
		await page.getByRole("switch", { name: "Second is enabled" }).click();
		await page.getByText("Second is disabled.").waitFor();
		answer.resolve();
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
		await page.getByRole("button", { name: "Create plugin" }).click();
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
		await page.getByRole("button", { name: "Discard changes" }).click();
		await checkLooks(page, "plugins-source-discard");
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
		await page.getByRole("button", { name: "Add file" }).click();
		await checkLooks(page, "plugins-source-add");
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
		await editor.focus();
		// Escape leaves the editor, so that Tab goes on to the next control.
		await page.keyboard.press("Escape");
		await page.keyboard.press("Tab");
		await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("BUTTON");
		await page.getByRole("button", { name: "Save", exact: true }).click();
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
		await page.getByRole("button", { name: "Save", exact: true }).click();
		await page.getByText("The source is saved, but doesn't compile: index.ts.").waitFor();
		await page.getByRole("button", { name: /^index\.ts.*doesn't compile$/ }).waitFor();
		await checkLooks(page, "plugins-source-broken");
		expect(await page.evaluate<string[]>("recorded")).toEqual([
			expect.stringMatching(/^This file doesn't compile\. .+\(\d+:\d+\)$/),
		]);
		await page.getByRole("button", { name: /^Go to line \d+$/ }).click();
		expect(await page.evaluate("getSelection().toString()")).toBe("const = 5;");
		await page.keyboard.insertText("const five = 5;");
		await page.getByText("This file doesn't compile.").waitFor({ state: "detached" });
		await page.getByRole("button", { name: "Save", exact: true }).click();
		await page.getByText("All changes are saved.").waitFor();
		expect((await client.pipelineDestinations.getSource(of)).errors).toEqual({});

		await client.pipelineDestinations.updateSource(of, {
			"index.ts": "const theirs = 1;\n",
			"site.ts": "// On\r\n// Windows\r\nconst = 6;\r\n",
		});
		await editor.focus();
		await page.keyboard.insertText("// mine\n");
		await page.getByRole("button", { name: "Save", exact: true }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("const theirs = 1;").waitFor();
		await checkLooks(page, "plugins-source-conflict");
		expect((await source())["index.ts"]).toContain("theirs");
		await dialog.getByRole("button", { name: "Keep saved version" }).click();
		await page.getByText("All changes are saved.").waitFor();
		await expect.poll(() => editor.inputValue()).toContain("theirs");
		expect(await page.getByText("doesn't compile: site.ts").count()).toBe(0);
		await page.getByRole("button", { name: /^site\.ts/ }).click();
		await page.getByRole("button", { name: "Go to line 3" }).click();
		expect(await page.evaluate("getSelection().toString()")).toBe("const = 6;");
	});

	test("a plugin is checked for updates, and removed once its name is typed", async () => {
		const { client, organization, at, path, plugin } = await withPlugin();
		const page = await open(`${path}/plugins/${plugin.id}`);
		await page.getByRole("button", { name: "Check for updates" }).click();
		await page.getByText("The newest version is installed.").waitFor();
		await client.pipelineDestinations.update({ ...at, ...plugin }, { tag: "1.0.0" });
		await page.getByRole("button", { name: "Check for updates" }).click();
		await page.getByText("Version 1.1.0 is available.").waitFor();
		await checkLooks(page, "plugins-plugin");
		const answer = Promise.withResolvers<void>();
		await page.route("**/check_for_updates", async (route) => {
			await answer.promise;
			await route.continue();
		});
		await page.getByRole("button", { name: "Check for updates" }).click();
		const upgrade = page.getByRole("button", { name: "Upgrade", exact: true });
		await expect.poll(() => upgrade.getAttribute("aria-disabled")).toBe("true");
		answer.resolve();
		await upgrade.click();
		await checkLooks(page, "plugins-upgrade");
		await page.getByRole("button", { name: "Upgrade plugin" }).click();
		await page.getByText("Greeting is upgraded to 1.1.0.").waitFor();
		await page.getByRole("link", { name: "Activity", exact: true }).last().click();
		const added = page.getByRole("cell", { name: "Plugin installed" });
		await added.waitFor();
		await page.getByTitle("Show only changes by this person").first().click();
		await page.getByRole("button", { name: /^Remove the filter By .+@/ }).waitFor();
		await added.waitFor();
		await page.getByLabel("Action").selectOption("upgraded");
		await added.waitFor({ state: "detached" });
		await page.getByRole("cell", { name: "Plugin upgraded" }).waitFor();
		await page.goto(page.url().replace("activity=upgraded", "before=2001-01-01T00:00:00Z"));
		await page.getByText("No activity found").waitFor();
		await page.goto(page.url().replace("before=", "after="));
		await added.waitFor();
		await page.getByRole("link", { name: "Overview" }).last().click();
		await page.getByRole("button", { name: "Remove plugin" }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("textbox").fill("Greeting");
		await checkLooks(page, "plugins-remove");
		await dialog.getByRole("button", { name: "Remove plugin" }).click();
		await page.getByText("No plugins yet").waitFor();
		expect((await client.plugins.list({ organization: organization.id })).count).toBe(0);
	});

	test("a plugin whose address names a version moves to the newest one", async () => {
		const { client, organization, at, path } = await newOrganization();
		const url = `${NPM}/greeting/v/1.0.0`;
		const { id } = await client.pipelineDestinations.create(at, { url });
		const page = await open(`${path}/plugins/${id}`);
		await page.getByText("1.1.0 available").waitFor();
		await page.getByRole("button", { name: "Upgrade", exact: true }).click();
		await page.getByRole("button", { name: "Upgrade plugin" }).click();
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
		expect(await page.getByRole("button", { name: "Save", exact: true }).count()).toBe(0);
		await checkLooks(page, "plugins-member-source");
		await page.goto(page.url().replace(/plugins.*/, `plugins/${plugin.id}`));
		await page.getByRole("button", { name: "Check for updates" }).waitFor();
		expect(await page.getByRole("button", { name: "Make global" }).count()).toBe(0);
		await page.goto(page.url().replace(/plugins.*/, `plugin_configs?project=${project.id}`));
		await page.getByText(/No plugins in .* yet/).waitFor();
		await checkLooks(page, "plugins-member");
	});
});
