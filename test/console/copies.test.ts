import { expect, test } from "vitest";
import { button, checkLooks, inBrowser, newOrganization } from "./support/browser.ts";
import { hoursAgo, receiver } from "./support/world.ts";

/** An export whose receiver rejects what it gets, with two windows that it hasn't delivered. */
async function failing() {
	const home = await newOrganization();
	const { client, at, project } = home;
	const { url } = await receiver({ status: 400, text: "Unknown fields." });
	await client.events.ingest(
		{ project: project.id },
		[1.5, 2.5].map((hours) => ({
			event: "seen",
			distinct_id: "a",
			timestamp: hoursAgo(hours),
		})),
	);
	const old = await client.batchExports.create(at, {
		name: "To the warehouse",
		interval: "hour",
		destination: { type: "HTTP", config: { url, token: "secret" } },
	});
	const path = `${home.path}/batch_exports/${old.id}`;
	return { ...home, old: { ...at, id: old.id }, path };
}

inBrowser("a backfill", (open) => {
	test("can be of what isn't delivered only", async () => {
		const { client, old, path } = await failing();
		await client.batchExports.backfill(old, { start_at: hoursAgo(3), end_at: hoursAgo(1) });
		const runs = async () => (await client.batchExports.listRuns(old)).count;
		await expect.poll(async () => (await client.batchExports.get(old)).undelivered).not.toBeNull();
		const before = await runs();
		await client.batchExports.update(old, {
			destination: { config: { exclude_events: ["seen"] } },
		});
		const page = await open(`${path}/backfills`);
		await button(page, "New backfill").click();
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("radio", { name: "Only what isn't delivered", checked: true }).waitFor();
		await checkLooks(page, "exports-backfill-undelivered");
		await button(dialog, "Start backfill").click();
		await page.getByText(/exported again/).waitFor();
		await expect.poll(async () => (await client.batchExports.get(old)).undelivered).toBeNull();
		// No window that was delivered is exported again.
		expect(await runs()).toBe(before);
	});
});

inBrowser("a copy of a webhook or a plugin config", (open) => {
	test("has its settings, but not its secrets", async () => {
		const { client, at, project, organization, path } = await newOrganization();
		const { id } = await client.webhooks.create(at, {
			url: "http://127.0.0.1:9/hooks",
			types: ["member.created"],
			description: "Chat",
		});
		const page = await open(`${path}/webhooks/${id}`);
		await page.getByRole("link", { name: "Duplicate" }).click();
		await page.getByText("Selected events: 1").waitFor();
		expect(await page.getByLabel("URL").inputValue()).toBe("http://127.0.0.1:9/hooks");
		await checkLooks(page, "webhooks-duplicate");
		await page.getByLabel("Description").fill("Chat, again");
		await button(page, "Add webhook").click();
		await page.getByText("whsec_").waitFor();
		const { results } = await client.webhooks.list(at);
		expect(new Set(results.map(({ description, types }) => `${description}: ${types}`))).toEqual(
			new Set(["Chat: member.created", "Chat, again: member.created"]),
		);

		const shop = await client.projects.create({ name: "Shop", organization: organization.id });
		const plugin = await client.pipelineDestinations.create(at, {
			name: "Copies",
			config_schema: [
				{ key: "host", name: "Host", type: "string" },
				{ key: "token", name: "Token", type: "string", secret: true, required: true },
			],
		});
		const config = await client.pluginConfigs.create(
			{ project: project.id },
			{
				...{ plugin: plugin.id, order: 1, name: "Archive" },
				config: { host: "a.example", token: "secret" },
			},
		);
		await page.goto(
			page.url().replace(/\/webhooks\/.*/, `/plugin_configs/${project.id}/${config.id}`),
		);
		await page.getByRole("link", { name: "Duplicate" }).click();
		await page.getByLabel("Project").selectOption("Shop");
		expect(await page.getByLabel("Host", { exact: false }).first().inputValue()).toBe("a.example");
		await checkLooks(page, "plugins-duplicate");
		await button(page, "Set up").click();
		await page.getByText(/Token/).first().waitFor();
		await page.getByLabel("Token").fill("other");
		await button(page, "Set up").click();
		await page.getByRole("heading", { name: "Archive" }).waitFor();
		const [copy] = (await client.pluginConfigs.list({ project: shop.id })).results;
		expect(copy).toMatchObject({ name: "Archive", enabled: true });
		expect(JSON.parse(copy?.config ?? "")).toMatchObject({ host: "a.example" });
	});
});

inBrowser("a copy of an export", (open) => {
	test("is made paused, with the secrets, and a wrong setting is said beside its field", async () => {
		const { client, at, path } = await failing();
		const page = await open(`${path}/settings`);
		await button(page, "Duplicate").click();
		const dialog = page.getByRole("dialog", { name: "Duplicate “To the warehouse”" });
		await dialog.getByLabel("Name of the copy").fill("Zweite Ausfuhr 🧾");
		await dialog.getByLabel("URL").fill("http://127.0.0.1:9/elsewhere");
		await button(dialog, "Duplicate export").click();
		await dialog.getByText("Give the secret fields again").waitFor();
		await dialog.getByLabel("Token").fill("other");
		await checkLooks(page, "exports-duplicate");
		await button(dialog, "Duplicate export").click();
		await page.getByRole("heading", { name: "Zweite Ausfuhr 🧾" }).waitFor();
		const { results } = await client.batchExports.list(at);
		expect(results.map(({ name, paused }) => [name, paused])).toEqual([
			["Zweite Ausfuhr 🧾", true],
			["To the warehouse", false],
		]);
	});

	test("continues when it moves: a step that fails is repeated alone, and nothing is made twice", async () => {
		const { client, at, old, path } = await failing();
		const page = await open(`${path}/settings`);
		/** How often each operation was called, and whether it is to fail: before or after it is done. */
		const calls = { duplicate: 0, hand_over: 0, retry_failed: 0 };
		let fails: "before" | "after" | undefined = "before";
		await page.route(/\/(duplicate|hand_over|retry_failed)$/, async (route) => {
			const operation = new URL(route.request().url()).pathname.split("/").at(-1);
			for (const name of ["duplicate", "hand_over", "retry_failed"] as const)
				if (operation === name) calls[name] += 1;
			const isOff = operation === "duplicate" ? undefined : fails;
			if (isOff === "after") await route.fetch();
			await (isOff
				? route.fulfill({
						status: 409,
						json: {
							type: "invalid_request",
							code: "conflict",
							detail: "The service is away.",
							attr: null,
						},
					})
				: route.fallback());
		});
		await button(page, "Move").click();
		const dialog = page.getByRole("dialog", { name: "Move “To the warehouse”" });
		await dialog.getByLabel("Name of the copy").fill("To the lake");
		await dialog.getByLabel("Destination").selectOption("R2");
		await dialog.getByRole("textbox", { name: "Prefix" }).fill("lake");
		await button(dialog, "Test destination").click();
		await dialog.getByRole("heading", { name: "The test succeeded" }).waitFor();
		await button(dialog, "Move export").click();
		await dialog.getByText("“To the lake” is created and paused.").waitFor();
		const steps = dialog.getByRole("listitem");
		const shown = async () =>
			(await steps.allInnerTexts()).map((text) => /Done|Failed|Not done/.exec(text)?.[0]);
		expect(await shown()).toEqual(["Done", "Done", "Failed", "Not done"]);
		await dialog.getByText("The service is away.").waitFor();
		await checkLooks(page, "exports-move");
		expect((await client.batchExports.get(old)).paused).toBe(false);
		// The service does it, but the response is lost.
		fails = "after";
		await button(dialog, "Continue").click();
		await expect.poll(async () => (await client.batchExports.get(old)).paused).toBe(true);
		await expect.poll(shown).toEqual(["Done", "Done", "Done", "Failed"]);
		fails = undefined;
		await button(dialog, "Continue").click();
		await page.getByText("“To the lake” continues, and “To the warehouse” is paused.").waitFor();
		await page.getByRole("heading", { name: "To the lake" }).waitFor();
		expect(calls).toMatchObject({ duplicate: 1, hand_over: 2, retry_failed: 2 });
		const { results } = await client.batchExports.list(at);
		expect(results.map(({ name, paused }) => [name, paused])).toEqual([
			["To the lake", false],
			["To the warehouse", true],
		]);
		await page.goto(page.url().replace(/\/batch_exports\/.*/, `/batch_exports/${old.id}`));
		await page.getByText(/Paused .*: Moved to “To the lake”\./).waitFor();
	});

	test("of an export with a role isn't moved to before its own subject is trusted", async () => {
		const { client, at, old, path } = await failing();
		const page = await open(`${path}/settings`);
		/** The exports that were tested. The stand-in for the test trusts only one of them. */
		const tested: string[] = [];
		const untrusted =
			"The role doesn't trust the token: sub organization:a:project:1:batch_export:b.";
		let trusts: string | undefined = old.id;
		await page.route(/\/batch_exports\/[^/]+\/test$/, async (route) => {
			const id = new URL(route.request().url()).pathname.split("/").at(-2) ?? "";
			tested.push(id);
			const error = trusts === undefined || trusts === id ? null : untrusted;
			const step = { name: "sign in", error, warning: null };
			await route.fulfill({ json: { success: error === null, steps: [step] } });
		});
		await button(page, "Move").click();
		const dialog = page.getByRole("dialog", { name: "Move “To the warehouse”" });
		await button(dialog, "Test destination").click();
		await dialog.getByRole("heading", { name: "The test succeeded" }).waitFor();
		await button(dialog, "Move export").click();
		await dialog.getByText(untrusted).waitFor();
		await checkLooks(page, "exports-move-untrusted");
		const [copy] = (await client.batchExports.list(at)).results;
		expect(tested).toEqual([old.id, copy?.id]);
		expect(copy?.paused).toBe(true);
		expect((await client.batchExports.get(old)).paused).toBe(false);
		trusts = undefined;
		await button(dialog, "Continue").click();
		await page.getByText(/” continues, and “To the warehouse” is paused\./).waitFor();
		expect((await client.batchExports.get(old)).paused).toBe(true);
	});
});
