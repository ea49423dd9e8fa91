import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
	button,
	hold as holdUrls,
	inBrowser,
	newMember,
	newOrganization,
	refresh,
} from "./support/browser.ts";
import { newDomain } from "./support/world.ts";

type World = Awaited<ReturnType<typeof newOrganization>>;

const hold = (page: Page, method: string) => holdUrls(page, "**/api/**", method);

const newWebhook = ({ client, at }: World) =>
	client.webhooks.create(at, { url: "http://127.0.0.1:9/", types: ["invite.created"] });

const newStream = ({ client, at }: World) =>
	client.auditStreams.create(at, {
		name: "Archive",
		destination: { type: "R2", config: { prefix: "trail" } },
	});

const newExport = ({ client, at }: World) =>
	client.batchExports.create(at, {
		name: "Warehouse",
		destination: {
			type: "Postgres",
			config: { host: "db.example.com", database: "one", user: "ada", password: "secret" },
		},
		interval: "day",
	});

async function newConfig({ client, at, project }: World) {
	const url = "https://www.npmjs.com/package/greeting";
	const plugin = await client.pipelineDestinations.create(at, { url });
	return client.pluginConfigs.create(
		{ project: project.id },
		{ plugin: plugin.id, order: 1, config: { greeting: "Hello", token: "secret" } },
	);
}

const conflict = (page: Page) => page.getByRole("dialog", { name: "Someone else changed this" });

/**
 * Sends a form that somebody else's change is in the way of, and sends it once more: what was
 * entered is still there.
 */
async function insist(page: Page, save: string, row: string) {
	for (const choice of ["Close", "Save your version"]) {
		await button(page, save).click();
		await conflict(page).getByRole("row", { name: row }).waitFor();
		await conflict(page).getByRole("button", { name: choice }).click();
		await conflict(page).waitFor({ state: "detached" });
	}
}

inBrowser("what is saved", (open) => {
	describe("right after Pause doesn't overwrite what somebody else saved", () => {
		async function check(page: Page, label: string, change: () => Promise<unknown>) {
			await button(page, "Pause").waitFor();
			const answer = await hold(page, "GET");
			const paused = page.waitForResponse((response) => response.request().method() === "PATCH");
			await button(page, "Pause").click();
			await paused;
			await button(page, "Edit").click();
			await page.getByLabel(label, { exact: true }).fill("Mine");
			await change();
			answer();
			await insist(page, "Save", `${label} Mine Theirs`);
			await page.getByRole("dialog").waitFor({ state: "detached" });
		}

		test("of a webhook", async () => {
			const world = await newOrganization();
			const { id } = await newWebhook(world);
			const of = { ...world.at, id };
			const page = await open(`${world.path}/webhooks/${id}`);
			await check(page, "Description", () =>
				world.client.webhooks.update(of, { description: "Theirs", types: [] }),
			);
			const { description, types } = await world.client.webhooks.get(of);
			expect([description, types]).toEqual(["Mine", []]);
		});

		test("of an audit stream", async () => {
			const world = await newOrganization();
			const { id } = await newStream(world);
			const of = { ...world.at, id };
			const page = await open(`${world.path}/audit_streams/${id}`);
			await check(page, "Name", () =>
				world.client.auditStreams.update(of, {
					name: "Theirs",
					destination: { type: "R2", config: { prefix: "theirs" } },
				}),
			);
			const { name, destination } = await world.client.auditStreams.get(of);
			expect([name, destination.config]).toEqual(["Mine", { prefix: "theirs" }]);
		});
	});

	test("a domain's name is, after a conflict, what was entered before it", async () => {
		const { client, at, path } = await newOrganization();
		const [first, mine, theirs] = [newDomain(), newDomain(), newDomain()];
		const { id } = await client.domains.create(at, { domain: first });
		const of = { ...at, id };
		const page = await open(`${path}/domains/${id}`);
		await button(page, "Rename").click();
		await page.getByLabel("Domain", { exact: true }).fill(mine);
		await client.domains.update(of, { domain: theirs });
		await insist(page, "Rename domain", `Domain ${mine} ${theirs}`);
		await page.getByRole("heading", { name: mine }).waitFor();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		expect((await client.domains.get(of)).domain).toBe(mine);
	});

	test("of a domain's sign-in sets nothing back that somebody else saved, also after it was renamed", async () => {
		const { client, at, path } = await newOrganization();
		const { id } = await client.domains.create(at, { domain: newDomain() });
		const of = { ...at, id };
		const page = await open(`${path}/domains/${id}`);
		await page.getByLabel("Entity ID").fill("mine");
		await client.domains.update(of, {
			saml_entity_id: "theirs",
			saml_acs_url: "https://theirs.example.com/",
		});
		const name = newDomain();
		await button(page, "Rename").click();
		await page.getByLabel("Domain", { exact: true }).fill(name);
		await button(page, "Rename domain").click();
		await page.getByRole("heading", { name }).waitFor();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		expect(await page.getByLabel("Entity ID").inputValue()).toBe("mine");
		await insist(page, "Save sign-in settings", "Entity ID of the provider mine theirs");
		await expect
			.poll(() => page.getByLabel("Sign-in URL of the provider").inputValue())
			.toBe("https://theirs.example.com/");
		const { saml_entity_id, saml_acs_url } = await client.domains.get(of);
		expect([saml_entity_id, saml_acs_url]).toEqual(["mine", "https://theirs.example.com/"]);
	});

	describe("is sent once, and what is entered meanwhile stays, and is asked for", () => {
		const forms: Record<
			string,
			readonly [save: string, label: string, path: (world: World) => string | Promise<string>]
		> = {
			"an organization's settings": ["Save", "Name", ({ path }) => `${path}/settings`],
			"a project": [
				"Save changes",
				"Name",
				({ path, project }) => `${path}/projects/${project.id}`,
			],
			"the account": ["Save changes", "Last name", () => "/console/account"],
			"a domain": [
				"Save sign-in settings",
				"Entity ID of the provider",
				async ({ client, at, path }) => {
					const { id } = await client.domains.create(at, { domain: newDomain() });
					return `${path}/domains/${id}`;
				},
			],
			"an export": [
				"Save changes",
				"Database",
				async (world) => `${world.path}/batch_exports/${(await newExport(world)).id}/settings`,
			],
			"a plugin config": [
				"Save",
				"Name",
				async (world) =>
					`${world.path}/plugin_configs/${world.project.id}/${(await newConfig(world)).id}`,
			],
		};
		test.each(Object.entries(forms))("in the form of %s", async (_, [save, label, pathOf]) => {
			const world = await newOrganization();
			const page = await open(await pathOf(world), {
				key: await newMember(world.organization.id, 15),
			});
			const sent: unknown[] = [];
			page.on("request", (request) => {
				if (request.method() === "PATCH") sent.push(request.postData());
			});
			const field = page.getByLabel(label, { exact: true });
			await field.fill("First");
			const answer = await hold(page, "PATCH");
			await button(page, save).click();
			await page.locator("form[aria-busy=true]").waitFor();
			await button(page, save).click({ force: true });
			await field.fill("Second");
			await field.press("Enter");
			answer();
			await page.locator("form[aria-busy=false]").waitFor();
			expect(sent).toEqual([expect.stringContaining("First")]);
			expect(await field.inputValue()).toBe("Second");
			await page.getByRole("link", { name: "API keys" }).first().click();
			await button(page, "Keep editing").click();
			await button(page, save).click();
			await expect.poll(() => sent).toEqual([expect.anything(), expect.stringContaining("Second")]);
			await page.locator("form[aria-busy=false]").waitFor();
			expect(await field.inputValue()).toBe("Second");
			await page.getByRole("link", { name: "API keys" }).first().click();
			await page.getByRole("heading", { name: "API keys" }).waitFor();
		});
	});

	describe("stays in the form with the reason if it can't be saved, and can be sent again, after", () => {
		const waitAnHour = { status: 429, headers: { "retry-after": "3600" } };
		test.each<[string, tries: number, shown: string, answer: object | undefined]>([
			["an error", 1, "Not now.", { status: 409 }],
			["a limit that ends in an hour", 1, "Not now.", waitAnHour],
			["changes by others that don't end", 3, "Not now.", { status: 412 }],
			["a lost connection", 5, "Can't reach the service. Check your connection.", undefined],
		])("%s", async (_, tries, shown, answer) => {
			const { client, project, path } = await newOrganization();
			const page = await open(`${path}/projects/${project.id}`);
			const field = page.getByLabel("Name", { exact: true });
			await field.fill("Mine");
			let sent = 0;
			await page.route("**/api/**", async (route) => {
				if (route.request().method() !== "PATCH") return route.fallback();
				sent += 1;
				const json = { type: "x", code: "y", detail: "Not now.", attr: null };
				return answer ? route.fulfill({ ...answer, json }) : route.abort();
			});
			await button(page, "Save changes").click();
			await page.getByRole("alert").getByText(shown).waitFor();
			expect([sent, await field.inputValue()]).toEqual([tries, "Mine"]);
			await page.unrouteAll();
			await button(page, "Save changes").click();
			await page.getByText("The project is saved.").waitFor();
			expect((await client.projects.get({ id: project.id })).name).toBe("Mine");
		});
	});

	test("is still there when the service can't be reached for a moment", async () => {
		const world = await newOrganization();
		const { id } = await newExport(world);
		const page = await open(`${world.path}/batch_exports/${id}/backfills`);
		await button(page, "New backfill").click();
		const from = page.getByLabel("From", { exact: true });
		await from.fill("2026-01-01T10:00");
		const failed: string[] = [];
		page.on("requestfailed", (request) => failed.push(request.url()));
		const answer = await hold(page, "GET");
		const asked = page.waitForRequest(`**/batch_exports/${id}`);
		await refresh(page);
		// Loading takes longer than the page waits before it loads again.
		const answered = (await asked).response();
		await refresh(page);
		answer();
		await answered;
		expect(failed).toEqual([]);
		await page.unrouteAll();

		await page.route(`**/batch_exports/${id}`, (route) => route.abort());
		await refresh(page);
		const problem = page.getByText("Can't reach the service. Check your connection.");
		await problem.waitFor({ state: "attached" });
		expect(await from.inputValue()).toBe("2026-01-01T10:00");
		await page.unrouteAll();
		await refresh(page);
		await problem.waitFor({ state: "detached" });
		expect(await from.inputValue()).toBe("2026-01-01T10:00");
	});

	test("of a plugin config isn't lost when it is enabled, and sets nothing back that somebody else saved", async () => {
		const world = await newOrganization();
		const { id } = await newConfig(world);
		const of = { project: world.project.id, id };
		const page = await open(`${world.path}/plugin_configs/${world.project.id}/${id}`);
		await page.getByLabel("Description").fill("Mine");
		await world.client.pluginConfigs.update(of, {
			config: { greeting: "Theirs", token: "secret" },
		});
		await page.getByRole("switch").click();
		await page.getByRole("switch", { checked: true }).waitFor();
		expect(await page.getByLabel("Description").inputValue()).toBe("Mine");
		await button(page, "Save").click();
		await page.getByText("Greeting is saved.").waitFor();
		await expect
			.poll(() => page.getByRole("textbox", { name: "Greeting" }).inputValue())
			.toBe("Theirs");
		const { description, config } = await world.client.pluginConfigs.get(of);
		expect([description, JSON.parse(config).greeting]).toEqual(["Mine", "Theirs"]);
	});

	test("of an export sets nothing back that somebody else saved, also after it was paused", async () => {
		const world = await newOrganization();
		const made = await newExport(world);
		const page = await open(`${world.path}/batch_exports/${made.id}/settings`);
		await page.getByLabel("Database").fill("mine");
		await world.client.batchExports.update({ ...world.at, ...made }, { name: "Theirs" });
		await button(page, "Pause").click();
		await button(page, "Pause export").click();
		await button(page, "Resume").waitFor();
		expect(await page.getByLabel("Database").inputValue()).toBe("mine");
		await button(page, "Save changes").click();
		await page.getByText("The export is saved.").waitFor();
		const { name, destination } = await world.client.batchExports.get({ ...world.at, ...made });
		expect([name, destination.config]).toEqual([
			"Theirs",
			{ host: "db.example.com", database: "mine" },
		]);
	});
});
