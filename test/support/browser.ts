/** A browser for tests, and checks of pages. */
import { mkdirSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { describe, onTestFinished } from "vitest";
import { HANG_MS } from "./hang.ts";
import { browserAt } from "./server.ts";

const program = browserAt();
const missing = program === undefined && "no Chromium is installed";

const launch = () =>
	chromium.launch({
		executablePath: program ?? "",
		timeout: HANG_MS,
		args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
	});

/** The browser, which is started once for all test files of a worker, and ends with the worker. */
let launched: Promise<Browser> | undefined;

/** Opens a page in a new browser session. */
type NewPage = (options?: BrowserContextOptions) => Promise<Page>;

/** Prints what pages show, so that it is known why a test failed. */
async function print(pages: Page[]) {
	for (const page of pages) {
		const text = await page.locator("body").innerText({ timeout: 10_000 });
		console.log(`${page.url()} shows:\n${text}`);
	}
}

/** Runs tests with a browser. They are skipped if none is installed. */
export function withBrowser(name: string, tests: (newPage: NewPage) => void) {
	describe.skipIf(missing)(`${name}${missing ? ` (${missing})` : ""}`, () => {
		tests(async (options = {}) => {
			launched ??= launch();
			const context = await (await launched).newContext(options);
			onTestFinished(async ({ task }) => {
				try {
					if (task.result?.state === "fail") await print(context.pages());
				} finally {
					await context.close();
				}
			});
			context.setDefaultTimeout(HANG_MS);
			return context.newPage();
		});
	});
}

/** Whether screenshots are saved. */
export const TAKES_PICTURES = Boolean(process.env.SCREENSHOTS);

/**
 * The screens that pages are checked on: a phone and a desktop, light and dark. All four
 * combinations only if screenshots are saved.
 */
export const LOOKS = [390, 1280]
	.flatMap((width) => (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme })))
	.filter(
		({ width, colorScheme }) => TAKES_PICTURES || (width === 390) === (colorScheme === "dark"),
	);

/**
 * Collects the problems of a page from now on: errors, warnings, and requests to other hosts than
 * those of `urls`.
 * @param expected messages that a test causes on purpose
 */
export function problemsOf(page: Page, urls: string[], expected?: RegExp) {
	const problems: string[] = [];
	const origins = urls.map((url) => new URL(url).origin);
	page.on("console", (message) => {
		const text = message.text();
		if (["error", "warning"].includes(message.type()) && !expected?.test(text)) problems.push(text);
	});
	page.on("pageerror", ({ message }) => problems.push(message));
	page.on("request", (request) => {
		const to = new URL(request.url());
		if (!["data:", "blob:"].includes(to.protocol) && !origins.includes(to.origin))
			problems.push(request.url());
	});
	return problems;
}

/** Returns by how many pixels the page is wider than the screen. */
export const overflowOf = (page: Page) =>
	page.evaluate<number>(
		"document.documentElement.scrollWidth - document.documentElement.clientWidth",
	);

/** Saves a screenshot if the environment variable SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string) {
	const { SCREENSHOTS } = process.env;
	if (!SCREENSHOTS) return;
	mkdirSync(SCREENSHOTS, { recursive: true });
	// Otherwise, elements with a fixed position would be in the middle of the screenshot.
	await page.evaluate("scrollTo(0, 0)");
	await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}
