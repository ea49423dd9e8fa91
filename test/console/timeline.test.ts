import { expect, inject, test } from "vitest";
import { checkLooks, inBrowser, newOrganization } from "./support/browser.ts";
import { HOUR_MS, hoursAgo } from "./support/world.ts";

/**
 * How often the pointer goes from one entry to another, and a script that counts the texts that are
 * made of ranges then.
 */
const MOVES = 20;
const WORDS_OF_MOVES = `(async () => {
	const { formatRange } = Intl.DateTimeFormat.prototype;
	let count = 0;
	Intl.DateTimeFormat.prototype.formatRange = function (...range) {
		count += 1;
		return formatRange.apply(this, range);
	};
	const entries = document.querySelectorAll(".timeline-entry");
	for (let i = 1; i <= ${MOVES}; i += 1) {
		entries[i % entries.length].dispatchEvent(new MouseEvent("mouseenter"));
		await new Promise(requestAnimationFrame);
	}
	return count;
})()`;

/** A Monday. */
const MONDAY_MS = 4 * 24 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;
const FIVE_MINUTES_MS = HOUR_MS / 12;

inBrowser("the timeline of an export", (open) => {
	test("shows each window that reaches into its range, and says if runs are missing", async () => {
		const { client, at, path } = await newOrganization();
		const created = await client.batchExports.create(at, {
			name: "Weekly once",
			destination: { type: "NoOp", config: {} },
			interval: "week",
			paused: true,
		});
		const end = Math.floor((Date.now() - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS;
		const [start_at, end_at] = [end - WEEK_MS, end].map((at) => new Date(at).toISOString());
		await client.batchExports.backfill({ ...at, ...created }, { start_at, end_at });
		await client.batchExports.update({ ...at, ...created }, { interval: "every 5 minutes" });
		const tuesday = end - 6 * 24 * HOUR_MS;
		// The timeline that contains its first minute ends within it.
		const across = [tuesday + FIVE_MINUTES_MS / 2, tuesday + 1.5 * FIVE_MINUTES_MS];
		const [from, until = ""] = across.map((at) => new Date(at).toISOString());
		await client.batchExports.backfill({ ...at, ...created }, { start_at: from, end_at: until });
		const runs = async () => (await client.batchExports.listRuns({ ...at, ...created })).count;
		await expect.poll(runs).toBe(2);
		const page = await open("/console");
		await page.route(/\/runs\?.*starts_before/, async (route) => {
			const answer = await route.fetch();
			const json = { ...(await answer.json()), next: answer.url() };
			await route.fulfill({ response: answer, json });
		});
		// The list below the timeline, whose runs it shows too, has none of this state.
		const query = new URLSearchParams({ until: new Date(tuesday).toISOString(), status: "Failed" });
		const of = `${path}/batch_exports/${created.id}?${query}`;
		await page.goto(new URL(of, page.url()).href);
		// One of the week, and one that begins and ends between two intervals.
		await expect.poll(() => page.getByRole("link", { name: /^Backfill run of/ }).count()).toBe(2);
		const part = "Only the 1000 runs of the newest windows are shown.";
		await page.getByText(`${part} The list below has all runs.`).waitFor();
		await page.getByLabel("Span").selectOption("24 hours");
		await page.getByText(`${part} To see all runs, choose a shorter span.`).waitFor();
		await page.unrouteAll({ behavior: "wait" });
	});

	test("leads from window to window by keys, to a run and its log, and to a backfill of a gap", async () => {
		const { client, at, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(3.5) };
		await client.events.ingest({ project: project.id }, [event, { ...event, distinct_id: "two" }]);
		const pausedAt = hoursAgo(6);
		const created = await client.batchExports.create(at, {
			name: "Sign-ups",
			destination: { type: "R2", config: { prefix: "sign-ups" } },
			interval: "hour",
			paused: true,
			last_paused_at: pausedAt,
		});
		await client.batchExports.backfill(
			{ ...at, ...created },
			{ start_at: hoursAgo(5), end_at: hoursAgo(3) },
		);
		const runs = async () => (await client.batchExports.listRuns({ ...at, ...created })).results;
		const states = async () => (await runs()).map(({ status }) => status);
		await expect.poll(states).toEqual(["Completed", "Completed"]);
		const withRows = (await runs()).find(({ records_completed }) => records_completed === 2);
		if (!withRows) throw new Error("No run has rows.");
		await client.batchExports.retryRun(
			{ ...at, id: withRows.batch_export, run: withRows.id },
			{ from: "start" },
		);
		await expect.poll(states).toEqual(["Completed", "Completed"]);

		const page = await open(`${path}/batch_exports/${created.id}`);
		const gap = page.getByRole("link", {
			name: /^No run, .*, [56] windows, the export was paused, 2 of them exported by a backfill. Backfill this gap$/,
		});
		await gap.focus();
		const focused = () =>
			page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
		await page.keyboard.press("ArrowDown");
		expect(await focused()).toMatch(/^Backfill run of .*, completed, 0 rows$/);
		await page.keyboard.press("ArrowRight");
		expect(await focused()).toMatch(/^Backfill run of .*, completed, 2 rows, attempt 2$/);
		await page.getByText("Several attempts").waitFor();
		await page.getByText(/Backfills: 2 completed\. 2 rows\./).waitFor();
		await checkLooks(page, "exports-timeline");
		expect(await page.evaluate<number>(WORDS_OF_MOVES)).toBeLessThan(3 * MOVES);
		await page.keyboard.press("ArrowLeft");
		await expect.poll(() => page.url()).not.toContain(`window=${withRows.id}`);
		await page.setViewportSize({ width: 1280, height: 400 });
		await page.evaluate("scrollTo(0, 120)");
		await page.keyboard.press("ArrowRight");
		const left = await page.evaluate<number>("scrollY");
		expect(left).toBeGreaterThan(0);
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: /^Run of/ }).waitFor();
		await page.getByText(/ 2 rows, .*attempt 2/).waitFor();
		expect(page.url()).toContain(`/runs/${withRows.id}`);

		await page.goBack();
		await expect.poll(() => page.evaluate("scrollY")).toBe(left);
		await page.setViewportSize({ width: 1280, height: 800 });
		const detail = page.locator(".timeline-detail");
		await detail.getByText("attempt 2").waitFor();
		const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
		expect(await rows.count()).toBe(3);
		await detail.getByRole("button", { name: "List only runs of this window" }).click();
		await expect.poll(() => rows.count()).toBe(2);
		await page.locator(`.timeline-entry[tabindex="0"][data-key="${withRows.id}"]`).waitFor();
		expect(await page.locator('.timeline-entry[tabindex="0"]').count()).toBe(1);
		await page.getByRole("button", { name: "Earlier" }).click();
		await expect.poll(() => new URL(page.url()).searchParams.get("until")).not.toBeNull();
		await gap.waitFor({ state: "detached" });
		await detail.getByText("Point at a window").waitFor();
		await page.getByRole("button", { name: "Later" }).click();
		await gap.waitFor();
		await detail.getByText("Point at a window").waitFor();
		await gap.click();
		const dialog = page.getByRole("dialog", { name: "New backfill" });
		await dialog.getByText(/^[56] windows$/).waitFor();
		expect(await dialog.getByLabel("From").inputValue()).toBe(pausedAt.slice(0, 16));
		await dialog.getByRole("button", { name: "Cancel" }).click();
		expect(page.url()).toBe(
			`${inject("console").url}${path}/batch_exports/${created.id}/backfills`,
		);
		await page.goBack();
		await detail.getByText("the export was paused").waitFor();

		const phone = await open(`${path}/batch_exports/${created.id}`, { hasTouch: true });
		const gapThere = phone.getByRole("link", { name: /^No run, / }).first();
		await gapThere.tap();
		await phone
			.locator(".timeline-detail")
			.getByText(/[56] windows, the export was paused, 2 of them exported by a backfill/)
			.waitFor();
		await expect.poll(() => new URL(phone.url()).searchParams.get("window")).toMatch(/^gap-/);
		await gapThere.tap();
		await phone.getByRole("dialog", { name: "New backfill" }).waitFor();
	});
});
