import { describe, expect, test } from "vitest";
import {
	button,
	checkLooks,
	clientOf,
	hold,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
	rejectionsOf,
	requestsOf,
} from "./support/browser.ts";
import { factorLinkTo } from "./support/mail.ts";
import { hoursAgo, inDays, receiver } from "./support/world.ts";

/** A receiver that rejects what it gets. */
const refusing = () => receiver({ status: 400, text: "Unknown fields." });

inBrowser("the overview", (open) => {
	test("of a new organization says what to do first, and ticks what is done", async () => {
		const page = await open("/console/new");
		await page.getByLabel("Name").waitFor();
		await page.getByLabel("Name").fill("Fresh Ltd");
		await button(page, "Create organization").click();
		await page.getByText("0 of 5 done").waitFor();
		await page.getByRole("button", { name: "Organization: Fresh Ltd" }).waitFor();
		await page.getByRole("link", { name: "Invite your team" }).click();
		await page.waitForURL("**/members/invite");
		const organization = page.url().split("/").at(-3) ?? "";
		await clientOf().webhooks.create({ organization }, { url: "http://127.0.0.1:9/" });
		await page.goBack();
		await page.getByText("1 of 5 done").waitFor();
		await button(page, "Hide").click();
		await page.getByText("1 of 5 done").waitFor({ state: "detached" });
		await page.reload();
		await page.getByRole("heading", { name: "Needs attention" }).waitFor();
		await expect.poll(() => page.getByText("1 of 5 done").isVisible()).toBe(false);
	});

	test("lists what fails, is paused, or ends soon, and draws the rows of each day", async () => {
		const { organization, project, path } = await newOrganization();
		const { id } = organization;
		const owner = await newMember(id, 15);
		const client = clientOf(owner);
		const { url } = await refusing();
		await client.events.ingest(
			{ project: project.id },
			Array.from({ length: 250 }, (_, i) => ({
				event: "page viewed",
				distinct_id: `visitor-${i}`,
				timestamp: hoursAgo((i + 1) / 3600),
			})),
		);
		const make = (name: string, destination: object, more = {}) =>
			client.projectBatchExports.create(
				{ project: project.id },
				{ name, interval: "hour", destination: destination as never, ...more },
			);
		const good = await make("Nightly copy", { type: "NoOp", config: {} });
		const bad = await make("To the warehouse", { type: "HTTP", config: { url } });
		await make("Old copy", { type: "NoOp", config: {} }, { paused: true });
		for (const { id } of [good, bad])
			await client.batchExports.backfill(
				{ organization: organization.id, id },
				{ start_at: hoursAgo(1), end_at: hoursAgo(0) },
			);
		const runs = () => client.batchExports.listRuns({ organization: id, id: bad.id });
		const days = () => client.batchExports.listMetrics({ organization: id, id: good.id });
		await expect.poll(async () => (await runs()).results[0]?.status).toBe("Failed");
		await expect.poll(async () => (await days()).results[0]?.rows).toBe(250);
		await client.domains.create({ organization: id }, { domain: `${id}.example.com` });
		await client.personalApiKeys.create({
			label: "Deployment",
			scopes: ["*"],
			expires_at: inDays(3),
		});

		const page = await open(path, { key: owner });
		const attention = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem");
		await expect.poll(() => attention.count()).toBe(4);
		const [first, ...others] = await attention.allInnerTexts();
		expect(first).toMatch(/^Failing\s+To the warehouse\s+.*400.*Unknown fields/);
		expect(others.map((item) => item.split(/\n+/).slice(0, 2).join(" "))).toEqual([
			"Expires Deployment",
			"Paused Old copy",
			`Not verified ${id}.example.com`,
		]);
		await page.getByText("250 rows in the last 14 days, by all exports").waitFor();
		const plot = page.locator(".u-over");
		const { width } = (await plot.boundingBox()) ?? { width: 0 };
		await plot.hover({ position: { x: width - 5, y: 5 } });
		await page.getByText(/^\w+ \d+: 250$/).waitFor();
		await page.getByText("Show as table").click();
		await page.getByRole("row", { name: /250/ }).waitFor();
		await page.getByText("1 failing").waitFor();
		await checkLooks(page, "overview");
		await page.getByRole("link", { name: "To the warehouse" }).last().click();
		await page.waitForURL(`**${path}/batch_exports/${bad.id}/runs/*`);
	});

	test("an export that failed stays until what it missed is delivered, and a page takes at most six requests", async () => {
		const { organization, client, path } = await newOrganization();
		const { id } = organization;
		const { url } = await refusing();
		const bad = await client.batchExports.create(
			{ organization: id },
			{
				name: "To the warehouse",
				interval: "hour",
				destination: { type: "HTTP", config: { url } },
			},
		);
		const at = { organization: id, id: bad.id };
		await client.events.ingest(
			{ project: bad.team_id },
			[1, 2].map((hours) => ({
				event: "seen",
				distinct_id: "a",
				timestamp: hoursAgo(hours + 0.5),
			})),
		);
		await client.batchExports.backfill(at, { start_at: hoursAgo(4), end_at: hoursAgo(0) });
		// The newest window has no events, so its run completes without asking the destination.
		const missing = async () => (await client.batchExports.get(at)).undelivered?.windows;
		await expect.poll(missing).toBeGreaterThan(0);
		const n = await missing();
		const page = await open(path);
		const attention = page.getByRole("region", { name: "Needs attention" });
		const requests = await requestsOf(page, () => attention.getByText(`${n} window`).waitFor());
		expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(6);
		const list = await open(`${path}/batch_exports`);
		const listed = await requestsOf(list, () => list.getByText("not delivered").waitFor());
		expect(listed.length, listed.join(" ")).toBeLessThanOrEqual(6);
		await page.getByRole("button", { name: "Retry To the warehouse" }).click();
		await page.getByText("exported again").waitFor();
		await expect.poll(missing).toBe(n);
		await page.goto(`${new URL(page.url()).origin}${path}/batch_exports/${bad.id}`);
		await page.getByRole("region", { name: "Not delivered" }).waitFor();
		await button(page, "Dismiss").click();
		await page.getByRole("dialog").getByRole("button", { name: "Dismiss" }).click();
		await page.getByRole("region", { name: "Not delivered" }).waitFor({ state: "detached" });
		expect(await missing()).toBeUndefined();
	});

	test("lists failing plugins, streams and keys of service accounts too, what ends first before the others", async () => {
		const { client, at, project, path } = await newOrganization();
		const { url } = await refusing();
		const stream = await client.auditStreams.create(at, {
			name: "Archive",
			destination: { type: "R2", config: { prefix: "audit" } },
		});
		await client.auditStreams.update({ ...at, id: stream.id }, { enabled: false });
		await client.webhooks.create(at, { url, description: "Chat of the team" });
		const plugin = await client.pipelineDestinations.create(at, { name: "Copies" });
		await client.pipelineDestinations.updateSource(
			{ ...at, id: plugin.id },
			{ "index.ts": 'export const jobs = { copy() { throw new Error("The disk is full"); } };' },
		);
		const config = await client.pluginConfigs.create(
			{ project: project.id },
			{ plugin: plugin.id, order: 1, enabled: true, name: "Copy to the archive" },
		);
		await client.pluginConfigs.startJob(
			{ project: project.id, id: config.id },
			{ job: { type: "copy" } },
		);
		const account = await client.serviceAccounts.create(at, { name: "Deployment", level: 1 });
		for (const days of [6, 2])
			await client.serviceAccountKeys.create(
				{ ...at, account: account.id },
				{
					label: `${days} days`,
					scopes: ["plugin:read"],
					expires_at: inDays(days + 0.1),
				},
			);
		const isFailing = async () => [
			(await client.webhooks.list(at)).results[0]?.failing_since !== null,
			(await client.pluginConfigs.get({ project: project.id, id: config.id })).error !== null,
		];
		await expect.poll(isFailing).toEqual([true, true]);
		const page = await open(path);
		const attention = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem");
		await expect
			.poll(async () => {
				const items = await attention.allInnerTexts();
				return items.map((item) => item.split(/\n+/).slice(0, 2).join(" "));
			})
			.toEqual([
				"Failing Chat of the team",
				"Failing Copy to the archive",
				"Expires 2 days of Deployment",
				"Expires 6 days of Deployment",
				"Paused Archive",
			]);
		await attention.getByText("The disk is full").waitFor();
		await checkLooks(page, "overview-attention");
		await attention.getByRole("link", { name: "2 days of Deployment" }).click();
		await page.getByRole("heading", { name: "2 days" }).waitFor();
	});

	test("lists a failed run, however many others have ended since", async () => {
		const { client, organization, at, project, path } = await newOrganization();
		const { url } = await refusing();
		await client.events.ingest({ project: project.id }, [
			{ event: "page viewed", distinct_id: "visitor", timestamp: hoursAgo(0.5) },
		]);
		const created = await client.batchExports.create(at, {
			name: "To the warehouse",
			interval: "hour",
			// Only the backfills run.
			paused: true,
			destination: { type: "HTTP", config: { url } },
		});
		const of = { organization: organization.id, id: created.id };
		const ended = async () =>
			(await client.batchExports.get({ ...at, ...created })).latest_runs.map(
				({ status }) => status,
			);
		await client.batchExports.backfill(
			{ ...at, ...created },
			{ start_at: hoursAgo(1), end_at: hoursAgo(0) },
		);
		await expect.poll(ended).toEqual(["Failed"]);
		// Windows without events.
		await client.batchExports.backfill(
			{ ...at, ...created },
			{ start_at: hoursAgo(12), end_at: hoursAgo(2) },
		);
		await expect.poll(ended).toEqual(Array(10).fill("Completed"));

		const page = await open(path);
		await page
			.getByRole("region", { name: "Needs attention" })
			.getByRole("listitem")
			.getByText(/400.*Unknown fields/)
			.waitFor();
		await page.getByText("Show as table").click();
		await page.getByRole("row", { name: /0 10 1$/ }).waitFor();
		const [run] = (await client.batchExports.listRuns({ ...of, status: ["Failed"] })).results;
		if (!run) throw new Error("No run has failed.");
		await client.batchExports.update(
			{ ...at, ...created },
			{
				destination: { type: "HTTP", config: { exclude_events: ["page viewed"] } },
			},
		);
		await client.batchExports.retryRun(
			{ ...at, id: run.batch_export, run: run.id },
			{ from: "start" },
		);
		await expect
			.poll(
				async () =>
					(await client.batchExports.getRun({ ...at, id: run.batch_export, run: run.id })).status,
			)
			.toBe("Completed");
		await page.reload();
		await page
			.getByRole("region", { name: "Failed runs of the last 7 days" })
			.getByText("1 failure in total, including runs that have been retried.")
			.waitFor();
	});

	test("draws what has arrived, and says what can't be loaded in its place", async () => {
		const { path } = await newOrganization();
		const page = await open(path);
		await page.getByText("of 5 done").waitFor();
		const answer = await hold(page, "**/attention");
		await page.route("**/batch_exports/metrics", (route) => route.abort());
		await page.reload();
		await page.getByRole("listitem").filter({ hasText: "Batch exports" }).last().waitFor();
		expect(await page.getByRole("heading", { name: "Needs attention" }).count()).toBe(0);
		answer();
		await page.getByText("Nothing is failing, paused or about to expire.").waitFor();
		await page.getByText("0 of 5 done").waitFor();
	});

	test("shows a member no step, webhook or domain that only admins can act on", async () => {
		const { client, organization, path } = await newOrganization();
		await client.domains.create(
			{ organization: organization.id },
			{ domain: `${organization.id}.example.com` },
		);
		const page = await open(path, { key: await newMember(organization.id) });
		const rejected = rejectionsOf(page);
		await page.getByText("Nothing is failing, paused or about to expire.").waitFor();
		await expect
			.poll(() => page.getByRole("heading", { name: "First steps" }).isVisible())
			.toBe(false);
		expect(rejected).toEqual([]);
	});
});

inBrowser("the settings", (open) => {
	test("are saved", async () => {
		const { client, organization, path } = await newOrganization();
		const page = await open(`${path}/settings`);
		await page.getByLabel("API keys must expire").check();
		await page.getByLabel("Name").fill("Renamed Ltd");
		expect(await page.getByLabel("Unused sessions end after").inputValue()).toBe("720");
		await page.getByLabel("Unused sessions end after").selectOption("30 minutes");
		await page.getByLabel("Sessions end after", { exact: true }).selectOption("12 hours");
		await button(page, "Save").click();
		await page.getByRole("button", { name: "Organization: Renamed Ltd" }).waitFor();
		expect(await client.organizations.get({ id: organization.id })).toMatchObject({
			name: "Renamed Ltd",
			keys_must_expire: true,
			session_idle_minutes: 30,
			session_max_minutes: 720,
			enforce_2fa: null,
			is_member_join_email_enabled: true,
		});
	});

	describe("that another admin has changed meanwhile", () => {
		/** A page on which a name was typed and sent after another admin had changed it. */
		async function clash() {
			const { client, organization, path } = await newOrganization();
			const other = await open(`${path}/settings`, { key: await newMember(organization.id, 8) });
			const page = await open(`${path}/settings`);
			await page.getByLabel("Name").fill("Mine Ltd");
			await other.getByLabel("Name").fill("Theirs Ltd");
			await other.getByLabel("API keys must expire").check();
			await button(other, "Save").click();
			await other.getByRole("button", { name: "Organization: Theirs Ltd" }).waitFor();
			await button(page, "Save").click();
			await page.getByRole("row", { name: "Name Mine Ltd Theirs Ltd" }).waitFor();
			return { page, read: () => client.organizations.get({ id: organization.id }) };
		}

		test("are overwritten only by choice, and only what was changed here", async () => {
			const { page, read } = await clash();
			expect((await read()).name).toBe("Theirs Ltd");
			await checkLooks(page, "overview-conflict");
			const answer = await hold(page, "**/api/organizations/*");
			await button(page, "Save your version").click();
			// It is too late for another choice.
			await page.keyboard.press("Escape");
			await button(page, "Keep saved version").click({ force: true });
			await page.getByRole("dialog", { name: "Someone else changed this" }).waitFor();
			answer();
			await page.getByRole("button", { name: "Organization: Mine Ltd" }).waitFor();
			expect(await read()).toMatchObject({ name: "Mine Ltd", keys_must_expire: true });
		});

		test("can stay", async () => {
			const { page, read } = await clash();
			await button(page, "Keep saved version").click();
			await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Theirs Ltd");
			expect((await read()).name).toBe("Theirs Ltd");
		});
	});

	test("let an owner delete the organization, with its name typed", async () => {
		const { client, organization, path } = await newOrganization("Doomed Ltd");
		const page = await open(`${path}/settings`);
		await button(page, "Delete organization").click();
		const dialog = page.getByRole("dialog", { name: "Delete Doomed Ltd?" });
		const confirm = dialog.getByRole("button", { name: "Delete organization" });
		await dialog.getByLabel("Type Doomed Ltd to confirm").fill("Doomed");
		await expect.poll(() => confirm.isDisabled()).toBe(true);
		await checkLooks(page, "overview-delete");
		await dialog.getByLabel("Type Doomed Ltd to confirm").fill("Doomed Ltd");
		await confirm.click();
		await page.getByText("Doomed Ltd is deleted.").waitFor();
		await page.waitForURL((url) => !url.pathname.includes(organization.id));
		await expect(client.organizations.get({ id: organization.id })).rejects.toThrow("Not found.");
	});

	test("say how many have no second factor, and tell them first", async () => {
		const { organization, path } = await newOrganization();
		const address = newAddress("ada");
		await newMember(organization.id, 1, address, { isMailed: true });
		const page = await open(`${path}/settings`);
		await page.getByRole("link", { name: "2 members have no second factor" }).waitFor();
		await button(page, "Tell them").click();
		await checkLooks(page, "overview-tell");
		await button(page.getByRole("dialog"), "Send mails").click();
		await page.getByText(/told by mail/).waitFor();
		expect(await factorLinkTo(address)).toMatch(/\/console\/account$/);
		await button(page, "Tell them").click();
		await button(page.getByRole("dialog"), "Send mails").click();
		await page.getByText(/Too many requests/).waitFor();
	});

	test("let a member only read and leave", async () => {
		const { organization, path } = await newOrganization("Left Ltd");
		const page = await open(`${path}/settings`, { key: await newMember(organization.id) });
		await button(page, "Leave organization").waitFor();
		expect(await button(page, "Save").isVisible()).toBe(false);
		expect(await button(page, "Delete organization").isVisible()).toBe(false);
		await button(page, "Leave organization").click();
		await checkLooks(page, "overview-leave");
		await page.getByRole("dialog").getByRole("button", { name: "Leave organization" }).click();
		await page.getByText("You aren't in an organization yet").waitFor();
		await checkLooks(page, "overview-welcome");
		await expect.poll(() => new URL(page.url()).pathname).toBe("/console");
	});
});
