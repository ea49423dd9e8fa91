/** A browser for tests, and what they check of pages. */
import { mkdirSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { HANG_MS } from "./hang.ts";
import { browserAt } from "./server.ts";

const program = browserAt();
const missing = program === undefined && "no Chromium is installed";

/** Opens a page in a browser session of its own. */
type NewPage = (options?: BrowserContextOptions) => Promise<Page>;

/** Runs tests with a browser; skipped where none is installed. */
export function withBrowser(name: string, tests: (newPage: NewPage) => void) {
	describe.skipIf(missing)(`${name}${missing ? ` (${missing})` : ""}`, () => {
		let browser: Browser;
		beforeAll(async () => {
			browser = await chromium.launch({
				executablePath: program ?? "",
				timeout: HANG_MS,
				args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
			});
		});
		afterAll(() => browser?.close());

		tests(async (options = {}) => {
			const page = await (await browser.newContext(options)).newPage();
			page.setDefaultTimeout(HANG_MS);
			return page;
		});
	});
}

/** Whether pictures are taken, to be looked at. */
export const TAKES_PICTURES = Boolean(process.env.SCREENSHOTS);

/** The looks that pages are checked in: a phone and a desktop, light and dark, all four only where pictures are taken. */
export const LOOKS = [390, 1280]
	.flatMap((width) => (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme })))
	.filter(
		({ width, colorScheme }) => TAKES_PICTURES || (width === 390) === (colorScheme === "dark"),
	);

/**
 * What goes wrong on a page from now on: errors, warnings, and requests to other hosts than `url`.
 * @param expected messages that a test provokes
 */
export function problemsOf(page: Page, url: string, expected?: RegExp) {
	const problems: string[] = [];
	const { origin } = new URL(url);
	page.on("console", (message) => {
		const text = message.text();
		if (["error", "warning"].includes(message.type()) && !expected?.test(text)) problems.push(text);
	});
	page.on("pageerror", ({ message }) => problems.push(message));
	page.on("request", (request) => {
		const to = new URL(request.url());
		if (!["data:", "blob:"].includes(to.protocol) && to.origin !== origin)
			problems.push(request.url());
	});
	return problems;
}

/** By how many pixels the page is wider than the screen. */
export const overflowOf = (page: Page) =>
	page.evaluate<number>(
		"document.documentElement.scrollWidth - document.documentElement.clientWidth",
	);

/** Saves a screenshot if the environment variable SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string) {
	const { SCREENSHOTS } = process.env;
	if (!SCREENSHOTS) return;
	mkdirSync(SCREENSHOTS, { recursive: true });
	// What is fixed to the screen would be in the middle of the picture.
	await page.evaluate("scrollTo(0, 0)");
	await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}
