import type { Page } from "playwright-core";
import { beforeAll, expect, inject, test } from "vitest";
import { LOOKS, overflowOf, problemsOf, screenshot, withBrowser } from "../support/browser.ts";
import { newMember, newOrganization, violationsOn } from "./support/browser.ts";

const { url } = inject("console");
let key: string;

beforeAll(async () => {
	const { organization } = await newOrganization("My organization");
	key = await newMember(organization.id, 15);
});

withBrowser("the documentation", (newPage) => {
	type Look = (typeof LOOKS)[number];

	/** A page in a new browser session, and what is wrong with it. */
	async function open({ width, colorScheme }: Look) {
		const page = await newPage({ viewport: { width, height: 800 }, colorScheme });
		const wrong = problemsOf(page, [url]);
		const visit = async (path: string) => {
			const response = await page.goto(`${url}${path}`);
			return response?.status();
		};
		return { page, visit, wrong };
	}

	/** How bright the page's background is: 0 is black, 255 is white. */
	const brightness = async (page: Page) => {
		const color = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
		return Math.min(...Array.from(color.matchAll(/\d+/g), Number));
	};

	const pathsIn = (page: Page) =>
		page.evaluate<string[]>(
			"[...document.querySelectorAll('#pages a')].map((link) => link.getAttribute('href'))",
		);

	test.each(LOOKS)("every page fits $width pixels, $colorScheme", async (look) => {
		const { page, visit, wrong } = await open(look);
		await visit("/docs");
		const paths = await pathsIn(page);
		expect(paths.length).toBeGreaterThan(10);
		for (const path of [
			...paths,
			"/docs/internals/decisions/0001-guard-in-the-batch",
			"/docs/reference/batch-exports",
		]) {
			expect([path, await visit(path)]).toEqual([path, 200]);
			expect([path, await overflowOf(page)]).toEqual([path, 0]);
			expect((await brightness(page)) > 128).toBe(look.colorScheme === "light");
			const name = path.slice(1).replaceAll("/", "-");
			await screenshot(page, `${name}-${look.width}-${look.colorScheme}`);
		}
		expect(wrong).toEqual([]);
	});

	test.each(LOOKS)(
		"the reference answers with a key, at $width pixels, $colorScheme",
		async (look) => {
			const { page, visit, wrong } = await open(look);
			const asked: string[] = [];
			page.on("request", (request) => asked.push(new URL(request.url()).pathname));
			await visit("/docs/reference");
			await page.getByLabel("Your API key").fill(key);
			await page.getByLabel("Search operations").fill("list your organizations");
			expect(await page.locator(".operations li:visible").count()).toBe(1);
			await page.getByRole("link", { name: "List your organizations" }).click();
			await page.waitForURL("**/docs/reference/organizations#listOrganizations");
			const section = page.locator("section", { has: page.locator("#listOrganizations") });
			await section.getByText("Try it").click();
			await section.getByLabel("limit").fill("1");
			await section.getByRole("button", { name: "Send GET request" }).click();
			await page.getByText('"My organization"').first().waitFor();
			await screenshot(page, `answer-${look.width}-${look.colorScheme}`);
			expect(asked.filter((path) => path.startsWith("/api"))).toEqual(["/api/organizations"]);
			expect(await violationsOn(page)).toEqual([]);
			expect(await overflowOf(page)).toBe(0);
			expect(await page.evaluate("JSON.stringify({ ...localStorage })")).not.toContain(key);
			expect(wrong).toEqual([]);
		},
	);

	test("the reference sends a body, and shows the answer to a wrong key", async () => {
		const { page, visit } = await open({ width: 1280, colorScheme: "light" });
		await visit("/docs/reference/projects#createProject");
		const section = page.locator("section", { has: page.locator("#createProject") });
		const send = async () => {
			await section.getByRole("button", { name: "Send POST request" }).click();
			return section.locator("output");
		};
		await page.getByLabel("Your API key").fill("phx_wrong");
		await section.getByText("Try it").click();
		await section.getByLabel("Body").fill('{ "name": "From the reference" }');
		await (await send()).getByText("authentication_failed").waitFor();
		await page.getByLabel("Your API key").fill(key);
		await (await send()).getByText('"name": "From the reference"').waitFor();
		expect(await section.locator("output").textContent()).toMatch(/^201 Created\n/);
	});

	test.each([...LOOKS, { width: 320, colorScheme: "light" } as const])(
		"the search finds pages, headings and texts, by keyboard, at $width pixels, $colorScheme",
		async (look) => {
			const { page, visit, wrong } = await open(look);
			await visit("/docs");
			const menu = page.getByRole("button", { name: "Pages" });
			const show = async () => {
				if (await menu.isVisible()) await menu.click();
			};
			await show();
			const links = page.locator("#found a");
			const field = page.getByRole("searchbox", { name: "Search the documentation" });
			await field.fill("VERIFY a domain");
			await page.getByText(/results:$/).waitFor();
			expect((await links.allTextContents()).slice(0, 2)).toEqual([
				...["Verifying a domain Getting started", "Verify a domain Domains (reference)"],
			]);
			await field.fill("lost phone");
			await page.locator("#found a", { hasText: /^The second factor/ }).waitFor();
			await field.fill("xylophone");
			await page.getByRole("status").getByText("No page has these words.").waitFor();
			expect(await links.count()).toBe(0);
			await field.fill("webhooks");
			await links.first().waitFor();
			expect(await links.first().textContent()).toBe("Webhooks");
			expect(await page.getByRole("link", { name: "Overview" }).isVisible()).toBe(false);
			expect(await overflowOf(page)).toBe(0);
			expect(await violationsOn(page)).toEqual([]);
			await screenshot(page, `search-${look.width}-${look.colorScheme}`);
			await field.fill("");
			await page.getByRole("link", { name: "Overview" }).waitFor();
			await field.fill("webhook verifying");
			await links.first().waitFor();
			await field.press("Enter");
			await page.waitForURL("**/docs/webhooks#verifying");
			// A link to a heading of the same page closes the menu.
			await show();
			await field.fill("webhook rolling the secret");
			await links.first().waitFor();
			await field.press("Tab");
			await page.keyboard.press("Enter");
			await page.waitForURL("**/docs/webhooks#rolling-the-secret");
			if (await menu.isVisible()) expect(await page.isVisible("#pages")).toBe(false);
			expect(wrong).toEqual([]);
		},
	);

	test("a button copies a block of code", async () => {
		const { page, visit, wrong } = await open({ width: 390, colorScheme: "dark" });
		await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
		await visit("/docs/cli");
		const block = page.locator(".copyable").first();
		await block.getByRole("button", { name: "Copy" }).focus();
		await page.keyboard.press("Enter");
		await block.getByRole("button", { name: "Copied" }).waitFor();
		expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
			(await block.locator("code").innerText()).trimEnd(),
		);
		expect(await overflowOf(page)).toBe(0);
		expect(await violationsOn(page)).toEqual([]);
		await screenshot(page, "copy-390-dark");
		expect(wrong).toEqual([]);
	});

	test("the search moves nothing, and loads its headings with the first search", async () => {
		const { page, visit } = await open({ width: 1280, colorScheme: "light" });
		const asked: string[] = [];
		page.on("request", (request) => asked.push(request.url()));
		await visit("/docs/api");
		const loaded = () => asked.filter((path) => path.includes("/headings."));
		const article = page.locator("article");
		const before = await article.boundingBox();
		expect(loaded()).toEqual([]);
		await page.getByRole("searchbox").fill("errors");
		await page.locator("#found a").first().waitFor();
		await page.getByRole("searchbox").fill("order");
		expect(loaded()).toHaveLength(1);
		expect(await article.boundingBox()).toEqual(before);
		expect(asked.filter((path) => !path.startsWith(url))).toEqual([]);
	});

	test("each heading that the search knows exists", async () => {
		const { page, visit } = await open({ width: 1280, colorScheme: "light" });
		await visit("/docs");
		const pages = await page.evaluate<[string, string, [string, string][]][]>(
			"import(document.getElementById('finder').dataset.headings).then((all) => all.default)",
		);
		expect(pages.length).toBeGreaterThan(30);
		for (const [name, path, headings] of pages) {
			const text = await (await fetch(`${url}${path}`)).text();
			const missing = headings.filter(([, id]) => !text.includes(` id="${id}"`));
			expect([name, missing]).toEqual([name, []]);
			// Text, not HTML.
			expect(headings.filter(([heading]) => /<\/|&\w+;/.test(heading))).toEqual([]);
		}
	});

	test("guides stand apart from pages for those who run or change the service", async () => {
		const { page, visit } = await open({ width: 1280, colorScheme: "light" });
		await visit("/docs");
		const [guides = [], inner = []] = await page.evaluate<string[][]>(
			"[...document.querySelectorAll('#all ul')].map((list) => [...list.querySelectorAll('a')].map((link) => link.textContent))",
		);
		expect(guides.slice(0, 3)).toEqual(["Overview", "Getting started", "The API"]);
		expect(inner).toEqual([
			...[
				"Deploying and operating",
				"Internals",
				"Contributing",
				"Judges",
				"Security",
				"Changelog",
			],
		]);
	});

	test("a phone doesn't enlarge the page when the field for the key is touched", async () => {
		const { page, visit } = await open({ width: 390, colorScheme: "light" });
		await visit("/docs/reference");
		// iOS does this for fields with a smaller font.
		for (const id of ["key", "search", "find"]) {
			const size = await page.evaluate<string>(
				`getComputedStyle(document.getElementById('${id}')).fontSize`,
			);
			expect([id, size]).toEqual([id, "16px"]);
		}
		await page.getByRole("button", { name: "On this page" }).click();
		await page.locator("#contents").getByText("Authentication").click();
		await page.waitForURL("**/docs/reference#authentication");
		const top = await page.evaluate<number>(
			"document.getElementById('authentication').getBoundingClientRect().top - document.querySelector('header').getBoundingClientRect().bottom",
		);
		expect(top).toBeGreaterThanOrEqual(0);
		await page.getByLabel("Your API key").fill(key);
	});

	test("the menus of a phone open and close with the keyboard", async () => {
		const { page, visit } = await open({ width: 390, colorScheme: "light" });
		await visit("/docs/api");
		await page.keyboard.press("Tab");
		expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
		await page.keyboard.press("Enter");
		expect(await page.evaluate("document.activeElement.id")).toBe("content");
		await page.keyboard.press("Tab");
		expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
		for (const [name, menu] of [
			["On this page", "#contents"],
			["Pages", "#pages"],
		] as const) {
			expect(await page.isVisible(menu)).toBe(false);
			await page.getByRole("button", { name }).focus();
			await page.keyboard.press("Enter");
			expect(await page.isVisible(menu)).toBe(true);
			await screenshot(page, `menu-${menu.slice(1)}`);
			await page.keyboard.press("Escape");
			expect(await page.isVisible(menu)).toBe(false);
		}
		// The table of contents closes when a link is followed.
		await page.getByRole("button", { name: "On this page" }).click();
		await page.locator("#contents").getByText("Order of checks").click();
		await page.waitForURL("**/docs/api#order-of-checks");
		expect(await page.isVisible("#contents")).toBe(false);
	});
});
