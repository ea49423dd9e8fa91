import { verifyWebhook } from "tenantry-client";
import { expect, inject, test } from "vitest";
import { newRequest } from "../console/support/app.ts";
import {
	button,
	clientOf,
	inBrowser,
	newMember,
	newOrganization,
	refresh,
} from "../console/support/browser.ts";
import { hoursAgo, receiver } from "../console/support/world.ts";
import { screenshot } from "../support/browser.ts";

/** The moment as the browser's field for local times takes it. Tests run in UTC. */
const local = (moment: string) => moment.slice(0, 16);

const EVENT = { event: "signed up", distinct_id: "visitor-1" };

inBrowser("data and programs", (open) => {
	test("a plugin from npm is installed, set up and enabled, and its job's line appears in the log", async () => {
		const { client, project, path } = await newOrganization();
		const page = await open(`${path}/plugins/install`);
		await page.getByRole("textbox", { name: "URL" }).fill("https://www.npmjs.com/package/greeting");
		await button(page, "Install").click();
		await page.getByRole("heading", { name: "Greeting", level: 1 }).waitFor();
		await page.getByRole("link", { name: "Set up in a project" }).click();
		await page.getByRole("textbox", { name: "Greeting" }).fill("Good morning");
		await page.getByLabel("Tone").selectOption("loud");
		await page.getByLabel("Access token").fill("s3cr3t");
		await button(page, "Set up").click();
		await page.getByLabel("Name").fill("Ann");
		await button(page, "Start job").click();
		const log = page.getByRole("log");
		await log.getByText("Good morning, Ann!").waitFor();
		await log.getByText("The job greet is done.").waitFor();
		await screenshot(page, "journey-plugin");
		const [config] = (await client.pluginConfigs.list({ project: project.id })).results;
		expect(config).toMatchObject({ enabled: true, name: "Greeting" });
		expect(JSON.parse(config?.config ?? "")).toEqual({
			greeting: "Good morning",
			tone: "loud",
			token: expect.stringContaining("SECRET"),
		});
	});

	test("an export is tested, created and backfilled, and its log names the finished file", async () => {
		const { client, at, project, path } = await newOrganization();
		await client.events.ingest(
			{ project: project.id },
			["visitor-1", "visitor-2"].map((distinct_id) => ({
				...EVENT,
				distinct_id,
				timestamp: hoursAgo(1.5),
			})),
		);
		const page = await open(`${path}/batch_exports/new`);
		const query = page.getByRole("textbox", { name: "Query" });
		await query.fill("SELECT uuid, nonsense FROM events");
		await page.getByText("Unable to resolve field: nonsense").waitFor();
		await query.fill(
			"SELECT uuid, toInt(properties.price) AS price FROM events WHERE event = 'signed up'",
		);
		await page.getByRole("row", { name: "price integer" }).waitFor();
		await page.getByRole("textbox", { name: "Prefix" }).fill("sign-ups/{year}");
		await button(page, "Test destination").click();
		await page.getByRole("heading", { name: "The test succeeded" }).waitFor();
		await page.getByText(/^\d+\/sign-ups\/\d{4}\/.+Z\.jsonl$/).waitFor();
		await page.getByRole("textbox", { name: "Name" }).fill("Sign-ups");
		await button(page, "Create export").click();

		await page.getByRole("heading", { name: "Sign-ups" }).waitFor();
		await page.getByRole("navigation", { name: "About" }).getByText("Backfills").click();
		await button(page, "New backfill").click();
		const dialog = page.getByRole("dialog", { name: "New backfill" });
		await dialog.getByLabel("From").fill(local(hoursAgo(3)));
		await dialog.getByLabel("Until").fill(local(hoursAgo(0)));
		await dialog.getByText("3 windows").waitFor();
		await button(dialog, "Start backfill").click();
		await page.getByText("3 of 3 windows").waitFor();
		await page.getByRole("navigation", { name: "About" }).getByText("Runs").click();
		const runs = page.getByRole("table", { name: "Runs" });
		await runs.getByRole("row", { name: "Completed 2" }).getByRole("link").click();
		await page.getByText(/2 rows, .* in \d+\/sign-ups\/\d{4}\/.+-backfill\.jsonl/).waitFor();
		expect((await client.batchExports.list(at)).results).toMatchObject([{ name: "Sign-ups" }]);
	});

	test("a gap in an export is seen and filled", async () => {
		const { client, at, project, path } = await newOrganization();
		const timestamp = hoursAgo(2.5);
		await client.events.ingest({ project: project.id }, [{ ...EVENT, timestamp }]);
		const { got, url } = await receiver();
		const created = await client.batchExports.create(at, {
			name: "Sign-ups",
			destination: { type: "HTTP", config: { url } },
			interval: "hour",
			paused: true,
			last_paused_at: hoursAgo(4),
		});
		const page = await open(`${path}/batch_exports/${created.id}`);
		await page.getByRole("link", { name: /^No run, .* the export was paused/ }).click();
		const dialog = page.getByRole("dialog", { name: "New backfill" });
		await expect.poll(() => dialog.getByLabel("From").inputValue()).toBe(local(hoursAgo(4)));
		await button(dialog, "Start backfill").click();
		await page.getByRole("cell", { name: "Completed" }).waitFor();
		await page.getByRole("navigation", { name: "About" }).getByText("Runs").click();
		await page
			.getByRole("link", { name: /^No run, .*, exported by a backfill\. Export again$/ })
			.waitFor();
		await screenshot(page, "journey-gap");
		expect(got.map(({ body }) => body).join("")).toContain("visitor-1");
	});

	test("a webhook is made, and gets the events that it selects, with a signature", async () => {
		const { client, at, path } = await newOrganization();
		const { got, url } = await receiver();
		const page = await open(`${path}/webhooks`);
		await page.getByRole("link", { name: "Add webhook" }).first().click();
		await page.getByRole("textbox", { name: "URL" }).fill(url);
		await page.getByRole("radio", { name: "Selected events" }).check();
		await button(page, "Add webhook").click();
		await page.getByText("Select at least one event.").waitFor();
		await page.getByRole("searchbox", { name: "Search events" }).fill("invite");
		await page.getByRole("checkbox", { name: "Invites: all" }).check();
		await page.getByText("Select at least one event.").waitFor({ state: "detached" });
		await button(page, "Add webhook").click();
		const secret = await page.locator("pre", { hasText: "whsec_" }).innerText();
		await button(page, "I have copied it").click();
		await page.getByText("No deliveries yet").waitFor();
		expect(await page.content()).not.toContain(secret);
		await client.organizationProjects.create(at, { name: "Not selected" });
		await client.invites.create(at, { target_email: "ada@example.com" });
		await expect.poll(() => got.length).toBe(1);
		await expect
			.poll(async () => {
				await refresh(page);
				return page.getByRole("row", { name: /Invite sent.*204/ }).count();
			})
			.toBe(1);
		const event = await verifyWebhook(got[0]?.body ?? "", got[0]?.headers ?? {}, secret);
		expect(event).toMatchObject({ type: "invite.created", data: { name: "ada@example.com" } });
	});

	test("an app asks for access, and gets what the person leaves", async () => {
		const { organization } = await newOrganization("Notes Ltd");
		const key = await newMember(organization.id);
		const { path, isBack, exchange } = await newRequest("project:write user:read webhook:read");
		const page = await open(path, { key });
		await page.getByText("It calls itself “Notes”").waitFor();
		await page.getByLabel("Webhooks: None").check();
		await page.getByText("Default project").waitFor();
		await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
		await screenshot(page, "journey-consent");
		await button(page, "Allow").click();
		await page.waitForURL(isBack);
		const { access_token, scope } = await exchange(page.url());
		expect(scope).toBe("project:read user:read");
		const { results } = await clientOf(access_token).projects.list();
		expect(results.map((project) => project.organization)).toEqual([organization.id]);
		await page.goto(`${inject("console").url}/console/account`);
		await button(page, "End access of Notes").click();
		await button(page.getByRole("dialog"), "End access").click();
		await page.getByText("The access of “Notes” is ended.").waitFor();
		await expect(clientOf(access_token).projects.list()).rejects.toMatchObject({ status: 401 });
	});

	test("an API key is made, used, restricted, and revoked", async () => {
		const { organization, project } = await newOrganization();
		const session = await newMember(organization.id);
		const page = await open("/console/keys/new", { key: session, address: "127.0.0.1" });
		const status = async (value: string) =>
			(
				await fetch(`${inject("console").url}/api/projects`, {
					headers: { authorization: `Bearer ${value}` },
				})
			).status;
		await page.getByLabel("Name").fill("Nightly import");
		await button(page, "Run exports").click();
		await page.getByLabel("Selected projects").check();
		await page.getByLabel(project.name).check();
		await button(page, "Create key").click();
		const shown = page.getByLabel("The key's value").locator("code").first();
		const value = (await shown.textContent()) ?? "";
		expect(await status(value)).toBe(200);
		await page.getByRole("link", { name: "View key" }).click();
		await page.getByText("Only in Default project").waitFor();
		await page.getByRole("link", { name: "Edit" }).click();
		await page.getByLabel("Allowed IP addresses").fill("203.0.113.0/24");
		await button(page, "Save").click();
		await page.getByText("“Nightly import” is saved.").waitFor();
		expect(await status(value)).toBe(403);
		await button(page, "Revoke").click();
		await button(page.getByRole("dialog"), "Revoke key").click();
		await page.getByText("“Nightly import” is revoked.").waitFor();
		expect(await status(value)).toBe(401);
	});
});
