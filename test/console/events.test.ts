import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
	button,
	checkLooks,
	focused,
	hold,
	inBrowser,
	newMember,
	newOrganization,
	refresh,
	rejectionsOf,
} from "./support/browser.ts";
import { receiver } from "./support/world.ts";

inBrowser("events", (open) => {
	test("a webhook fails, is replayed, gets a new secret and is deleted", async () => {
		const { client, at, path } = await newOrganization();
		const { got, answer, url } = await receiver();
		const { id } = await client.webhooks.create(at, { url });
		const page = await open(`${path}/webhooks/${id}`);
		await page.getByText("No deliveries yet").waitFor();
		await client.invites.create(at, { target_email: "ada@example.com" });
		const delivered = async () =>
			(await client.webhooks.listDeliveries({ ...at, id })).results.map(({ type }) => type);
		await expect.poll(delivered).toContain("invite.created");
		const invited = got[0]?.headers["webhook-id"];

		Object.assign(answer, { status: 503, text: "The queue is full." });
		await client.organizationProjects.create(at, { name: "Apps" });
		const failingSince = async () => (await client.webhooks.get({ ...at, id })).failing_since;
		await expect.poll(failingSince).not.toBe(null);
		await refresh(page);
		await page.getByText("Failing since").waitFor();
		await page.getByRole("combobox", { name: "Result" }).selectOption("Failed");
		const failed = page.getByRole("row", { name: /Project created/ }).first();
		await failed.getByText("The queue is full.").waitFor();
		await failed.getByRole("cell", { name: "503", exact: true }).waitFor();
		await checkLooks(page, "events-webhook-failing");
		await page.goto(page.url().replace(/\/webhooks\/.*/, "/webhooks?health=failing"));
		await page.getByRole("row", { name: /Failing since/ }).waitFor();

		answer.status = 204;
		await page.getByRole("link", { name: url }).click();
		await button(page, "Send test").click();
		await page.getByText("The test was delivered. The endpoint responded with 204.").waitFor();
		const before = got.length;
		await page
			.getByRole("row", { name: /Invite sent/ })
			.getByRole("button", { name: "Replay" })
			.click();
		await page.getByText("The event was delivered. The endpoint responded with 204.").waitFor();
		expect(got.slice(before).map(({ headers }) => headers["webhook-id"])).toContain(invited);

		await button(page, "Replay…").click();
		await checkLooks(page, "events-webhook-replay");
		await button(page, "Replay events").click();
		await page.getByText("The events are being replayed.").waitFor();
		await expect.poll(failingSince).toBe(null);
		await refresh(page);
		// A retry can deliver it before the replay does.
		await page
			.getByRole("row", { name: /Project created.*204/ })
			.first()
			.waitFor();
		await page.getByText("Healthy").waitFor();

		await button(page, "Edit").click();
		await checkLooks(page, "events-webhook-edit");
		// The dialog is longer than the screen, but its buttons are in sight.
		const save = await button(page, "Save").boundingBox();
		expect((save?.y ?? 800) + (save?.height ?? 0)).toBeLessThan(800);
		await button(page, "Cancel").click();
		await button(page, "Roll secret").click();
		await checkLooks(page, "events-webhook-roll");
		await page.getByRole("dialog").getByRole("button", { name: "Roll secret" }).click();
		await page.getByRole("heading", { name: "New secret" }).waitFor();
		await expect.poll(() => focused(page)).toBe("I have copied it");
		await button(page, "I have copied it").click();
		await button(page, "Delete webhook").click();
		await checkLooks(page, "events-webhook-delete");
		await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click();
		await page.getByText("No webhooks yet").waitFor();
		await button(page, "Undo").click();
		await page.locator(".note", { hasText: "is restored" }).waitFor();
		await button(page, "Delete webhook").waitFor();
		expect((await client.webhooks.list(at)).count).toBe(1);
	});

	test("notices go to Slack, Teams or PagerDuty, from the page of notifications", async () => {
		const { client, at, path } = await newOrganization();
		const { got, url } = await receiver();
		const page = await open(`${path}/notifications`);
		const choose = page.getByRole("combobox", { name: "Send to" });
		for (const [format, words] of [
			["slack", "Slack"],
			["teams", "Microsoft Teams"],
			["pagerduty", "PagerDuty"],
		] as const) {
			await page.goto(page.url().replace(/\/webhooks.*/, "/notifications"));
			await page.getByRole("link", { name: "Add webhook for notices" }).click();
			await page.getByRole("radio", { name: "Selected events: 9" }).waitFor();
			expect(await page.getByRole("checkbox", { name: "Run failed" }).isChecked()).toBe(true);
			expect(await page.getByRole("checkbox", { name: "Run completed" }).isChecked()).toBe(false);
			await choose.selectOption(words);
			if (format === "pagerduty") await page.getByLabel("Integration key").fill("R0123456789");
			else expect(await page.getByLabel("Integration key").count()).toBe(0);
			await page.getByRole("textbox", { name: "URL" }).fill(url);
			await checkLooks(page, `events-webhook-new-${format}`);
			await button(page, "Add webhook").click();
			await page.getByText("No deliveries yet").waitFor();
			await page.getByRole("definition").getByText(words, { exact: true }).waitFor();
			expect(await button(page, "Roll secret").count()).toBe(0);
			const before = got.length;
			await button(page, "Send test").click();
			await page.getByText("The test was delivered.").waitFor();
			expect(got.length).toBe(before + 1);
		}
		const { results } = await client.webhooks.list(at);
		expect(results.map(({ format }) => format)).toEqual(["pagerduty", "teams", "slack"]);
		expect(results[0]?.types).toHaveLength(9);
		await page.getByRole("link", { name: "Webhooks" }).first().click();
		await page.getByRole("row", { name: /Microsoft Teams/ }).waitFor();
	});

	test("activity is filtered by the URL, and downloaded as it is filtered", async () => {
		const { client, at, path } = await newOrganization();
		await client.organizations.update({ id: at.organization }, { name: "Analytics GmbH" });
		const apps = ["https://notes.example.com/app.json", "https://charts.example.com/app.json"];
		await client.organizations.update({ id: at.organization }, { allowed_apps: apps });
		await client.invites.create(at, { target_email: "ada@example.com" });
		const page = await open(`${path}/activity`);
		await page.getByText(`After: ${apps.join(", ")}`).waitFor();
		const renamed = page.getByRole("row", { name: /Organization settings changed.*Name/s });
		await renamed.getByText("Before: Analytics Ltd").waitFor();
		await renamed.getByText("After: Analytics GmbH").waitFor();
		const person = page.getByRole("combobox", { name: "Person" });
		await person.fill("Grace");
		await person.press("Enter");
		await page.getByText("No entries found").waitFor();
		await button(page, "Remove the filter By Grace").click();
		await page.getByRole("combobox", { name: "About" }).selectOption("Invites");
		await button(page, "ada@example.com").waitFor();
		await renamed.waitFor({ state: "detached" });
		await button(page, "ada@example.com").click();
		await button(page, "Remove the filter About ada@example.com").waitFor();
		const [invite] = (await client.invites.list(at)).results;
		await expect.poll(() => new URL(page.url()).search).toBe(`?scope=Invite&item_id=${invite?.id}`);

		await page.evaluate("delete window.showSaveFilePicker");
		await button(page, "Download…").click();
		await checkLooks(page, "events-activity-download");
		const downloading = page.waitForEvent("download");
		await button(page, "Download").click();
		const file = await downloading;
		expect(file.suggestedFilename()).toMatch(/^activity-[\d-]+\.csv$/);
		const lines = readFileSync(await file.path(), "utf8")
			.trim()
			.split("\r\n");
		expect(lines).toHaveLength(2);
		expect(lines[1]).toContain("created,Invite,");

		// Where the browser writes files, they are saved as they arrive.
		await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) =>
			(await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`);
		const json = page.getByRole("radio", { name: "JSON Lines" });
		await button(page, "Download…").click();
		await json.check();
		// Nothing is lost if it is closed.
		await page.keyboard.press("Escape");
		await json.waitFor({ state: "detached" });
		await button(page, "Download…").click();
		await json.check();
		await button(page, "Download").click();
		await page.getByText(/^Downloaded activity-[\d-]+\.ndjson\.$/).waitFor();
		const saved = await page.evaluate(`(async () => {
			const texts = [];
			for await (const file of (await navigator.storage.getDirectory()).values())
				texts.push(await (await file.getFile()).text());
			return texts.join("");
		})()`);
		expect(JSON.parse(String(saved))).toMatchObject({ scope: "Invite", activity: "created" });
	});

	test("a download that is rejected says why, and saves nothing", async () => {
		const { path } = await newOrganization();
		const page = await open(`${path}/activity`);
		const downloads: string[] = [];
		page.on("download", (file) => downloads.push(file.suggestedFilename()));
		const [type, code] = ["authentication_error", "permission_denied"];
		const json = { type, code, detail: "Only owners can download it.", attr: null };
		const dialog = page.getByRole("dialog");
		for (const [answer, words, picker] of [
			[{ status: 403, json }, "Only owners can download it.", "undefined"],
			[
				{ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" },
				"The service responded with 502.",
				`async ({ suggestedName }) =>
					(await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`,
			],
		] as const) {
			await page.route(/\/activity_log\?/, (route) =>
				route.request().headers().accept === "text/csv" ? route.fulfill(answer) : route.fallback(),
			);
			await page.evaluate(`window.showSaveFilePicker = ${picker}`);
			await button(page, "Download…").click();
			await button(dialog, "Download").click();
			await page
				.getByText(words)
				.or(page.getByText(/^Downloaded activity-/))
				.waitFor();
			await dialog.getByText(words).waitFor();
			await page.keyboard.press("Escape");
			await dialog.waitFor({ state: "detached" });
		}
		expect(downloads).toEqual([]);
		const sizes = await page.evaluate(`(async () => {
			const sizes = [];
			for await (const file of (await navigator.storage.getDirectory()).values())
				sizes.push((await file.getFile()).size);
			return sizes;
		})()`);
		expect(sizes).toEqual([0]);
	});

	test("events appear as they happen", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(`${path}/activity/events`);
		await page.getByRole("row", { name: /Organization created/ }).waitFor();
		await client.organizationProjects.create(at, { name: "Apps" });
		await button(page, "Show 1 newer event").click();
		await page.getByRole("row", { name: /Project created Apps/ }).waitFor();
		await button(page, "Types: all").click();
		await page.getByRole("radio", { name: "Selected events" }).check();
		await page.getByRole("checkbox", { name: "Projects: all" }).check();
		await checkLooks(page, "events-feed-types");
		await button(page, "Show events").click();
		await page.getByRole("row", { name: /Organization created/ }).waitFor({ state: "detached" });
		await page.getByRole("row", { name: /Project created Apps/ }).waitFor();
		await expect.poll(() => new URL(page.url()).searchParams.get("types")).toBe("project.*");
	});

	test("mails of an event go to chosen people", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(`${path}/notifications`);
		const who = page.getByRole("combobox", { name: "Recipients: A webhook was disabled" });
		await who.waitFor();
		const answer = await hold(page, /\/api\/.*\/notifications$/);
		await who.selectOption("Nobody");
		await expect.poll(() => who.getAttribute("aria-disabled")).toBe("true");
		answer();
		await page.getByText("Mails turned off.").waitFor();
		await who.selectOption("Chosen people…");
		const admin = page.getByRole("checkbox", { name: /admin@example\.com/ });
		await admin.check();
		const search = page.getByRole("searchbox", { name: "Search members" });
		await search.fill("nobody at all");
		await search.press("Enter");
		await admin.waitFor({ state: "detached" });
		await button(page, "Close").click();
		await button(page, "Keep editing").click();
		await search.fill("");
		await search.press("Enter");
		await expect.poll(() => admin.isChecked()).toBe(true);
		await checkLooks(page, "events-notifications-people");
		await button(page, "Save").click();
		await button(page, "Change").waitFor();
		const me = await client.users.get({ user: "@me" });
		const { subscriptions } = await client.notifications.get(at);
		expect(subscriptions).toContainEqual({ type: "webhook.disabled", recipients: [me.uuid] });

		const recipients = async () =>
			(await client.notifications.get(at)).subscriptions.find(
				({ type }) => type === "webhook.disabled",
			)?.recipients;
		await client.notifications.update(at, {
			subscriptions: [{ type: "webhook.disabled", recipients: "admins" }],
		});
		await who.selectOption("Nobody");
		const dialog = page.getByRole("dialog", { name: "Someone else changed this" });
		const row = dialog.getByRole("row", { name: /^A webhook was disabled/ });
		await row.getByRole("cell", { name: "Admins and owners" }).waitFor();
		await checkLooks(page, "events-notifications-conflict");
		expect(await recipients()).toBe("admins");
		await button(dialog, "Save your version").click();
		await expect.poll(recipients).toEqual([]);
	});

	test("an audit stream from making to deletion", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(`${path}/audit_streams`);
		await page.getByText("No audit streams yet").waitFor();
		await page.getByRole("link", { name: "Add audit stream" }).first().click();
		await page.getByRole("textbox", { name: "Name" }).fill("Archive");
		const destination = page.getByRole("combobox", { name: "Destination" });
		for (const [type, fields] of [
			["Sentinel", ["URL", "Rule ID", "Stream name", "Client secret", "Format"]],
			["Datadog", ["Site", "API key"]],
			["SplunkHEC", ["URL", "Token", "Index", "Use ack"]],
			["HTTP", ["URL", "Token"]],
			["AzureBlob", ["Container name", "Account key"]],
			["GCS", ["Bucket name", "HMAC secret"]],
		] as const) {
			await destination.selectOption(type);
			for (const name of fields) await page.getByLabel(name).first().waitFor({ state: "attached" });
		}
		await checkLooks(page, "events-stream-new");
		await destination.selectOption("S3");
		await page.getByRole("textbox", { name: "Bucket name" }).fill("our-audit");
		await page.getByRole("textbox", { name: "Region" }).fill("eu-north-1");
		await page.getByRole("textbox", { name: "Prefix" }).fill("{year}");
		await page.getByLabel("AWS access key ID").fill("AKIA");
		await page.getByLabel("AWS secret access key").fill("secret-of-nobody");
		await button(page, "Add audit stream").click();
		await page.getByText("The prefix of an audit stream can't contain variables.").waitFor();
		await destination.selectOption("R2");
		await page.getByRole("textbox", { name: "Prefix" }).fill("trail");
		await button(page, "Add audit stream").click();
		await button(page, "Test destination").click();
		await page.getByRole("heading", { name: "The test succeeded" }).waitFor();
		await checkLooks(page, "events-stream-test");
		await page.locator("dialog").getByRole("button", { name: "Close" }).last().click();
		await button(page, "Pause").click();
		await page.getByText("Paused.", { exact: true }).last().waitFor();
		await page.reload();
		await button(page, "Edit").click();
		await page.getByRole("textbox", { name: "Prefix" }).fill("archive");
		await checkLooks(page, "events-stream-edit");
		await button(page, "Save").click();
		await page.getByText(/^R2: audit\/[\da-f-]{36}\/archive\//).waitFor();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await page.getByRole("link", { name: "Audit streams" }).first().click();
		await page.getByRole("row", { name: /Archive.*Paused/ }).waitFor();
		await page.getByRole("link", { name: "Archive" }).click();
		await button(page, "Delete audit stream").click();
		await page.getByRole("textbox", { name: "Type Archive to confirm" }).fill("Archive");
		await checkLooks(page, "events-stream-delete");
		await page.locator("dialog").getByRole("button", { name: "Delete audit stream" }).click();
		await page.getByText("No audit streams yet").waitFor();
		const { count } = await client.auditStreams.list(at);
		expect(count).toBe(0);
	});

	test("a list has fewer rows on a phone, and filters that the API doesn't have find rows of all pages", async () => {
		const { client, at, path } = await newOrganization();
		// A page has 20 rows on a phone.
		for (const n of Array.from({ length: 21 }).keys())
			await client.webhooks.create(at, { url: `https://receiver-${n}.example.com/` });
		const page = await open(`${path}/webhooks`, { width: 390 });
		await page.getByText("1 to 20 of 21").waitFor();
		for (const name of ["receiver-0.", "receiver-20."]) {
			await page.getByRole("searchbox", { name: "Search webhooks" }).fill(name);
			await page.getByText(`https://${name}example.com/`).waitFor();
			await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
		}
		await page.getByRole("searchbox", { name: "Search webhooks" }).fill("");
		await button(page, "Next").click();
		await page.getByText("21 to 21 of 21").waitFor();
	});

	test("a member sees activity and notifications, and nothing that only admins may do", async () => {
		const { organization, path } = await newOrganization();
		const key = await newMember(organization.id);
		const page = await open(`${path}/webhooks`, { key });
		const rejected = rejectionsOf(page);
		await page.getByText("Only admins can see this").waitFor();
		await checkLooks(page, "events-webhooks-member");
		await page.getByRole("link", { name: "Audit streams" }).click();
		await page.getByRole("heading", { name: "Audit streams" }).waitFor();
		await page.getByText("Only admins can see this").waitFor();
		await page.getByRole("link", { name: "Notifications" }).click();
		await page.getByText("Admins and owners").first().waitFor();
		expect(await page.locator("main").getByRole("combobox").count()).toBe(0);
		await page.getByRole("link", { name: "Activity" }).click();
		await page.getByRole("row", { name: /Invite accepted/ }).waitFor();
		await page.getByRole("link", { name: "All events" }).click();
		await page.getByRole("row", { name: /Organization created/ }).waitFor();
		expect(rejected).toEqual([]);
	});
});
