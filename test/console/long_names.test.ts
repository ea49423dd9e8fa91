import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { overflowOf } from "../support/browser.ts";
import { inBrowser, newOrganization } from "./support/browser.ts";

const hoursAgo = (n: number) => new Date(Date.now() - n * 3_600_000).toISOString();

/** The smallest phone, a tablet, a laptop and a large screen. */
const WIDTHS = [320, 768, 1280, 1920];

/** A name without a space, at which a line could break. */
const longName = (length: number) => "Quarterly".repeat(length).slice(0, length);

const ARABIC = "تصدير يومي";

/** Objects whose names are as long as the service takes them. */
async function withLongNames() {
	const made = await newOrganization(longName(64));
	const { client, at, project } = made;
	const name = longName(200);
	const url = `http://127.0.0.1:9/${longName(180)}`;
	const [found] = await Promise.all([
		client.batchExports.create(at, {
			name,
			destination: { type: "HTTP", config: { url } },
			interval: "hour",
			paused: true,
		}),
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
		client.serviceAccounts.create(at, { name: longName(64) }),
		client.pipelineDestinations.create(at, { name, description: name }),
	]);
	// Nothing receives it, so that the backfill is running at its last window, and can be cancelled.
	await client.events.ingest({ project: project.id }, [
		{ event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(1) },
	]);
	await client.batchExports.backfill({ ...at, ...found }, { start_at: hoursAgo(10) });
	await expect
		.poll(async () => (await client.batchExports.listRuns({ ...at, ...found })).count)
		.toBeGreaterThan(7);
	const webhook = await client.webhooks.create(at, { url, description: name });
	return { ...made, export: found, webhook };
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

/** By how much the page is too wide, and its split words, for each width at which it has any. */
async function problemsAt(page: Page) {
	const found: Record<number, unknown> = {};
	for (const width of WIDTHS) {
		await page.setViewportSize({ width, height: 800 });
		const [overflow, split] = [await overflowOf(page), await splitWords(page)];
		if (overflow !== 0 || split.length > 0) found[width] = { overflow, split };
	}
	return found;
}

inBrowser("long names", (open) => {
	test("fit on every screen, and split no other words", async () => {
		const { path, export: found, webhook } = await withLongNames();
		const page = await open(path);
		const pages = {
			"": "Needs attention",
			"/members/invites": "@mmm",
			"/projects": longName(20),
			"/domains": "ddd",
			"/batch_exports": ARABIC,
			[`/batch_exports/${found.id}`]: "Backfills:",
			[`/batch_exports/${found.id}/backfills`]: "windows",
			[`/batch_exports/${found.id}/settings`]: "Data to export",
			"/webhooks": longName(20),
			[`/webhooks/${webhook.id}`]: "Deliveries",
			"/activity": "Webhook added",
			"/service_accounts": longName(20),
			"/plugins": longName(20),
			"/settings": "Danger zone",
		};
		const problems: Record<string, unknown> = {};
		for (const [below, words] of Object.entries(pages)) {
			await page.goto(new URL(path + below, page.url()).href);
			await page.getByRole("main").getByText(words).first().waitFor();
			const found = await problemsAt(page);
			if (Object.keys(found).length > 0) problems[below] = found;
		}
		expect(problems).toEqual({});
	});
});
