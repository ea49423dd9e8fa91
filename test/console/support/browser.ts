/** A browser for the tests of the console, and what every page of it is checked for. */
import axe from "axe-core";
import type { Locator, Page } from "playwright-core";
import { Tenantry } from "tenantry-client";
import { expect, inject } from "vitest";
import {
	LOOKS,
	overflowOf,
	problemsOf,
	screenshot,
	TAKES_PICTURES,
	withBrowser,
} from "../../support/browser.ts";
import { inviteTo } from "./mail.ts";

const { keys } = inject("console");
/** The key of the server's owner that this worker uses. */
const ownKey = keys[Number(process.env.VITEST_POOL_ID) % keys.length];
if (!ownKey) throw new Error("The server has no key for this worker.");

/** Errors that a browser logs for rejections that a test provokes. */
const REJECTIONS = /the server responded with a status of 4\d\d/;

/** What a browser found wrong with a page. */
const problems = new WeakMap<Page, string[]>();

/** Collects what is wrong with a page from now on, for `checkLooks`. */
export function watch(page: Page) {
	const { url, provider } = inject("console");
	problems.set(page, problemsOf(page, [url, provider], REJECTIONS));
}

/** An address in a network that nobody else has. */
const newNetwork = () =>
	`2001:db8:${Array.from(crypto.getRandomValues(new Uint16Array(2)), (part) => part.toString(16)).join(":")}::1`;

export type Open = (
	path: string,
	options?: {
		/** Signs in with this key. "" opens the page signed out. */
		key?: string;
		hasTouch?: boolean;
		/** The width of the window. */
		width?: number;
		timezoneId?: string;
		/** The IP address that requests come from, by default a new one: sign-ins are limited by it. */
		address?: string;
	},
) => Promise<Page>;

/** Runs tests in a browser; skipped where none is installed. */
export function inBrowser(name: string, tests: (open: Open) => void) {
	withBrowser(name, (newPage) => {
		tests(async (path, { key = ownKey, width = 1280, address, ...more } = {}) => {
			const { url } = inject("console");
			const page = await newPage({
				viewport: { width, height: 800 },
				timezoneId: "UTC",
				locale: "en-US",
				...more,
				permissions: ["clipboard-read", "clipboard-write"],
				extraHTTPHeaders: { "cf-connecting-ip": address ?? newNetwork() },
			});
			watch(page);
			await page.goto(`${url}${path}${key && `#key=${key}`}`);
			// A key in a link is kept only once the service has accepted it. Nothing is drawn before
			// that.
			// A page can lead away at once, as a rejected request of an app does.
			await Promise.race([
				page.locator("#console > *").first().waitFor({ state: "attached" }),
				page.waitForURL((to) => to.origin !== new URL(url).origin),
			]);
			return page;
		});
	});
}

/** The button with this name. */
export const button = (within: Page | Locator, name: string | RegExp) =>
	within.getByRole("button", { name, exact: true });

/** The text of what has the focus. */
export const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent");

/** Lets a page ask for news now, as it does when its tab is shown again, not after its interval. */
export const refresh = (page: Page) =>
	page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");

/** Holds back requests to these URLs with this method, until what it returns is called. */
export async function hold(page: Page, url: string | RegExp, method?: string) {
	const { promise, resolve } = Promise.withResolvers<void>();
	await page.route(url, async (route) => {
		if (!method || route.request().method() === method) await promise;
		await route.fallback();
	});
	return resolve;
}

/** Collects the responses that reject what the page asks for. */
export function rejectionsOf(page: Page) {
	const rejections: string[] = [];
	page.on("response", (response) => {
		if (response.status() >= 400) rejections.push(`${response.status()} ${response.url()}`);
	});
	return rejections;
}

/** Loads the page again, and returns what it asks the API for. `isDrawn` waits for its content. */
export async function requestsOf(page: Page, isDrawn: () => Promise<unknown>) {
	// Requests of the first load would count.
	await page.waitForLoadState("networkidle");
	const requests: string[] = [];
	page.on("request", (request) => {
		const { pathname } = new URL(request.url());
		if (pathname.startsWith("/api/")) requests.push(pathname);
	});
	await page.reload();
	await isDrawn();
	await page.waitForLoadState("networkidle");
	return requests;
}

/** The value of the session's cookie; undefined without one. */
export const cookieOf = async (page: Page) =>
	(await page.context().cookies(inject("console").url)).find(({ name }) => name === "tenantry")
		?.value;

/** The client of a user, by default of the server's owner. */
export const clientOf = (key = ownKey) => new Tenantry({ baseUrl: inject("console").url, key });

/** A new organization of the server's owner, with its default project. */
export async function newOrganization(name = "Analytics Ltd") {
	const client = clientOf();
	const organization = await client.organizations.create({ name });
	const at = { organization: organization.id };
	const [project] = (await client.organizationProjects.list(at)).results;
	if (!project) throw new Error("The organization has no project.");
	return { client, organization, at, project, path: `/console/${organization.id}` };
}

/** An address that nobody else has. */
export const newAddress = (name = "robin") => `${name}-${crypto.randomUUID()}@example.org`;

/**
 * The key of somebody new in an organization.
 * @param isMailed whether a mailed invite proves the address
 */
export async function newMember(
	organization: string,
	level: 1 | 8 | 15 = 1,
	target_email = newAddress(),
	{ isMailed = false } = {},
) {
	const { accept_url } = await clientOf().invites.create(
		{ organization },
		{ target_email, level, send_email: isMailed },
	);
	const nobody = new Tenantry({ baseUrl: inject("console").url });
	const link = isMailed ? await inviteTo(target_email) : accept_url;
	const token = link?.split("/").at(-1) ?? "";
	const { personal_api_key } = await nobody.invites.accept({ token }, { first_name: "Robin" });
	return personal_api_key?.value ?? "";
}

/** Axe takes long, so it checks one look, and all only where pictures are taken. */
const isForAxe = (width: number) => TAKES_PICTURES || width === 390;

/** What axe finds. Its 650 KB are sent to a page only once, because to read them takes long. */
export async function violationsOn(page: Page) {
	if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
	return page.evaluate<{ id: string; nodes: string[] }[]>(`(async () => {
		const { violations } = await axe.run({ resultTypes: ["violations"] });
		return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
	})()`);
}

/**
 * The filled buttons of the dialog that is open, or else of the page; not those that the pointer
 * fills.
 */
const filledOn = (page: Page) =>
	page.evaluate<string[]>(`(() => {
		const probe = document.createElement("i");
		document.body.append(probe);
		const colors = ["--accent", "--bad"].map((name) => {
			probe.style.color = "var(" + name + ")";
			return getComputedStyle(probe).color;
		});
		probe.remove();
		const around = document.querySelector("dialog[open]") ?? document.body;
		return [...around.querySelectorAll("button, a.button")]
			.filter((button) => button.checkVisibility() && !button.matches(":hover"))
			.filter((button) => colors.includes(getComputedStyle(button).backgroundColor))
			.map((button) => button.textContent);
	})()`);

/**
 * Checks the page as it is now in each look: axe finds nothing, nothing is wider than the screen,
 * no errors were logged, and no other host was asked. At most one button is filled. The environment
 * variable SCREENSHOTS names a folder for pictures.
 * @param name of the pictures
 */
export async function checkLooks(page: Page, name: string) {
	// The shell appears before the page, and axe requires a heading.
	await page.locator("h1").first().waitFor({ state: "attached" });
	const found: unknown[] = [];
	for (const { width, colorScheme } of LOOKS) {
		const look = `${width}-${colorScheme}`;
		await page.setViewportSize({ width, height: 800 });
		await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
		await screenshot(page, `${name}-${look}`);
		if (isForAxe(width))
			found.push(...(await violationsOn(page)).map((each) => ({ look, ...each })));
		const overflow = await overflowOf(page);
		if (overflow !== 0) found.push({ look, overflow });
	}
	await page.setViewportSize({ width: 1280, height: 800 });
	const filled = await filledOn(page);
	if (filled.length > 1) found.push({ filled });
	expect(found, name).toEqual([]);
	expect(problems.get(page), name).toEqual([]);
}
