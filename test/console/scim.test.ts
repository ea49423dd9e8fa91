import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { pythonWith, SCIM_TESTER } from "../support/python.ts";
import { button, checkLooks, inBrowser } from "./support/browser.ts";
import { withDomain } from "./support/world.ts";

const python = await pythonWith(SCIM_TESTER).catch(() => null);

const missing = python ? "" : " (skipped: scim2-tester can't be installed)";

test.skipIf(!python)(`the endpoint passes every check of scim2-tester${missing}`, async () => {
	const { client, at, domain, domainAt } = await withDomain();
	const { value } = await client.scimTokens.create({ ...at, domain: domainAt.id });
	const base = `${inject("console").url}/scim/v2/${domainAt.id}`;
	const { stdout } = await promisify(execFile)(python ?? "", [
		`${import.meta.dirname}/../support/scim.py`,
		base,
		value ?? "",
		domain,
	]);
	const results = stdout.trim().split("\n");
	expect(results.length).toBeGreaterThan(60);
	expect(stdout).toContain("Successfully replaced attribute 'userName'");
	// A search of users and groups at once, which RFC 7644 leaves to the server.
	const isOptional = (line: string) => line.startsWith("SKIPPED: search_with_attributes");
	const others = results.filter((line) => !isOptional(line));
	expect(others.filter((line) => !line.startsWith("SUCCESS"))).toEqual([]);
});

inBrowser("the provisioning of a domain", (open) => {
	test("admins connect a provider, choose what its groups grant, and see its requests", async () => {
		const { client, domainAt, path, project, at } = await withDomain();
		await client.organizationProjects.update(
			{ ...at, id: String(project.id) },
			{ access_control: true },
		);
		const page = await open(`${path}/domains/${domainAt.id}`);
		const base = `${inject("console").url}/scim/v2/${domainAt.id}`;
		await page.getByText(base, { exact: true }).waitFor();
		await button(page, "Create token").click();
		await button(page, "Copy token").click();
		const token = await page.evaluate<string>("navigator.clipboard.readText()");
		expect(token).toMatch(/^tnt_scim_/);
		await button(page, "Replace token").waitFor();
		const send = (method: string, below: string, body?: object) =>
			fetch(`${base}${below}`, {
				method,
				headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
				...(body && { body: JSON.stringify(body) }),
			});
		const group = { displayName: "Engineering", color: "blue" };
		expect((await send("POST", "/Groups", group)).status).toBe(201);
		expect((await send("GET", "/Users/nobody")).status).toBe(404);
		await page.reload();
		await button(page, "GET /Users/nobody").waitFor();
		await button(page, "GET /Users/nobody").click();
		await page.getByRole("dialog").getByText("Not found.").waitFor();
		await checkLooks(page, "provisioning_request");
		await page.keyboard.press("Escape");
		await button(page, "POST /Groups").click();
		await page.getByRole("dialog").getByText("color: not supported").waitFor();
		await page.keyboard.press("Escape");
		await button(page, /^Change/).click();
		await page.getByLabel("Level", { exact: true }).selectOption("Admin");
		await page.getByLabel(`Private project ${project.name}`).selectOption("Member");
		await checkLooks(page, "provisioning_group");
		await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
		await page.getByText("Engineering is saved.").waitFor();
		const [saved] = (await client.scimGroups.list({ ...at, domain: domainAt.id })).results;
		expect(saved).toMatchObject({ level: 8, projects: [{ id: project.id, level: 1 }] });
		await button(page, /^Revoke/).click();
		await button(page, "Revoke token").click();
		await page.getByText("The token is revoked.").waitFor();
		expect((await send("GET", "/Users")).status).toBe(401);
	});
});
