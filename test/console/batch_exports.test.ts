import { createServer } from "node:http";
import type { Locator } from "playwright-core";
import { expect, inject, test } from "vitest";
import { listen } from "../support/peers.ts";
import { checkLooks, inBrowser, newMember, newOrganization } from "./support/browser.ts";

const HOUR_MS = 3_600_000;

/** The start of the hour in which the tests began. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

const hoursAgo = (n: number) => new Date(HOUR - n * HOUR_MS).toISOString();

/** A moment as the browser's field for local times takes it. Tests run in UTC. */
const local = (moment: string) => moment.slice(0, 16);

/** A receiver that knows no token. */
async function refusing() {
	const server = createServer((_, response) => {
		response.writeHead(401, { "content-type": "text/plain" }).end("Unknown token");
	});
	return `http://127.0.0.1:${await listen(server)}/batch`;
}

/** A receiver that answers once it is told to. */
async function holding() {
	const { promise, resolve } = Promise.withResolvers<void>();
	const server = createServer((request, response) => {
		request.resume();
		promise.then(() => response.end());
	});
	return { url: `http://127.0.0.1:${await listen(server)}/batch`, release: resolve };
}

/** Whether something is within the browser's window. */
async function isInSight(locator: Locator) {
	const { y, height } = (await locator.boundingBox()) ?? { y: -1, height: 0 };
	return y >= 0 && y + height <= (locator.page().viewportSize()?.height ?? 0);
}

inBrowser("batch exports", (open) => {
	test("an export is tested, saved and backfilled, and its log names the file", async () => {
		const { client, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(1.5) };
		await client.events.ingest({ project: project.id }, [
			{ ...event, properties: { $browser: "Firefox" } },
			{ ...event, distinct_id: "visitor-2" },
		]);
		const page = await open(`${path}/batch_exports`);
		await page.getByText("No exports yet").waitFor();
		await checkLooks(page, "exports-empty");
		await page.getByRole("link", { name: "New export" }).first().click();

		const query = page.getByRole("textbox", { name: "Query" });
		await query.fill("SELECT uuid, nonsense FROM events");
		await page.getByText("Unable to resolve field: nonsense").waitFor();
		await query.fill(
			"SELECT uuid, toInt(properties.price) AS price FROM events WHERE event = 'signed up'",
		);
		await page.getByRole("row", { name: "price integer" }).waitFor();
		await page.getByText("event = 'signed up'").last().waitFor();
		await page.getByRole("textbox", { name: "Prefix" }).fill("sign-ups/{year}");
		await page.getByRole("button", { name: "Test destination" }).click();
		await page.getByRole("heading", { name: "The test succeeded" }).waitFor();
		// The button has the focus, so it is in sight with the result above it.
		const button = page.getByRole("button", { name: "Test destination" });
		await expect.poll(() => isInSight(button)).toBe(true);
		await page.getByText(/^\d+\/sign-ups\/\d{4}\/.+Z\.jsonl$/).waitFor();
		await checkLooks(page, "exports-new");
		await page.getByRole("textbox", { name: "Name" }).fill("Sign-ups");
		await page.getByRole("button", { name: "Create export" }).click();

		await page.getByRole("heading", { name: "Sign-ups" }).waitFor();
		await page.getByText("No runs yet").last().waitFor();
		await page.getByRole("navigation", { name: "About" }).getByText("Backfills").click();
		await page.getByRole("button", { name: "New backfill" }).click();
		const dialog = page.getByRole("dialog", { name: "New backfill" });
		await dialog.getByLabel("From").fill(local(hoursAgo(3)));
		await dialog.getByLabel("Until").fill(local(hoursAgo(0)));
		await dialog.getByText("3 windows").waitFor();
		await checkLooks(page, "exports-backfill");
		await dialog.getByRole("button", { name: "Start backfill" }).click();
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		await page.getByText("3 of 3 windows").waitFor();
		const state = page.getByLabel("State");
		await state.focus();
		await state.selectOption("Cancelled");
		await page.getByText("No backfills found").waitFor();
		await page.getByRole("button", { name: "New backfill" }).waitFor();
		const { promise: answer, resolve } = Promise.withResolvers<void>();
		await page.route("**/backfills?*", (route) => answer.then(() => route.continue()));
		const asked = page.waitForRequest("**/backfills?*");
		await state.selectOption("");
		await asked;
		await page.getByText("No backfills found").waitFor();
		expect(await page.getByText("No backfills yet").count()).toBe(0);
		resolve();
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("State");
		await state.selectOption("Completed");
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		await page.getByLabel("Ends before").fill(local(hoursAgo(1)));
		await page.getByText("No backfills found").waitFor();
		await page.goto(page.url().replace("before=", "after="));
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		expect(await page.getByLabel("Ends after").inputValue()).toBe(local(hoursAgo(1)));

		await page.getByRole("navigation", { name: "About" }).getByText("Runs").click();
		const runs = page.getByRole("table", { name: "Runs" });
		await runs.getByRole("cell", { name: "Completed" }).nth(2).waitFor();
		await page.getByLabel("Kind").selectOption("Scheduled");
		await page.getByText("No runs found").waitFor();
		await page.getByLabel("Kind").selectOption("Backfills");
		await runs.getByRole("row", { name: "Completed 2" }).getByRole("link").click();
		await page.getByText(/2 rows, .* in \d+\/sign-ups\/\d{4}\/.+-backfill\.jsonl/).waitFor();
		await checkLooks(page, "exports-run");
	});

	test("a destination that rejects shows its error beside the step, in the run and in the list", async () => {
		const { client, at, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(0.5) };
		await client.events.ingest({ project: project.id }, [event]);
		const page = await open(`${path}/batch_exports/new`);
		await page.getByLabel("Destination", { exact: true }).selectOption("HTTP");
		await page.getByLabel("URL").fill(await refusing());
		await page.getByLabel("Token").fill("secret-token");
		await page.getByRole("button", { name: "Test destination" }).click();
		const step = page.getByRole("listitem").filter({ hasText: "Sign in" });
		await step.getByText(/rejected the token.*Unknown token/).waitFor();
		await checkLooks(page, "exports-test-failed");
		await page.getByRole("button", { name: "Create export" }).click();
		await page.getByRole("heading", { name: "Events to HTTP receiver" }).waitFor();
		const [created] = (await client.batchExports.list(at)).results;
		expect(created?.destination.config).not.toHaveProperty("token");
		if (!created) throw new Error("There is no export.");
		await client.batchExports.backfill(
			{ ...at, ...created },
			{
				start_at: hoursAgo(1),
				end_at: hoursAgo(0),
			},
		);
		const runs = page.getByRole("table", { name: "Runs" });
		await expect
			.poll(async () => (await client.batchExports.listRuns({ ...at, ...created })).results)
			.toContainEqual(expect.objectContaining({ status: "Failed" }));
		await page.reload();
		// A second run has failed if an hour has just ended.
		await runs
			.getByText(/rejected the token.*Unknown token/)
			.first()
			.waitFor();
		await checkLooks(page, "exports-failed");
		await runs.getByRole("button", { name: "Retry" }).first().click();
		await checkLooks(page, "exports-retry");
		await page.getByRole("dialog").getByRole("button", { name: "Retry run" }).click();
		await page.getByText("The run is being retried.").waitFor();
		await page.goto(`${inject("console").url}${path}/batch_exports?type=HTTP`);
		const row = page.getByRole("row", { name: "Events to HTTP receiver" });
		await row.getByText(/rejected the token.*Unknown token/).waitFor();
		await page.getByRole("combobox", { name: "State" }).selectOption("paused");
		await page.getByText("No batch exports found").waitFor();
		await expect.poll(() => page.url()).toMatch(/\?type=HTTP&state=paused$/);
	});

	test("a member resumes a paused export, and has what it skipped exported", async () => {
		const { client, organization, at, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1" };
		await client.events.ingest(
			{ project: project.id },
			[0.5, 1.5, 1.6].map((hours) => ({ ...event, timestamp: hoursAgo(hours) })),
		);
		const receiver = await holding();
		const created = await client.batchExports.create(at, {
			name: "Nightly",
			destination: { type: "HTTP", config: { url: receiver.url } },
			interval: "hour",
			paused: true,
			last_paused_at: hoursAgo(3),
		});
		const key = await newMember(organization.id);
		const page = await open(`${path}/batch_exports/${created.id}`, { key });
		const rejected: string[] = [];
		page.on("response", (response) => {
			if (response.status() >= 400) rejected.push(response.url());
		});
		await page.getByRole("button", { name: "Resume" }).click();
		// There is a fourth window if an hour has just ended.
		await page.getByText(/[34] windows were skipped/).waitFor();
		await checkLooks(page, "exports-resume");
		await page.getByRole("button", { name: "Resume export" }).click();
		// The page follows the backfill by itself. Nothing arrived in the windows.
		await page.getByText(/(3 of 3|4 of 4) windows/).waitFor();
		// Another one exports what happened in them.
		const range = { start_at: hoursAgo(2.2), end_at: hoursAgo(0.2) };
		await client.batchExports.backfill({ ...at, ...created }, range);
		await page.reload();
		await page.getByText(/^[01] of 2 windows/).waitFor();
		await page
			.getByRole("row", { name: "Running" })
			.getByRole("button", { name: "Cancel" })
			.click();
		await checkLooks(page, "exports-backfill-cancel");
		await page.getByRole("button", { name: "Keep it running" }).click();
		const tabs = page.getByRole("navigation", { name: "About" });
		await tabs.getByText("Runs").click();
		await page
			.getByRole("row", { name: "Running" })
			.getByRole("button", { name: "Cancel" })
			.click();
		await checkLooks(page, "exports-run-cancel");
		await page.getByRole("button", { name: "Cancel run" }).press("Enter");
		await expect
			.poll(() => page.evaluate("document.activeElement.ariaLabel"))
			.toMatch(/^Retry the run of/);
		await tabs.getByText("Backfills").click();
		receiver.release();
		await page.getByText("2 of 2 windows").waitFor();
		await page.getByText("Active", { exact: true }).waitFor();
		await tabs.getByText("Metrics").click();
		await page.getByRole("table", { name: "Days" }).waitFor();
		await page.locator(".plot canvas").waitFor();
		await checkLooks(page, "exports-metrics");
		await tabs.getByText("Log").click();
		await page.getByText(/A backfill by arrival of [34] windows .* was started/).waitFor();
		await page.getByRole("button", { name: "Pause" }).click();
		await checkLooks(page, "exports-pause");
		await page.getByRole("button", { name: "Pause export" }).click();
		// The log follows by itself.
		await page.getByText("The export was paused.").waitFor();
		expect(rejected).toEqual([]);
	});

	test("settings keep secrets, show other people's changes, and lead to deletion", async () => {
		const { client, at, path } = await newOrganization();
		const created = await client.batchExports.create(at, {
			name: "Warehouse",
			destination: {
				type: "Postgres",
				config: { host: "db.example.com", database: "one", user: "ada", password: "first" },
			},
			interval: "day",
		});
		const page = await open(`${path}/batch_exports/${created.id}/settings`);
		const database = page.getByLabel("Database");
		await database.fill("two");
		await client.batchExports.update(
			{ ...at, ...created },
			{
				destination: { type: "Postgres", config: { database: "three" } },
			},
		);
		await page.getByRole("button", { name: "Save changes" }).click();
		const dialog = page.getByRole("dialog", { name: "Someone else changed this" });
		await dialog.getByRole("row", { name: "Database two three" }).waitFor();
		await checkLooks(page, "exports-conflict");
		const rejected = { type: "x", code: "y", detail: "Not now.", attr: null };
		await page.route(`**/${created.id}`, (route) => route.fulfill({ status: 403, json: rejected }));
		await dialog.getByRole("button", { name: "Save your version" }).click();
		await dialog.getByRole("status").getByText("Not now.").waitFor();
		await checkLooks(page, "exports-conflict-note");
		await dialog.getByRole("button", { name: "Dismiss" }).press("Enter");
		await page.getByText("Not now.").waitFor({ state: "detached" });
		await page.unroute(`**/${created.id}`);
		await dialog.getByRole("button", { name: "Save your version" }).click();
		await dialog.waitFor({ state: "detached" });
		await expect
			.poll(async () => (await client.batchExports.get({ ...at, ...created })).destination.config)
			.toEqual({ host: "db.example.com", database: "two" });
		await page.getByRole("button", { name: "Delete export" }).click();
		await page.getByRole("dialog").getByRole("textbox").fill("Warehouse");
		await checkLooks(page, "exports-delete");
		await page.getByRole("dialog").getByRole("button", { name: "Delete export" }).click();
		await page.getByText("No exports yet").waitFor();
		expect((await client.batchExports.list(at)).count).toBe(0);
	});
});
