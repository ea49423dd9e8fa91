import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { overflowOf } from "../support/browser.ts";
import { TEST_TIMEOUT_MS } from "../support/hang.ts";
import { checkLooks, inBrowser, newOrganization } from "./support/browser.ts";

const hoursAgo = (n: number) => new Date(Date.now() - n * 3_600_000).toISOString();

/** The smallest phone, a tablet and a large screen. `checkLooks` has two others. */
const WIDTHS = [320, 768, 1920];

/** How many requests draw a page, with those of the shell. */
const MAX_REQUESTS = 6;

/** The page of a paused export also asks who paused it. */
const ofPaused = (kind: string) => (kind.endsWith("/batch_exports/…") ? 1 : 0);

/** Only sessions that begin with a key, as those of the tests, ask what the key may do. */
const OF_KEY = "/api/personal_api_keys/@current";

/** A name without a space, at which a line could break. */
const longName = (length: number) => "Quarterly".repeat(length).slice(0, length);

const ARABIC = "تصدير يومي";

/** An organization with objects of all kinds, whose names are as long as the service takes them. */
async function filled() {
	const made = await newOrganization(longName(64));
	const { client, at, project } = made;
	const name = longName(200);
	const url = `http://127.0.0.1:9/${longName(180)}`;
	const bucket = { bucket_name: longName(60), region: "eu-north-1", prefix: longName(100) };
	const key = { aws_access_key_id: "id", aws_secret_access_key: "secret" };
	const [found, account, plugin] = await Promise.all([
		client.batchExports.create(at, {
			name,
			destination: { type: "HTTP", config: { url } },
			interval: "hour",
			paused: true,
		}),
		client.serviceAccounts.create(at, { name: longName(64) }),
		client.pipelineDestinations.create(at, { name, description: name }),
		client.batchExports.create(at, {
			name: ARABIC,
			destination: { type: "R2", config: { prefix: "" } },
			interval: "day",
			paused: true,
		}),
		client.organizationProjects.create(at, { name }),
		client.domains.create(at, { domain: `${"d".repeat(60)}.${"e".repeat(50)}.example.com` }),
		client.invites.create(at, {
			target_email: `${"i".repeat(60)}@${"m".repeat(60)}.example.com`,
			send_email: false,
		}),
		client.auditStreams.create(at, {
			name,
			destination: { type: "S3", config: { ...bucket, ...key } },
		}),
		client.webhooks.create(at, { url, description: name }),
	]);
	await Promise.all([
		client.serviceAccountKeys.create(
			{ ...at, account: account.id },
			{ label: longName(40), scopes: ["*"] },
		),
		client.pluginConfigs.create({ project: project.id }, { plugin: plugin.id, order: 1 }),
		// Nothing receives it, so that the backfill is running at its last window, and can be
		// cancelled.
		client.events.ingest({ project: project.id }, [
			{ event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(1) },
		]),
	]);
	await client.batchExports.backfill({ ...at, ...found }, { start_at: hoursAgo(10) });
	await expect
		.poll(async () => (await client.batchExports.listRuns({ ...at, ...found })).count)
		.toBeGreaterThan(7);
	return { path: made.path, running: `${made.path}/batch_exports/${found.id}` };
}

/** Returns words of tables that a person reads, and that are split although they are short. */
const splitWords = (page: Page) =>
	page.evaluate<string[]>(`[...document.querySelectorAll("main td")].flatMap((cell) => {
		const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
		const split = [];
		while (texts.nextNode())
			for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {
				const range = document.createRange();
				range.setStart(texts.currentNode, index);
				range.setEnd(texts.currentNode, index + word.length);
				const lines = new Set([...range.getClientRects()].map(({ top }) => top));
				if (word.length < 13 && lines.size > 1) split.push(word);
			}
		return split;
	})`);

/** Checks that nothing is wider than the screens, and that no words are split. */
async function checkWidths(page: Page, kind: string) {
	for (const width of WIDTHS) {
		await page.setViewportSize({ width, height: 800 });
		const about = `${kind} at ${width} pixels`;
		// Charts are drawn again a moment later.
		await expect.poll(() => overflowOf(page), { message: about }).toBe(0);
		expect(await splitWords(page), about).toEqual([]);
	}
}

/** The paths of the page table, with their parameters. */
const PATTERNS = [
	...readFileSync("packages/console/src/pages.ts", "utf8").matchAll(/\[\s*"(\/.*?)",/g),
]
	.map(([, path = ""]) => (path.startsWith("/console/") ? path : `/console/:organization${path}`))
	// Like the router, which matches those without an organization first.
	.sort((a, b) => Number(a.includes(":organization")) - Number(b.includes(":organization")));

/** Pages to which other sites, mails and other devices lead. They have their own tests. */
const FROM_ELSEWHERE = ["/console/oauth", "/console/device", "/console/accept"];

/** Returns whether a path is one of a pattern. */
const matches = (path: string, pattern: string) =>
	new RegExp(
		`^${pattern
			.replace(/\/$/, "")
			.replace(/\/:\w+\?/g, "(/[^/]+)?")
			.replace(/:\w+/g, "[^/]+")
			.replace("/*", "/.+")}$`,
	).test(path);

/** Returns a path without ids, which is the same for all objects of a kind. */
const kindOf = (path: string) => path.replace(/\/([\da-f-]{36}|\d+)(?=\/|$)/g, "/…");

/** Returns the URLs to which the page leads. */
const linksOn = async (page: Page) => {
	const links = await page.evaluate<string[]>(
		`[...document.querySelectorAll("a[href]")].map((a) => new URL(a.getAttribute("href"), location).href)`,
	);
	return links.map((link) => new URL(link));
};

inBrowser("the views of a filled organization", (open) => {
	// Each wait has its own limit. All pages together may take longer than other tests.
	const options = { timeout: 3 * TEST_TIMEOUT_MS };
	test(
		"can be reached by links with few requests, are accessible, fit on every screen, and split no words",
		options,
		async () => {
			const { url } = inject("console");
			const { path, running } = await filled();
			const page = await open(path);
			const rejected: string[] = [];
			page.on("response", (response) => {
				if (response.status() >= 400) rejected.push(response.url());
			});
			/** What the page has asked the API for. */
			const asked: string[] = [];
			page.on("request", (request) => {
				const { pathname } = new URL(request.url());
				if (pathname.startsWith("/api/") && pathname !== OF_KEY) asked.push(pathname);
			});
			const tooMany: string[] = [];
			const visited = new Map([path, running].map((path) => [kindOf(path), path]));
			// The loop also visits what is added to the map.
			for (const [kind, path] of visited) {
				// Requests of the last page would count.
				await page.goto("about:blank");
				asked.length = 0;
				await page.goto(url + path);
				await page.locator("main h1").waitFor();
				await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
				await page.waitForLoadState("networkidle");
				if (asked.length > MAX_REQUESTS + ofPaused(kind)) tooMany.push([kind, ...asked].join(" "));
				for (const { origin, pathname, search } of await linksOn(page))
					if (origin === url && pathname.startsWith("/console") && !visited.has(kindOf(pathname)))
						visited.set(kindOf(pathname), pathname + search);
				await checkWidths(page, kind);
				await checkLooks(page, `views${kind.replaceAll("/", "-").replaceAll("…", "id")}`);
			}
			expect(rejected).toEqual([]);
			expect(tooMany).toEqual([]);
			const paths = [...visited.values()].map((path) => new URL(path, url).pathname);
			const seen = new Set(paths.map((path) => PATTERNS.find((pattern) => matches(path, pattern))));
			expect(PATTERNS.filter((pattern) => !seen.has(pattern))).toEqual(FROM_ELSEWHERE);
		},
	);
});
