import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Locator } from "playwright-core";
import { expect, inject, test } from "vitest";
import { listen } from "../support/peers.ts";
import {
	button,
	checkLooks,
	hold,
	inBrowser,
	newMember,
	newOrganization,
	rejectionsOf,
} from "./support/browser.ts";
import { hoursAgo, receiver } from "./support/world.ts";

/** A moment as the browser's field for local times takes it. Tests run in UTC. */
const local = (moment: string) => moment.slice(0, 16);

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
	test("a test of the destination stays in sight, and backfills and runs are filtered", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(`${path}/batch_exports/new`);
		await page.getByRole("textbox", { name: "Prefix" }).fill("sign-ups");
		await button(page, "Test destination").click();
		await page.getByRole("heading", { name: "The test succeeded" }).waitFor();
		// The button has the focus, so it is in sight with the result above it.
		await expect.poll(() => isInSight(button(page, "Test destination"))).toBe(true);
		await checkLooks(page, "exports-new");
		await page.getByRole("textbox", { name: "Name" }).fill("Sign-ups");
		await button(page, "Create export").click();
		await page.getByRole("heading", { name: "Sign-ups" }).waitFor();
		await page.getByText("No runs yet").last().waitFor();
		const [created] = (await client.batchExports.list(at)).results;
		await client.batchExports.backfill(
			{ ...at, id: created?.id ?? "" },
			{ start_at: hoursAgo(3), end_at: hoursAgo(0) },
		);
		await page.getByRole("navigation", { name: "About" }).getByText("Backfills").click();
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		await button(page, "New backfill").click();
		await checkLooks(page, "exports-backfill");
		await button(page.getByRole("dialog"), "Cancel").click();
		const state = page.getByLabel("State");
		await state.focus();
		await state.selectOption("Cancelled");
		await page.getByText("No backfills found").waitFor();
		await button(page, "New backfill").waitFor();
		const answer = await hold(page, "**/backfills?*");
		const asked = page.waitForRequest("**/backfills?*");
		await state.selectOption("");
		await asked;
		await page.getByText("No backfills found").waitFor();
		expect(await page.getByText("No backfills yet").count()).toBe(0);
		answer();
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("State");
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
		await runs.getByRole("cell", { name: "Completed" }).nth(2).waitFor();
	});

	test("a range is exported once, and its files are downloaded where its progress was", async () => {
		const { client, at, project, path } = await newOrganization();
		const events = ["=1+1", "你"].map((distinct_id) => ({ event: "signed up", distinct_id }));
		await client.events.ingest({ project: project.id }, events);
		const page = await open(`${path}/batch_exports`);
		await page.addInitScript("delete window.showSaveFilePicker");
		await page.reload();
		await button(page, "Export once…").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByLabel("From").waitFor();
		await checkLooks(page, "exports-once");
		const from = await dialog.getByLabel("From").inputValue();
		await dialog.getByLabel("From").fill("2999-01-01T00:00");
		await button(dialog, "Export").click();
		await dialog.getByText("start_at must be before end_at.").waitFor();
		await dialog.getByLabel("From").fill(from);
		await button(dialog, "Export").click();
		await page.getByRole("heading", { name: /^Export of / }).waitFor();
		const files = page.getByRole("table", { name: "Files" });
		const saving = page.waitForEvent("download");
		await button(files, /^Download events_.*\.csv$/).click();
		const file = await saving;
		expect(file.suggestedFilename()).toMatch(/^events_.*\.csv$/);
		const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
		expect(lines.map((line) => line.split(",")[2]).sort()).toEqual(["'=1+1", "distinct_id", "你"]);
		await page.getByText(/^Downloaded events_/).waitFor();
		await checkLooks(page, "exports-once-files");
		const { results } = await client.batchExports.list({ ...at, one_off: true });
		expect(results).toMatchObject([{ team_id: project.id }]);
		// The page of the export is that of its run.
		await page.goto(`${inject("console").url}${path}/batch_exports/${results[0]?.id}`);
		await page.getByRole("heading", { name: /^Export of / }).waitFor();
		await page.getByRole("link", { name: "One-off exports" }).click();
		const list = page.getByRole("table", { name: "Batch exports" });
		await list.getByRole("cell", { name: "Completed" }).waitFor();
		await checkLooks(page, "exports-once-list");
		await page.getByLabel("Kind").selectOption("");
		await page.getByText("No exports yet").waitFor();
	});

	test("a destination that rejects shows its error beside the step, in the run and in the list", async () => {
		const { client, at, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(0.5) };
		await client.events.ingest({ project: project.id }, [event]);
		const page = await open(`${path}/batch_exports/new`);
		await page.getByLabel("Destination", { exact: true }).selectOption("HTTP");
		await page.getByLabel("URL").fill((await receiver({ status: 401, text: "Unknown token" })).url);
		await page.getByLabel("Token").fill("secret-token");
		await button(page, "Test destination").click();
		const step = page.getByRole("listitem").filter({ hasText: "Sign in" });
		await step.getByText(/rejected the token.*Unknown token/).waitFor();
		await checkLooks(page, "exports-test-failed");
		await button(page, "Create export").click();
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
		await button(runs, /^Retry/)
			.first()
			.click();
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
		const held = await holding();
		const created = await client.batchExports.create(at, {
			name: "Nightly",
			destination: { type: "HTTP", config: { url: held.url } },
			interval: "hour",
			paused: true,
			last_paused_at: hoursAgo(3),
		});
		const key = await newMember(organization.id);
		const page = await open(`${path}/batch_exports/${created.id}`, { key });
		const rejected = rejectionsOf(page);
		await button(page, "Resume").click();
		// There is a fourth window if an hour has just ended.
		await page.getByText(/[34] windows were skipped/).waitFor();
		await checkLooks(page, "exports-resume");
		await button(page, "Resume export").click();
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
		await button(page, "Keep it running").click();
		const tabs = page.getByRole("navigation", { name: "About" });
		await tabs.getByText("Runs").click();
		await page
			.getByRole("row", { name: "Running" })
			.getByRole("button", { name: "Cancel" })
			.click();
		await checkLooks(page, "exports-run-cancel");
		await button(page, "Cancel run").press("Enter");
		await expect
			.poll(() => page.evaluate("document.activeElement.ariaLabel"))
			.toMatch(/^Retry the run of/);
		await tabs.getByText("Backfills").click();
		held.release();
		await page.getByText("2 of 2 windows").waitFor();
		await page.getByText("Active", { exact: true }).waitFor();
		await tabs.getByText("Metrics").click();
		await page.getByRole("table", { name: "Days" }).waitFor();
		await page.locator(".plot canvas").waitFor();
		await tabs.getByText("Log").click();
		await page.getByText(/A backfill by arrival of [34] windows .* was started/).waitFor();
		await button(page, "Pause").click();
		await page.getByLabel("Why").fill("Moving to Iceberg");
		await checkLooks(page, "exports-pause");
		await button(page, "Pause export").click();
		// The log follows by itself.
		await page.getByText("The export was paused.").waitFor();
		await page.getByText("Moving to Iceberg").waitFor();
		expect(rejected).toEqual([]);
	});

	test("a destination has a role or a key, and shows the subject that a role has to trust", async () => {
		const { client, at, path, project } = await newOrganization();
		const page = await open(`${path}/batch_exports/new`);
		await page.getByLabel("Destination", { exact: true }).selectOption("S3");
		await page.getByLabel("Bucket name").fill("bucket");
		await page.getByLabel("Region").fill("eu-west-1");
		await page.getByLabel("AWS secret access key").waitFor();
		await page.getByLabel("Sign in with").selectOption("role");
		await page.getByLabel("AWS secret access key").waitFor({ state: "detached" });
		const role = page.getByLabel("Role ARN");
		await role.fill("arn:aws:iam::1:role/exports");
		await page.getByText("its id is part of the subject").waitFor();
		await page.getByLabel("Create paused").check();
		await button(page, "Create export").click();
		await page.getByText("Enter arn:aws:iam::<account>:role/<name>.").waitFor();
		await checkLooks(page, "exports-role");
		const role_arn = "arn:aws:iam::123456789012:role/exports";
		await role.fill(role_arn);
		await button(page, "Create export").click();
		await page.getByRole("heading", { name: "Events to Amazon S3" }).waitFor();
		const [created] = (await client.batchExports.list(at)).results;
		if (!created) throw new Error("There is no export.");
		const common = { bucket_name: "bucket", region: "eu-west-1", prefix: "" };
		expect(created.destination.config).toEqual({ ...common, role_arn });

		await page.goto(`${page.url()}/settings`);
		expect(await role.inputValue()).toBe(role_arn);
		const subject = `organization:${at.organization}:project:${project.id}:batch_export:${created.id}`;
		await page.getByText(subject).waitFor();
		await page.getByLabel("Sign in with").selectOption("key");
		await page.getByLabel("AWS access key ID").fill("AKIAEXAMPLE");
		await page.getByLabel("AWS secret access key").fill("secret");
		await button(page, "Save changes").click();
		await page.getByText("The export is saved.").waitFor();
		const configOf = async () =>
			(await client.batchExports.get({ ...at, ...created })).destination.config;
		expect(await configOf()).toEqual(common);
		await page.reload();
		await page.getByLabel("Sign in with").selectOption("role");
		await role.fill(role_arn);
		await button(page, "Save changes").click();
		await page.getByText("The export is saved.").waitFor();
		expect(await configOf()).toEqual({ ...common, role_arn });
	});

	test("a daily export begins at an hour of a zone, which an hourly one doesn't have", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(`${path}/batch_exports/new`);
		const of = (name: string) => page.getByLabel(name, { exact: true });
		expect(await of("Time zone").count()).toBe(0);
		await of("Interval").selectOption("week");
		await of("Time zone").selectOption("Australia/Lord_Howe");
		await of("Begins at").selectOption({ label: "06:00" });
		await of("Begins on").selectOption({ label: "Sunday" });
		await checkLooks(page, "exports-new");
		await button(page, "Create export").click();
		await page.getByText("Every week on Sunday at 06:00, Australia/Lord_Howe").waitFor();
		const [created] = (await client.batchExports.list(at)).results;
		const zone = { time_zone: "Australia/Lord_Howe", hour: 6 };
		expect(created).toMatchObject({ interval: "week", ...zone, weekday: "sunday" });
		await page.getByRole("navigation", { name: "About" }).getByText("Settings").click();
		await of("Interval").selectOption("day");
		await of("Begins at").selectOption({ label: "00:00" });
		await button(page, "Save changes").click();
		await page.getByText("The export is saved.").waitFor();
		const id = created?.id ?? "";
		const saved = { interval: "day", time_zone: "Australia/Lord_Howe", hour: null, weekday: null };
		expect(await client.batchExports.get({ ...at, id })).toMatchObject(saved);
		await of("Interval").selectOption("hour");
		expect(await of("Time zone").count()).toBe(0);
		await button(page, "Save changes").click();
		await page.getByText("Every hour").first().waitFor();
		expect(await client.batchExports.get({ ...at, id })).toMatchObject({ time_zone: null });
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
		await button(page, "Save changes").click();
		const dialog = page.getByRole("dialog", { name: "Someone else changed this" });
		await dialog.getByRole("row", { name: "Database two three" }).waitFor();
		await checkLooks(page, "exports-conflict");
		const rejected = { type: "x", code: "y", detail: "Not now.", attr: null };
		await page.route(`**/${created.id}`, (route) => route.fulfill({ status: 403, json: rejected }));
		await button(dialog, "Save your version").click();
		await dialog.getByRole("status").getByText("Not now.").waitFor();
		await checkLooks(page, "exports-conflict-note");
		await button(dialog, "Dismiss").press("Enter");
		await page.getByText("Not now.").waitFor({ state: "detached" });
		await page.unroute(`**/${created.id}`);
		await button(dialog, "Save your version").click();
		await dialog.waitFor({ state: "detached" });
		await expect
			.poll(async () => (await client.batchExports.get({ ...at, ...created })).destination.config)
			.toEqual({ host: "db.example.com", database: "two" });
		await button(page, "Delete export").click();
		await page.getByRole("dialog").getByRole("textbox").fill("Warehouse");
		await checkLooks(page, "exports-delete");
		await page.getByRole("dialog").getByRole("button", { name: "Delete export" }).click();
		await page.getByText("No exports yet").waitFor();
		expect((await client.batchExports.list(at)).count).toBe(0);
		await button(page, "Undo").click();
		await page.getByText("“Warehouse” is restored.").waitFor();
		await page.waitForURL((url) => url.pathname.endsWith(`/batch_exports/${created.id}`));
		expect((await client.batchExports.list(at)).count).toBe(1);
	});
});
