import { gzipSync } from "node:zlib";
import type { Page, Request, Response } from "playwright-core";
import { describe, expect, inject, test } from "vitest";
import {
	button,
	checkLooks,
	clientOf,
	focused,
	hold,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
} from "./support/browser.ts";

/** A link of the menu. Pages have links to the same pages, too. */
const inMenu = (page: Page, name: string) =>
	page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name });

/**
 * Searches, goes to another page, and waits for much longer than a search waits for the next
 * letter.
 */
const SEARCH_AND_LEAVE = `{
	const field = document.querySelector("[type=search]");
	field.value = "apps";
	field.dispatchEvent(new Event("input", { bubbles: true }));
	document.querySelector("nav a[href$='/members']").click();
	new Promise((resolve) => setTimeout(resolve, 1000));
}`;

inBrowser("the shell", (open) => {
	describe("the list of organizations", () => {
		test("leads to another one, with the keyboard", async () => {
			const { path } = await newOrganization("North Ltd");
			const other = await clientOf().organizations.create({ name: "Far South Ltd" });
			const page = await open(`${path}/members`);
			const opener = button(page, "Organization: North Ltd");
			await opener.press("Enter");
			await page.getByRole("link", { name: "New organization" }).waitFor();
			await page.keyboard.press("Escape");
			await expect.poll(() => opener.getAttribute("aria-expanded")).toBe("false");
			await expect.poll(() => focused(page)).toContain("North Ltd");
			await opener.press("Enter");
			await checkLooks(page, "shell-organizations");
			await page.getByRole("link", { name: "Far South Ltd" }).press("Enter");
			await button(page, "Organization: Far South Ltd").waitFor();
			await expect.poll(() => new URL(page.url()).pathname).toBe(`/console/${other.id}`);
		});

		test("stays at the one last visited on pages without one, also in a new tab", async () => {
			const { path } = await newOrganization("West Ltd");
			await newOrganization("Middle Ltd");
			const page = await open(`${path}/members`);
			await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
			await inMenu(page, "API keys").click();
			await page.waitForURL("**/console/keys");
			await button(page, "Organization: West Ltd").waitFor();
			const tab = await page.context().newPage();
			await tab.goto(new URL("/console/account", page.url()).href);
			await button(tab, "Organization: West Ltd").waitFor();
			await inMenu(tab, "Members").click();
			await expect.poll(() => new URL(tab.url()).pathname).toBe(`${path}/members`);
		});

		test("stays open when the page below it appears", async () => {
			const { path, organization } = await newOrganization("Slow Ltd");
			const page = await open("/console/account");
			await page.getByRole("heading", { name: "Account" }).waitFor();
			const answer = await hold(page, `**/api/organizations/${organization.id}`);
			await page.goto(new URL(`${path}/members`, page.url()).href);
			await button(page, "Organization: Slow Ltd").press("Enter");
			const entry = page.getByRole("link", { name: "New organization" });
			await entry.waitFor();
			answer();
			await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
			expect(await entry.isVisible()).toBe(true);
		});
	});

	test("the palette leads to pages and to objects by name, with the keyboard", async () => {
		const { client, organization, project, path } = await newOrganization();
		const email = newAddress("ada");
		await newMember(organization.id, 1, email);
		const { id } = await client.projectBatchExports.create(
			{ project: project.id },
			{ name: "Nightly copy", interval: "hour", destination: { type: "NoOp", config: {} } },
		);
		const page = await open("/console/account");
		await page.goto(new URL(path, page.url()).href);
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		const field = page.getByRole("combobox", { name: "Page, name, id or action" });
		const option = page.getByRole("listbox", { name: "Results" }).getByRole("option");
		const selected = option.and(page.locator("[aria-selected=true]"));
		async function find(text: string, kind: string) {
			await page.keyboard.press("Control+k");
			await field.fill(text);
			await selected.getByText(kind, { exact: true }).waitFor();
		}
		await find("audit", "Page");
		await checkLooks(page, "palette");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Audit streams" }).waitFor();
		await find("nightly", "Export");
		await page.keyboard.press("Enter");
		await expect.poll(() => new URL(page.url()).pathname).toBe(`${path}/batch_exports/${id}`);
		await find(email.slice(0, 12), "Member");
		await page.keyboard.press("Enter");
		await page.getByRole("cell", { name: email }).waitFor();
		const { id: webhook } = await client.webhooks.create(
			{ organization: organization.id },
			{ url: "https://hooks.example.com/nightly" },
		);
		await client.invites.create(
			{ organization: organization.id },
			{ target_email: "zoe@example.org", send_email: false },
		);
		await client.domains.create({ organization: organization.id }, { domain: "zoe.example" });
		await find("zoe", "Invite");
		await option.getByText("zoe.example").waitFor();
		await field.fill("hooks.example");
		await selected.getByText("Webhook").waitFor();
		await page.keyboard.press("Enter");
		await page.waitForURL(`**${path}/webhooks/${webhook}`);
		await find(webhook.toUpperCase(), "Webhook");
		await find(String(project.id), "Project");
		await find("pause night", "Action");
		await page.keyboard.press("Enter");
		await button(page.getByRole("dialog"), "Pause export").click();
		// The hint of the field says it, too.
		await page.getByText("The export is paused.", { exact: true }).waitFor();
		await find("resume", "Action");
		await option.getByText("Resume Nightly copy").waitFor();
		await field.fill("invite people");
		await page.keyboard.press("Enter");
		await page.waitForURL(`**${path}/members/invite`);
		await find("documentation", "Page");
		await page.keyboard.press("Enter");
		await page.waitForURL("**/docs");
		await page.goBack();
		await find("s", "Page");
		await page.keyboard.press("ArrowDown");
		await expect.poll(() => option.nth(1).getAttribute("aria-selected")).toBe("true");
		await field.fill("there is no such thing");
		await page.getByText("Nothing found.").waitFor();
		await page.keyboard.press("Escape");
		await field.waitFor({ state: "detached" });
	});

	test("times have their zone, and are in the user's or in UTC, in fields too", async () => {
		const { path } = await newOrganization();
		const page = await open(`${path}/activity`, { timezoneId: "Asia/Kolkata" });
		await page.getByLabel("From").fill("2026-01-02T10:00");
		await expect.poll(() => page.url()).toContain("after=2026-01-02T04%3A30%3A00.000Z");
		const when = page.locator("tbody time").first();
		await expect.poll(() => when.innerText()).toMatch(/, \d+:\d\d [AP]M GMT\+5:30$/);
		await button(page, "Show times in UTC").click();
		await expect.poll(() => when.innerText()).toMatch(/, \d+:\d\d [AP]M UTC$/);
		expect(await page.getByLabel("From").inputValue()).toBe("2026-01-02T04:30");
		await page.getByLabel("From").fill("2026-01-02T10:00");
		await expect.poll(() => page.url()).toContain("after=2026-01-02T10%3A00%3A00.000Z");
		await button(page, "Show local times").click();
		await expect.poll(() => when.innerText()).toContain("GMT+5:30");
	});

	test("on a phone the menu opens and closes with the keyboard, and closes when a page opens", async () => {
		const { path } = await newOrganization();
		const page = await open(`${path}/members`);
		await page.setViewportSize({ width: 390, height: 2000 });
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		const opener = button(page, "Menu");
		const menu = page.getByRole("navigation", { name: "Pages", exact: true });
		expect(await menu.isVisible()).toBe(false);
		await opener.press("Enter");
		await menu.waitFor();
		await page.keyboard.press("Tab");
		await expect.poll(() => focused(page)).toContain("Organization:");
		await page.keyboard.press("Escape");
		await menu.waitFor({ state: "hidden" });
		await expect.poll(() => focused(page)).toBe("Menu");
		await opener.press("Enter");
		await page.mouse.click(200, 1990);
		await menu.waitFor({ state: "hidden" });
		await opener.press("Enter");
		await menu.getByRole("link", { name: "Members" }).press("Enter");
		await menu.waitFor({ state: "hidden" });
		await opener.press("Enter");
		await menu.getByRole("link", { name: "Settings" }).press("Enter");
		await page.getByRole("heading", { name: "Danger zone" }).waitFor();
		await menu.waitFor({ state: "hidden" });
		await expect.poll(() => focused(page)).toBe("Settings");
	});

	test("a page that is opened gets the focus, and going back leads to where it was left", async () => {
		const { path } = await newOrganization();
		const page = await open(path);
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		await page.setViewportSize({ width: 1280, height: 300 });
		// What loads late makes the page long enough.
		const scroll = () => page.evaluate("scrollTo(0, 120), scrollY");
		await expect.poll(scroll).toBe(120);
		await page.getByRole("link", { name: "Settings" }).click();
		await page.getByRole("heading", { name: "Danger zone" }).waitFor();
		await expect.poll(() => page.title()).toBe("Settings · Tenantry");
		await expect.poll(() => focused(page)).toBe("Settings");
		await expect.poll(() => page.evaluate("scrollY")).toBe(0);
		await page.goBack();
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		await expect.poll(() => page.evaluate("scrollY")).toBe(120);
	});

	test("a change that takes long shows a bar, and what it replaces or removes hands on the focus", async () => {
		const { client, organization, at, path } = await newOrganization();
		await client.invites.create(at, { target_email: "ada@example.com" });
		const page = await open(`${path}/settings`);
		await page.getByLabel("API keys must expire").check();
		const answer = await hold(page, `**/api/organizations/${organization.id}*`);
		await button(page, "Save").press("Enter");
		await page.locator(".working").waitFor();
		answer();
		await page.getByText("The settings are saved.").waitFor();
		await page.locator(".working").waitFor({ state: "detached" });
		await expect.poll(() => focused(page)).toBe("Save");

		await page.goto(new URL(`${path}/members/invites`, page.url()).href);
		await button(page, "Actions for ada@example.com").press("Enter");
		await button(page, "Revoke for ada@example.com").press("Enter");
		await expect.poll(() => focused(page)).toBe("Cancel");
		await button(page, "Revoke invite").press("Enter");
		await page.getByText("No open invites").waitFor();
		await expect.poll(() => focused(page)).toBe("Members");
	});

	test("a changed form asks before it is left, and a saved one doesn't", async () => {
		const { organization, project, path } = await newOrganization("North Ltd");
		await clientOf().organizations.create({ name: "East Ltd" });
		const page = await open(`${path}/members`);
		await inMenu(page, "Settings").click();
		const name = page.getByLabel("Name");
		await name.press("End");
		await inMenu(page, "Members").click();
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();

		await inMenu(page, "Settings").click();
		await name.press("End");
		await name.press("X");
		const question = page.getByRole("dialog", { name: "Discard your changes?" });
		const stay = async () => {
			await button(question, "Keep editing").click();
			await question.waitFor({ state: "detached" });
			expect(await name.inputValue()).toBe("North LtdX");
			expect(new URL(page.url()).pathname).toBe(`${path}/settings`);
		};
		const busy = page.locator("form[aria-busy=true]");
		/** Presses Save. Returns what lets the service get the request. */
		const slowSave = async () => {
			const answer = await hold(page, `**/api/organizations/${organization.id}**`, "PATCH");
			await button(page, /^Save/).click();
			await busy.waitFor();
			return answer;
		};
		await inMenu(page, "Members").click();
		await question.waitFor();
		await checkLooks(page, "shell-discard");
		await stay();
		await page.evaluate("history.back()");
		await question.waitFor();
		// Back again, after something was done: without that, browsers don't let the page ask.
		await question.getByRole("heading").click();
		await page.evaluate("history.back()");
		await stay();
		await button(page, "Organization: North Ltd").click();
		await page.getByRole("link", { name: "East Ltd" }).click();
		await stay();
		// The list with the link is hidden again.
		await expect.poll(() => focused(page)).toContain("North Ltd");
		await page.setViewportSize({ width: 390, height: 800 });
		await button(page, "Menu").click();
		await inMenu(page, "Members").press("Enter");
		await stay();
		await expect.poll(() => focused(page)).toBe("Menu");
		await page.setViewportSize({ width: 1280, height: 800 });
		await button(page, "Sign out").click();
		await stay();
		const asked = page.waitForEvent("dialog");
		const closed = page.close({ runBeforeUnload: true });
		const closing = await asked;
		expect(closing.type()).toBe("beforeunload");
		await closing.dismiss();
		await closed;
		await page.evaluate("history.back()");
		await button(question, "Discard changes").click();
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();

		await inMenu(page, "Settings").click();
		await name.press("End");
		await name.press("X");
		// A question about what has been saved meanwhile is withdrawn.
		let save = await slowSave();
		await inMenu(page, "Members").click();
		await question.waitFor();
		save();
		await question.waitFor({ state: "detached" });
		await page.getByText("The settings are saved.").waitFor();
		expect(new URL(page.url()).pathname).toBe(`${path}/settings`);
		await page.evaluate("history.back()");
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();

		// What is entered while the form is being saved isn't saved.
		await inMenu(page, "Projects").click();
		await page.getByRole("link", { name: project.name, exact: true }).click();
		await name.press("X");
		save = await slowSave();
		await name.press("Y");
		save();
		await busy.waitFor({ state: "detached" });
		await inMenu(page, "Members").click();
		await button(question, "Discard changes").click();
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();

		// What ends after its page was left leads nowhere.
		await button(page, "Organization: North LtdX").click();
		await page.getByRole("link", { name: "New organization" }).click();
		await page.getByLabel("Name").fill("Zeta Ltd");
		const answer = await hold(page, "**/api/organizations");
		await button(page, "Create organization").click();
		await page.evaluate("history.back()");
		await button(question, "Discard changes").click();
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		answer();
		await page.getByText("Zeta Ltd").waitFor({ state: "attached" });
		expect(new URL(page.url()).pathname).toBe(`${path}/members`);

		await inMenu(page, "Projects").click();
		await button(page, "Create project").click();
		const dialog = page.getByRole("dialog", { name: "Create project" });
		await dialog.getByLabel("Name").press("X");
		await page.keyboard.press("Escape");
		await question.waitFor();
		await page.keyboard.press("Escape");
		await question.waitFor({ state: "detached" });
		// As the browser does by itself after Escape was pressed a few times in a row.
		await page.evaluate("document.querySelector('dialog').close()");
		await dialog.waitFor();
		await button(question, "Keep editing").click();
		expect(await dialog.getByLabel("Name").inputValue()).toBe("X");
		await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("name");
		await dialog.getByLabel("Name").fill("");
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
	});

	test("appears on a slow phone before the API answers, after few requests and bytes", async () => {
		const { path } = await newOrganization();
		const page = await open(path);
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		const session = await page.context().newCDPSession(page);
		await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
		await session.send("Network.enable");
		await session.send("Network.setCacheDisabled", { cacheDisabled: true });
		await session.send("Network.emulateNetworkConditions", {
			offline: false,
			latency: 150,
			downloadThroughput: 200_000,
			uploadThroughput: 90_000,
		});
		await page.setViewportSize({ width: 390, height: 800 });
		const loaded: Response[] = [];
		const isOfApi = (response: Response) => response.url().includes("/api/");
		const answer = await hold(page, "**/api/**");
		// Responses to what the page asked for before are not of the reload.
		const sent = new Set<Request>();
		page.on("request", (request) => sent.add(request));
		page.on("response", (response) => {
			if (sent.has(response.request())) loaded.push(response);
		});
		await page.reload({ waitUntil: "commit" });
		await button(page, "Menu").waitFor();
		expect(loaded.filter(isOfApi)).toEqual([]);
		answer();
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		// How many files of the page itself have arrived before the menu depends on the computer, so
		// all of them count.
		const files = loaded.filter((response) => !isOfApi(response));
		const bodies = await Promise.all(files.map((file) => file.body()));
		const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
		expect(files.length).toBeLessThanOrEqual(24);
		expect(bytes).toBeLessThanOrEqual(80 * 1024);
	});

	test("a key in a link never leaves the browser but to sign requests", async () => {
		const { key, url, link } = inject("console");
		expect(link).toBe(`${url}/console#key=${key}`);
		const page = await open("/console", { key: "" });
		await page.getByText("Sign in with an API key").waitFor();
		await page.goto("about:blank");
		const requests: Request[] = [];
		page.on("request", (request) => requests.push(request));
		await page.goto(link);
		await page.getByText("admin@example.com").first().waitFor();
		expect(page.url()).not.toContain("key");
		expect(requests.length).toBeGreaterThan(4);
		for (const request of requests) {
			const { authorization, cookie: _, ...headers } = await request.allHeaders();
			expect(new URL(request.url()).origin).toBe(url);
			if (!new URL(request.url()).pathname.startsWith("/api/"))
				expect(authorization).toBeUndefined();
			expect(`${request.url()} ${JSON.stringify(headers)} ${request.postData()}`).not.toContain(
				key,
			);
		}
		expect(await page.evaluate("JSON.stringify({ ...localStorage })")).not.toContain(key);
	});

	test("a link to an organization of others says so, and leads to one's own", async () => {
		const { path, organization } = await newOrganization("North Ltd");
		const page = await open(`/console/${crypto.randomUUID()}/members`, {
			key: await newMember(organization.id),
		});
		await page.getByRole("heading", { name: "Organization not found" }).waitFor();
		await expect.poll(() => focused(page)).toBe("Organization not found");
		await page.getByRole("link", { name: "Go to the overview" }).click();
		await page.waitForURL(`**${path}`);
	});

	test("a page with an error in it says so, and can be tried again", async () => {
		const { path } = await newOrganization();
		const page = await open(path);
		await inMenu(page, "Members").waitFor();
		await page.route("**/members?*", (route) =>
			route.fulfill({ json: { count: 1, next: null, previous: null, results: [null] } }),
		);
		await inMenu(page, "Members").click();
		const error = page.getByRole("heading", { name: "Something went wrong" });
		await error.waitFor();
		await page.unroute("**/members?*");
		await button(page, "Try again").click();
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		expect(await error.count()).toBe(0);
	});

	describe("a page whose file can't be loaded", () => {
		test("says so, and can be tried again; its URL stays as it is", async () => {
			const { path } = await newOrganization();
			const page = await open(`${path}/projects`);
			await page.getByRole("searchbox", { name: "Search projects" }).waitFor();
			const { promise: answer, resolve } = Promise.withResolvers<void>();
			await page.route("**/members.*.js", (route) => answer.then(() => route.abort()));
			// The search of the page before would be in the URL now.
			await page.evaluate(SEARCH_AND_LEAVE);
			expect(new URL(page.url())).toMatchObject({ pathname: `${path}/members`, search: "" });
			resolve();
			await page.getByRole("heading", { name: "Can't load this page" }).waitFor();
			await page.unroute("**/members.*.js");
			await button(page, "Try again").click();
			await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		});

		test("is loaded anew where a deployment has replaced the file", async () => {
			const { url } = inject("console");
			const { path } = await newOrganization();
			const html = await (await fetch(`${url}/console`)).text();
			const [, script = ""] = /src="(\S+main\.\w+\.js)"/.exec(html) ?? [];
			const code = await (await fetch(`${url}${script}`)).text();
			const old = "/console/assets/main.OLDBUILD.js";
			const page = await open("/console", { key: "" });
			await page.route(`**${old}`, (route) =>
				route.fulfill({
					contentType: "text/javascript",
					body: code.replaceAll(/members\.\w+\.js/g, "members.OLDBUILD.js"),
				}),
			);
			const isPage = (address: URL) => address.pathname === path;
			await page.route(isPage, (route) =>
				route.fulfill({ contentType: "text/html", body: html.replaceAll(script, old) }),
			);
			await page.goto(`${url}${path}#key=${inject("console").key}`);
			await inMenu(page, "Members").click();
			await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
			expect(await page.getAttribute("script[src]", "src")).toBe(script);
		});
	});
});
