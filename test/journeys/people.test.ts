import { expect, inject, test } from "vitest";
import {
	button,
	clientOf,
	cookieOf,
	focused,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
} from "../console/support/browser.ts";
import { inviteTo } from "../console/support/mail.ts";
import { addAuthenticator } from "../console/support/passkeys.ts";
import { follow, signOut } from "../console/support/people.ts";
import { newDomain, publish } from "../console/support/world.ts";
import { overflowOf, screenshot } from "../support/browser.ts";

inBrowser("people", (open) => {
	test("a mailed link signs in once, until the person signs out", async () => {
		const { organization } = await newOrganization();
		const email = newAddress();
		await newMember(organization.id, 1, email);
		const page = await open("/console", { key: "" });
		const link = await follow(page, email);
		await button(page, "Sign in").waitFor();
		await expect.poll(() => page.url()).toBe(`${inject("console").url}/console/sign_in`);
		await button(page, "Sign in").click();
		await page.waitForURL(`**/console/${organization.id}*`);
		const session = await cookieOf(page);
		// Scripts can't read the session.
		const readable =
			"JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])";
		const found = String(await page.evaluate(readable));
		expect([session?.startsWith("tnt_"), found.includes("tnt_")]).toEqual([true, false]);
		await signOut(page);
		expect(await cookieOf(page)).toBe(undefined);
		await expect(clientOf(session).users.get({ user: "@me" })).rejects.toMatchObject({
			status: 401,
		});
		await page.goto(link);
		await button(page, "Sign in").click();
		// A new one can be asked for at once.
		await page
			.getByRole("alert")
			.getByText(/^This link has expired, or was used before\./)
			.waitFor();
		await page.getByLabel("Email").waitFor();
	});

	test("an invited person becomes a member, whose level an admin changes", async () => {
		const { client, at, path } = await newOrganization();
		const { id } = await client.organizationProjects.create(at, {
			name: "Payroll",
			access_control: true,
		});
		const email = newAddress("grace");
		const page = await open(`${path}/members/invite`);
		const addresses = page.getByLabel("Email addresses");
		await addresses.fill(`"Hopper, Grace" <${email}>; admin@example.com, nobody`);
		await page.getByText("“nobody” isn't an email address.").waitFor();
		await page.getByLabel("Payroll").selectOption("Admin");
		await button(page, "Invite 2 people").click();
		await page.getByText("Correct or remove what is invalid.").waitFor();
		await addresses.fill(`"Hopper, Grace" <${email}>; admin@example.com`);
		await button(page, "Invite 2 people").click();
		await page.getByRole("heading", { name: "1 of 2 invited" }).waitFor();
		await page
			.getByText("A user with this email address already belongs to the organization.")
			.waitFor();

		const newcomer = await page.context().newPage();
		await newcomer.goto(await inviteTo(email));
		await expect.poll(() => newcomer.inputValue("[name=first_name]")).toBe("Grace");
		await newcomer.click("button");
		const key = await newcomer.inputValue("textarea");
		expect((await clientOf(key).projects.get({ id })).name).toBe("Payroll");
		await newcomer.close();

		await page.getByRole("link", { name: "Members", exact: true }).first().click();
		await button(page, "Actions for Grace").click();
		await button(page, "Change level of Grace").click();
		await page.getByRole("radio", { name: "Admin" }).check();
		const [grace] = (await client.members.list({ ...at, email })).results;
		if (grace) await client.members.update({ ...at, user: grace.user.uuid }, { level: 15 });
		await button(page, "Change level").click();
		await page
			.getByText("Someone else has changed the level of Grace to owner. Choose again, or cancel.", {
				exact: true,
			})
			.waitFor();
		await button(page, "Change level").click();
		await page.getByText("The level of Grace is now admin.").waitFor();
		await page.getByRole("row", { name: "Grace" }).getByText("Admin", { exact: true }).waitFor();
		await screenshot(page, "journey-level");
		await button(page, "Actions for Grace").click();
		await button(page, "Remove Grace").click();
		await button(page, "Remove member").click();
		await page.getByText("Grace is no longer a member.").waitFor();
		expect((await client.members.list(at)).count).toBe(1);
	});

	test("a passkey is added, and signs in alone", async () => {
		const { organization } = await newOrganization();
		const email = newAddress();
		await newMember(organization.id, 1, email);
		const page = await open("/console/account", { key: "" });
		await addAuthenticator(page);
		await follow(page, email);
		await button(page, "Sign in").click();
		await page.waitForURL(`**/console/${organization.id}*`);
		await page.goto(`${inject("console").url}/console/account`);
		await button(page, "Add a passkey").click();
		await page.getByRole("textbox", { name: "Name", exact: true }).fill("Laptop");
		await button(page, "Continue").click();
		await page.getByText("Save these codes now.").waitFor();
		expect(await page.locator(".recovery-codes li").count()).toBe(10);
		await button(page, "I have saved them").click();
		await page.getByRole("cell", { name: "Laptop" }).waitFor();
		await signOut(page);
		await button(page, "Sign in with a passkey").click();
		await page.getByRole("cell", { name: "Laptop" }).waitFor();
	});

	test("a domain is claimed, its record seen in the DNS, and its sign-in settings saved", async () => {
		const { client, at, path } = await newOrganization();
		const domain = newDomain();
		const page = await open(`${path}/domains`);
		await page.getByText("No domains").waitFor();
		await button(page, "Add domain").click();
		await page.getByLabel("Domain", { exact: true }).fill(`ada@${domain}`);
		await button(page, "Add domain").last().click();
		await page.getByRole("heading", { name: domain }).waitFor();
		await page.clock.install();
		await button(page, "Check record").click();
		await page.getByText(`There is no TXT record at _tenantry-challenge.${domain}.`).waitFor();
		await button(page, "Copy value").click();
		await publish(domain, await page.evaluate<string>("navigator.clipboard.readText()"));
		// The page asks again by itself.
		await page.clock.fastForward("00:21");
		await page.getByText(`${domain} is verified.`).waitFor();

		await page.getByLabel("New people join").check();
		await page.getByLabel("Level of new people").selectOption("Admin");
		await page.getByLabel("Issuer").fill("https://idp.example.com");
		await page.getByLabel("Client ID").fill("tenantry");
		await page.getByLabel("Client secret").fill("secret");
		await button(page, "Save sign-in settings").click();
		await page.getByText("The sign-in settings are saved.").waitFor();
		await page.getByText("One is stored. Leave this empty to keep it.").waitFor();
		expect((await client.domains.list(at)).results).toMatchObject([
			{ has_oidc: true, jit_provisioning_enabled: true, jit_provisioning_level: 8 },
		]);
	});

	test("all is reached on a phone, where nothing is wider than the screen", async () => {
		const { client, at, path } = await newOrganization();
		const page = await open(path, { hasTouch: true, width: 390 });
		for (const [link, text] of [
			["Members", "admin@example.com"],
			["Projects", "Default project"],
			["Batch exports", "No exports yet"],
			["Activity", "Organization created"],
		] as const) {
			await button(page, "Menu").tap();
			const menu = page.getByRole("navigation", { name: "Pages", exact: true });
			await menu.getByRole("link", { name: link, exact: true }).tap();
			await page.locator("main").getByText(text).first().waitFor();
			await menu.waitFor({ state: "hidden" });
			expect([link, await overflowOf(page)]).toEqual([link, 0]);
		}
		await page.goto(`${inject("console").url}${path}/projects`);
		await button(page, "Create project").tap();
		await page.getByLabel("Name").fill("Field work");
		await screenshot(page, "journey-phone");
		await button(page, "Create project").last().tap();
		await page.getByText("No people added").waitFor();
		expect(await overflowOf(page)).toBe(0);
		expect((await client.organizationProjects.list(at)).count).toBe(2);
	});

	test("keys alone lead past the menu, through a form and its question, and to a page", async () => {
		const { client, organization, path } = await newOrganization();
		const page = await open(`${path}/settings`);
		const name = page.getByLabel("Name", { exact: true });
		await name.waitFor();
		await page.getByRole("link", { name: "Skip to content" }).press("Enter");
		await page.keyboard.press("Tab");
		await expect
			.poll(() => page.evaluate("document.activeElement.closest('main') !== null"))
			.toBe(true);
		await name.press("ControlOrMeta+a");
		await page.keyboard.insertText("Keys Ltd");
		/** Goes to a page by its name. */
		async function goTo(text: string) {
			await page.keyboard.press("Control+k");
			await page
				.getByRole("combobox", { name: "Page, name, id or action" })
				.pressSequentially(text);
			await page.getByRole("option", { name: text, selected: true }).waitFor();
			await page.keyboard.press("Enter");
		}
		await goTo("Members");
		const question = page.getByRole("dialog", { name: "Discard your changes?" });
		await question.waitFor();
		await page.keyboard.press("Escape");
		await question.waitFor({ state: "detached" });
		await name.press("Enter");
		await button(page, "Organization: Keys Ltd").waitFor();
		// Until then, the form may ask once more.
		await page.getByText("The settings are saved.").first().waitFor();
		await goTo("Members");
		await page.getByRole("cell", { name: "admin@example.com" }).waitFor();
		await expect.poll(() => focused(page)).toBe("Members");
		expect((await client.organizations.get(organization)).name).toBe("Keys Ltd");
	});
});
