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
		expect(await shown()).toEqual(["Done", "Failed", "Not done"]);
		await dialog.getByText("The service is away.").waitFor();
		await checkLooks(page, "exports-move");
		expect((await client.batchExports.get(old)).paused).toBe(false);
		// The service does it, but the response is lost.
		fails = "after";
		await button(dialog, "Continue").click();
		await expect.poll(async () => (await client.batchExports.get(old)).paused).toBe(true);
		await expect.poll(shown).toEqual(["Done", "Done", "Failed"]);
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
});
