/** A browser for commands that use the console. */
import { type Browser, chromium } from "playwright-core";
import { fail } from "../build/run.ts";
import { HANG_MS } from "../test/support/hang.ts";
import { browserAt } from "../test/support/server.ts";

/** Opens a browser. Ends the script if Chromium isn't installed. */
export function openBrowser() {
	const executablePath = browserAt() ?? fail("This command needs Chromium.");
	return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** Opens the console in a new session, as the owner of a key. */
export async function signIn(browser: Browser, { url, key }: { url: string; key: string }) {
	const page = await browser.newPage({
		viewport: { width: 1280, height: 800 },
		locale: "en-US",
		timezoneId: "UTC",
	});
	page.setDefaultTimeout(HANG_MS);
	await page.goto(`${url}/console#key=${key}`);
	await page.getByRole("link", { name: "Members" }).first().waitFor();
	return page;
}
