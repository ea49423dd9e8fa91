import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import {
	button,
	checkLooks,
	clientOf,
	inBrowser,
	newMember,
	newOrganization,
	rejectionsOf,
} from "./support/browser.ts";
import { inDays } from "./support/world.ts";

/**
 * Adds a new user to a new organization. Their keys are theirs alone, unlike those of the server's
 * owner.
 */
async function newUser(level: 1 | 8) {
	const { organization, path, project } = await newOrganization();
	const key = await newMember(organization.id, level);
	return { organization, path, project, key, client: clientOf(key) };
}

/** What the service answers to a key that reads projects. */
const statusWith = async (key: string) =>
	(
		await fetch(`${inject("console").url}/api/projects`, {
			headers: { authorization: `Bearer ${key}` },
		})
	).status;

/** The value that a page shows once. */
const shownValue = async (page: Page) =>
	(await page.getByLabel("The key's value").locator("code").first().textContent()) ?? "";

/** Confirms what was asked, and waits until the question is gone. */
async function confirm(page: Page, action: string) {
	await page.getByRole("dialog").getByRole("button", { name: action }).click();
	await page.getByRole("dialog").waitFor({ state: "detached" });
}

inBrowser("keys", (open) => {
	test("a key is tried from the browser, its use is counted, and it is rolled", async () => {
		const { key: session } = await newUser(1);
		const page = await open("/console/keys/new", { key: session, address: "127.0.0.1" });
		await page.getByLabel("Name").fill("Nightly import");
		await button(page, "Run exports").click();
		await page.getByText("Also start backfills, retry and cancel runs, pause and resume").waitFor();
		await page.getByLabel("Selected projects").check();
		await button(page, "Create key").click();
		await page.getByText("Select at least one, or remove the restriction.").waitFor();
		await page.getByLabel("Default project").check();
		await page.getByLabel("Allowed IP addresses").fill("127.0.0.1\n::1\n203.0.113.300");
		await button(page, "Create key").click();
		await page.getByText("Entry 3: Enter an IP address").waitFor();
		await page.getByLabel("Allowed IP addresses").fill("127.0.0.1\n::1");
		await button(page, "Create key").click();
		const first = await shownValue(page);
		await button(page, "Send from this browser").click();
		await page.getByText("The key works.").waitFor();
		await checkLooks(page, "keys-made");
		await page.getByRole("link", { name: "View key" }).click();
		await page.getByText("1 request.").waitFor();
		await page.getByText("Days with use").click();
		await checkLooks(page, "keys-key");
		await button(page, "Roll").click();
		await checkLooks(page, "keys-roll");
		await page.getByRole("dialog").getByRole("button", { name: "Roll key" }).click();
		const second = await shownValue(page);
		expect(await Promise.all([first, second].map(statusWith))).toEqual([401, 200]);
		await button(page, "Roll").click();
		await page.getByRole("radio", { name: "In an hour" }).check();
		await page.getByRole("dialog").getByRole("button", { name: "Roll key" }).click();
		await page.getByText("Old value works until").waitFor();
		await expect.poll(() => shownValue(page)).not.toBe(second);
		const third = await shownValue(page);
		expect(await Promise.all([second, third].map(statusWith))).toEqual([200, 200]);
		await button(page, "Revoke").click();
		await checkLooks(page, "keys-revoke");
	});

	test("a member's short-lived key is marked, can't make one that lives longer, and ends the session", async () => {
		const { client, path } = await newUser(1);
		const short = await client.personalApiKeys.create({
			label: "Laptop",
			scopes: ["user:read", "organization:read", "personal_api_key:write"],
			expires_at: inDays(2),
		});
		const old = await client.personalApiKeys.create({
			label: "Old import",
			scopes: ["batch_export:read"],
		});
		await client.personalApiKeys.update(old, { expires_at: inDays(-1) });
		const page = await open("/console/keys", { key: short.value ?? "" });
		const rejected = rejectionsOf(page);
		await page.getByText("One key expires within 7 days.").waitFor();
		await page.getByText("This session").waitFor();
		await page.getByLabel("State").selectOption("Expired");
		await page.getByRole("link", { name: "Laptop" }).waitFor({ state: "detached" });
		await expect.poll(() => page.url()).toMatch(/\/console\/keys\?state=expired$/);
		await page.getByRole("link", { name: "Old import" }).waitFor();
		await page.getByRole("link", { name: "Service accounts" }).click();
		await page.getByText("Only admins can see this").waitFor();
		expect([page.url().endsWith(`${path}/service_accounts`), rejected]).toEqual([true, []]);

		await page.getByRole("link", { name: "API keys" }).click();
		await page.getByRole("link", { name: "New key" }).click();
		await page.getByLabel("Name").fill("For ever");
		await page.getByLabel("Organization: Read").check();
		await page.getByLabel("Projects: None").check();
		await page.getByLabel("Expires").selectOption("Never");
		await button(page, "Create key").click();
		const expires = page.getByLabel("Expires");
		await page.getByText("An API key can't give more access than it has itself.").waitFor();
		await expect.poll(() => expires.getAttribute("aria-invalid")).toBe("true");

		await page.getByRole("link", { name: "API keys" }).first().click();
		await confirm(page, "Discard changes");
		await page.getByRole("link", { name: "Laptop" }).click();
		await button(page, "Revoke").click();
		await page.getByText("You are signed out, and programs").waitFor();
		await checkLooks(page, "keys-revoke-session");
		await confirm(page, "Revoke key");
		await page.getByText("You are signed out.").waitFor();
		expect(await client.personalApiKeys.list()).toMatchObject({ count: 2 });
	});

	test("a new key ends with a session that ends soon", async () => {
		const { client } = await newUser(1);
		const session = await client.personalApiKeys.create({
			label: "Session",
			scopes: ["*"],
			expires_at: inDays(10),
		});
		const page = await open("/console/keys/new", { key: session.value ?? "" });
		await page.getByRole("textbox", { name: "Name" }).fill("Short");
		await page.getByLabel("Organization: Read").check();
		await page.getByLabel("Projects: None").check();
		await button(page, "Create key").click();
		await shownValue(page);
		const { results } = await client.personalApiKeys.list();
		const made = results.find(({ label }) => label === "Short");
		expect(made?.expires_at).toBe(session.expires_at);
	});

	test("a service account is made, given a key, made an admin and deleted", async () => {
		const { client, organization, key, path } = await newUser(8);
		const secret = await client.organizationProjects.create(
			{ organization: organization.id },
			{ name: "Payroll", access_control: true },
		);
		const page = await open(`${path}/service_accounts`, { key });
		await page.getByText("No service accounts yet").waitFor();
		await button(page, "New service account").click();
		await page.getByLabel("Name").fill("Warehouse import");
		await page.getByLabel("Payroll").check();
		await checkLooks(page, "service_accounts-new");
		await button(page, "Create account").click();
		await page.getByText("All except private projects, and Payroll").waitFor();

		await page.getByRole("link", { name: "New key" }).click();
		await page.getByLabel("Name").fill("Production");
		await button(page, "Read only").click();
		await button(page, "Create key").click();
		const value = await shownValue(page);
		expect((await clientOf(value).projects.get({ id: secret.id })).name).toBe("Payroll");
		await page.getByRole("link", { name: "Warehouse import" }).click();
		await page.getByRole("link", { name: "Production" }).waitFor();

		await button(page, "Edit").click();
		await page.getByLabel("Admin").check();
		await checkLooks(page, "service_accounts-edit");
		await button(page, "Save").click();
		await page.getByText("“Warehouse import” is saved.").waitFor();
		const [account] = (await client.serviceAccounts.list({ organization: organization.id }))
			.results;
		expect(account).toMatchObject({ level: 8, projects: [secret.id] });

		await page.getByRole("link", { name: "Service accounts" }).first().click();
		await page.getByRole("cell", { name: "Admin" }).waitFor();
		await page.getByRole("link", { name: "Warehouse import" }).click();
		await button(page, "Delete").click();
		await page.getByLabel("Type Warehouse import to confirm").fill("Warehouse import");
		await checkLooks(page, "service_accounts-delete");
		await confirm(page, "Delete account");
		await page.getByText("“Warehouse import” is deleted.").waitFor();
		expect(await statusWith(value)).toBe(401);
	});

	test("a service account trusts an issuer, whose settings are changed, and then no longer", async () => {
		const { client, organization, project, key, path } = await newUser(8);
		const at = { organization: organization.id };
		const account = await client.serviceAccounts.create(at, { name: "Deployment" });
		const within = { ...at, account: account.id };
		const stored = async () => (await client.trustedIssuers.list(within)).results;
		const page = await open(`${path}/service_accounts/${account.id}`, { key });
		await page.getByText("No trusted issuers yet").waitFor();
		await page.getByRole("link", { name: "Trust an issuer" }).click();
		await page.getByLabel("Name").fill("Builds");
		await page.getByLabel("Issuer").fill("https://192.0.2.1");
		await page.getByLabel("Subject").fill("repo:*");
		await page.getByLabel("Other claims").fill("environment");
		const create = button(page, "Trust issuer");
		await create.click();
		await page.getByText("“environment” has no =.").waitFor();
		await page.getByLabel("Other claims").fill("environment=production\n a = b=c ");
		await create.click();
		await page.getByText("A * can only be at the end").waitFor();
		await checkLooks(page, "trusted_issuers-new");
		await page.getByLabel("Subject").fill("repo:octo-org/website:*");
		await create.click();
		await page.getByText("“Builds” is trusted.").waitFor();
		const [made] = await stored();
		expect(made).toMatchObject({
			subject: "repo:octo-org/website:*",
			claims: { environment: "production", a: "b=c" },
			scopes: ["project:read"],
			scoped_projects: [],
		});
		await page.getByText(made?.id ?? "").waitFor();

		await page.getByLabel("Subject").fill("repo:octo-org/website:environment:production");
		await page.getByLabel("Selected projects").check();
		await page.getByLabel(project.name).check();
		await button(page, "Read only").click();
		await button(page, "Save").click();
		await page.getByText("“Builds” is saved.").waitFor();
		const [saved] = await stored();
		expect(saved).toMatchObject({
			...{ name: "Builds", audience: made?.audience, claims: made?.claims },
			subject: "repo:octo-org/website:environment:production",
			scoped_projects: [project.id],
		});
		await page.getByRole("link", { name: "Deployment" }).click();
		await page.getByRole("link", { name: "Builds" }).click();
		await button(page, "Stop trusting").click();
		await confirm(page, "Stop trusting");
		await page.getByText("“Builds” is no longer trusted.").waitFor();
		expect(await stored()).toEqual([]);
	});
});
