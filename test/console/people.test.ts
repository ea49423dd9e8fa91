import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { codeOf } from "../support/totp.ts";
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
} from "./support/browser.ts";
import { newDomain, withDomain } from "./support/world.ts";

const note = (page: Page, text: string) => page.locator(".note", { hasText: text }).waitFor();

inBrowser("people", (open) => {
	test("more people than one request can have are invited, and after a rejection each who isn't is named", async () => {
		const { client, at, path } = await newOrganization();
		const invite = await client.invites.create(at, {
			target_email: newAddress(),
			send_email: false,
		});
		const people = Array.from({ length: 45 }, (_, i) => `person-${i}@example.org`);
		const page = await open(`${path}/members/invite`);
		const sent: string[][] = [];
		let rejected = 0;
		await page.route("**/invites/bulk*", (route) => {
			const bodies: { target_email: string }[] = route.request().postDataJSON();
			sent.push(bodies.map(({ target_email }) => target_email));
			if (sent.length === rejected) {
				const [type, code] = ["authentication_error", "permission_denied"];
				const json = { type, code, detail: "Only owners can do this.", attr: null };
				return route.fulfill({ status: 403, json });
			}
			const results = bodies.map(({ target_email }) => ({ ...invite, target_email }));
			return route.fulfill({ status: 201, json: { results } });
		});
		await page.getByLabel("Email addresses").fill(people.join("\n"));
		await button(page, "Invite 45 people").click();
		await page.getByRole("heading", { name: "45 of 45 invited" }).waitFor();
		expect(sent.map(({ length }) => length)).toEqual([20, 20, 5]);
		expect(sent.flat()).toEqual(people);

		rejected = 5;
		await button(page, "Invite more people").click();
		await page.getByLabel("Email addresses").fill(people.join("\n"));
		await button(page, "Invite 45 people").click();
		await page.getByRole("heading", { name: /of \d+ invited$/ }).waitFor();
		expect(await page.locator("h1").innerText()).toBe("20 of 45 invited");
		const listed = await page
			.locator("li", { hasText: "Only owners can do this." })
			.allInnerTexts();
		expect(listed.map((text) => text.split(/\s/)[0])).toEqual(people.slice(20));
		// What would be rejected as well wasn't sent.
		expect(sent).toHaveLength(5);
	});

	test("rows of a spreadsheet are invited with their names, levels and projects, and unknown columns are named once", async () => {
		const { client, at, path } = await newOrganization();
		const secret = await client.organizationProjects.create(at, {
			name: "Payroll",
			access_control: true,
		});
		const [ada, grace] = [newAddress("ada"), newAddress("grace")];
		const page = await open(`${path}/members/invite`);
		const rows = [
			["Email", "Name", "Team", "Level", "Projects"],
			[ada, "Ada Lovelace", "R&D", "Admin", ""],
			[grace, "Grace Hopper", "Navy", "", "Payroll (admin)"],
		];
		await page.getByLabel("Email addresses").fill(rows.map((row) => row.join("\t")).join("\n"));
		await page.getByText("This column isn't used: Team.").waitFor();
		await checkLooks(page, "people-invite-spreadsheet");
		await button(page, "Invite 2 people").click();
		await page.getByRole("heading", { name: "2 of 2 invited" }).waitFor();
		const { results } = await client.invites.list(at);
		const invited = new Map(results.map((invite) => [invite.target_email, invite]));
		expect(invited.get(ada)).toMatchObject({ first_name: "Ada", level: 8 });
		expect(invited.get(grace)).toMatchObject({
			first_name: "Grace",
			level: 1,
			private_project_access: [{ id: secret.id, level: 8 }],
		});
	});

	test("an owner resets a member's second factor, after proving their own", async () => {
		const { organization, path } = await newOrganization();
		const [mine, theirs] = [newAddress("owner"), newAddress("lost")];
		const [key, other] = [
			await newMember(organization.id, 15, mine, { isMailed: true }),
			await newMember(organization.id, 1, theirs, { isMailed: true }),
		];
		const [owner, member] = [clientOf(key), clientOf(other)];
		const setUp = async ({ twoFactor }: typeof owner) => {
			const { secret } = await twoFactor.begin({ user: "@me" });
			await twoFactor.confirm({ user: "@me" }, { code: await codeOf(secret, -1) });
			return secret;
		};
		await setUp(member);
		const page = await open(`${path}/members?search=${theirs}`, { key });
		const menu = button(page, /^Actions for /);
		const reset = button(page, /^Reset second factor of /);
		await menu.click();
		await reset.click();
		await page.getByText("You have no second factor yourself").waitFor();
		await page.keyboard.press("Escape");
		const secret = await setUp(owner);
		await menu.click();
		await reset.click();
		await page.getByText("Prove your own second factor.").waitFor();
		await checkLooks(page, "people-reset-factor");
		await page.getByRole("textbox", { name: "Code" }).fill(await codeOf(secret));
		await page.getByRole("dialog").getByRole("button", { name: "Reset second factor" }).click();
		await note(page, "is reset.");
		expect((await member.twoFactor.get({ user: "@me" })).is_enabled).toBe(false);
	});

	test("an open invite is sent again once, gets a new link, and is revoked", async () => {
		const { client, at, path } = await newOrganization();
		await client.invites.create(at, { target_email: newAddress("ada") });
		const page = await open(`${path}/members/invites`);
		let sent = 0;
		await page.route("**/invites", async (route) => {
			sent += 1;
			await route.continue();
		});
		const answer = await hold(page, "**/invites");
		await button(page, /^Actions for ada/).click();
		const again = button(page, /^Send again for ada/);
		await again.press("Enter");
		await again.press("Enter");
		await expect.poll(() => again.getAttribute("aria-busy")).toBe("true");
		await again.press("Enter");
		answer();
		await note(page, "A new mail was sent");
		// The new invite's row has taken the place of the old one's.
		await expect
			.poll(() => page.evaluate("document.activeElement.ariaLabel"))
			.toMatch(/^Actions for ada/);
		await page.unrouteAll();
		expect(sent).toBe(1);
		await button(page, /^Actions for ada/).click();
		await button(page, /^New link for ada/).click();
		await page.getByRole("heading", { name: /^Link for ada/ }).waitFor();
		await checkLooks(page, "people-invite-link");
		const link = await page.locator("dialog pre").textContent();
		const token = link?.split("/").at(-1) ?? "";
		expect((await client.invites.preview({ token })).organization_name).toBe("Analytics Ltd");
		await button(page, "I have copied it").click();
		await button(page, /^Actions for ada/).click();
		await button(page, /^Revoke for ada/).click();
		await checkLooks(page, "people-invite-revoke");
		await button(page, "Revoke invite").click();
		await page.getByText("No open invites").waitFor();
		expect((await client.invites.list(at)).count).toBe(0);
	});

	test("several members are chosen, their levels changed unless somebody else has done it, and removed", async () => {
		const { client, organization, at, path } = await newOrganization();
		const emails = [newAddress("ada"), newAddress("eve")];
		for (const email of emails) await newMember(organization.id, 1, email);
		const page = await open(`${path}/members`);
		await page.getByRole("checkbox", { name: "Choose all" }).check();
		await page.getByText("2 chosen").waitFor();
		await checkLooks(page, "people-members-chosen");
		await button(page, "Change level").click();
		await page.getByRole("radio", { name: "Admin" }).check();
		const [eve] = (await client.members.list({ ...at, email: emails[1] })).results;
		if (eve) await client.members.update({ ...at, user: eve.user.uuid }, { level: 15 });
		const change = page.getByRole("dialog").getByRole("button", { name: "Change level" });
		await change.click();
		await page.getByText(/^1 of 2 failed\. .+ to owner\. Choose again/).waitFor();
		const levels = async () =>
			(await client.members.list(at)).results.map(({ level }) => level).sort((a, b) => a - b);
		expect(await levels()).toEqual([8, 15, 15]);
		await change.click();
		await note(page, "The level of 2 members is now admin.");
		expect(await levels()).toEqual([8, 8, 15]);
		await button(page, "Remove").click();
		await page.getByText("Each of them immediately loses access").waitFor();
		await button(page, "Remove members").click();
		await note(page, "2 people are no longer members.");
		expect((await client.members.list(at)).count).toBe(1);
	});

	test("several invites are chosen, sent again and revoked", async () => {
		const { client, at, path } = await newOrganization();
		for (const name of ["ada", "bob", "eve"])
			await client.invites.create(at, { target_email: newAddress(name) });
		const page = await open(`${path}/members/invites`);
		for (const name of ["ada", "eve"])
			await page.getByRole("checkbox", { name: new RegExp(`^Choose ${name}`) }).check();
		await page.getByText("2 chosen").waitFor();
		await button(page, /^Send again$/).click();
		await note(page, "A new mail was sent to 2 people.");
		// New invites have taken the places of those that were chosen.
		await expect.poll(() => page.getByText("chosen").count()).toBe(0);
		for (const name of ["ada", "eve"])
			await page.getByRole("checkbox", { name: new RegExp(`^Choose ${name}`) }).check();
		await button(page, /^Revoke$/).click();
		await button(page, "Revoke invites").click();
		await note(page, "The invites for 2 people are revoked.");
		const left = (await client.invites.list(at)).results;
		expect(left.map(({ target_email }) => target_email)).toEqual([expect.stringContaining("bob")]);
	});

	test("a member gets no buttons that fail", async () => {
		const { client, organization, at, project, path } = await newOrganization();
		const { id } = await client.domains.create(at, { domain: newDomain() });
		const key = await newMember(organization.id, 1, newAddress("eve"));
		const page = await open(`${path}/members?search=eve`, { key });
		const rejections = rejectionsOf(page);
		await button(page, "Leave").waitFor();
		expect(await button(page, /Change level|Remove/).count()).toBe(0);
		for (const [part, text] of [
			["domains", "Not verified"],
			[`domains/${id}`, "People sign in with"],
			["projects", "Default project"],
			[`projects/${project.id}`, "No people added"],
		] as const) {
			await page.goto(`${inject("console").url}${path}/${part}`);
			await page.getByText(text).first().waitFor();
			// Others than those that sort a list.
			const names = await page.locator("main button:not(th button)").allTextContents();
			const others = names.filter((name) => !/^(?:Copy|Save as CSV|Send a test event)/.test(name));
			expect(others).toEqual([]);
		}
		expect(rejections).toEqual([]);
	});

	test("a domain says why its settings aren't saved, copies what its provider needs, and is deleted", async () => {
		const { client, at, domain, domainAt, path } = await withDomain();
		const page = await open(`${path}/domains`);
		await button(page, "Add domain").click();
		await page.getByLabel("Domain", { exact: true }).fill("co.uk");
		await button(page, "Add domain").last().click();
		await page.getByText("Please enter a valid domain or subdomain name.").waitFor();
		await checkLooks(page, "people-domain-new");
		await page.getByLabel("Domain", { exact: true }).fill("");
		await page.keyboard.press("Escape");
		await page.getByRole("link", { name: domain }).click();
		const way = page.getByLabel("People sign in with");
		for (const [choice, words] of [
			["SAML", "SAML cannot be enforced without"],
			["GitHub", "Sign in this way yourself before you enforce it"],
		] as const) {
			await way.selectOption(choice);
			await button(page, "Save sign-in settings").click();
			await page.getByText(words).waitFor();
		}
		await way.selectOption("Any way");
		const sso = `${inject("console").url}/sso`;
		for (const [copy, url] of [
			["Copy redirect URI", `${sso}/oidc/${domainAt.id}/callback`],
			["Copy reply URL", `${sso}/saml/${domainAt.id}/acs`],
		] as const) {
			await button(page, copy).click();
			expect(await page.evaluate("navigator.clipboard.readText()")).toBe(url);
		}
		await button(page, "Delete").click();
		await page.getByRole("textbox", { name: /^Type/ }).fill(domain);
		await checkLooks(page, "people-domain-delete");
		await button(page, "Delete domain").click();
		await page.getByText("No domains").waitFor();
		expect((await client.domains.list(at)).count).toBe(0);
	});

	test("a project is created, opened to somebody, and deleted", async () => {
		const { client, organization, at, path } = await newOrganization();
		const email = newAddress("ida");
		const key = await newMember(organization.id, 1, email);
		const page = await open(`${path}/projects`);
		await button(page, "Create project").click();
		await page.getByLabel("Name").fill("Payroll");
		await page.getByLabel("Time zone").fill("Mars/Olympus");
		await page.getByLabel("Private").check();
		await button(page, "Create project").last().click();
		await page.getByText('"Mars/Olympus" is not a valid choice.').waitFor();
		await page.getByLabel("Time zone").fill("Europe/Berlin");
		await page.getByText("Current time:").waitFor();
		await button(page, "Create project").last().click();
		await page.getByText("No people added").waitFor();
		// What a project has is one click away.
		const within = page.getByRole("region", { name: "In this project" });
		for (const [name, place] of [
			["Batch exports", `batch_exports?project=`],
			["Plugin configs", `plugin_configs?project=`],
			["Activity", "activity?scope=Project&item_id="],
			["Events", "#events"],
			["People", "#people"],
		] as const)
			expect(await within.getByRole("link", { name, exact: true }).getAttribute("href")).toContain(
				place,
			);
		await within.getByRole("link", { name: "People" }).click();
		expect(await page.locator(":target").innerText()).toContain("No people added");
		await button(page, "Add person").click();
		await page.getByLabel("Email address of a member").fill(email);
		await checkLooks(page, "people-project-add");
		await button(page, "Add person").last().click();
		await note(page, "Robin was added to the project.");
		await page.getByRole("row", { name: email }).waitFor();
		await button(page, "Change level of Robin").click();
		await page.getByRole("radio", { name: "Admin" }).check();
		await button(page, "Change level").last().click();
		await note(page, "The level of Robin in Payroll is now admin.");
		await page.getByRole("row", { name: email }).getByText("Admin").waitFor();
		await button(page, "Remove Robin").click();
		await checkLooks(page, "people-project-remove");
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();

		const seen = await open(new URL(page.url()).pathname, { key });
		await seen.getByLabel("Name").fill("Pay");
		await button(seen, "Save changes").click();
		await note(seen, "The project is saved.");
		await button(seen, "Send a test event").click();
		await note(seen, "A test event was sent to Pay.");
		expect(await button(seen, "Delete project").count()).toBe(0);

		await page.goto(`${inject("console").url}${path}/projects`);
		await page.getByRole("row", { name: "Pay" }).waitFor();
		await page.getByRole("link", { name: "Pay" }).click();
		await button(page, "Delete project").click();
		const sure = button(page, "Delete project").last();
		await expect.poll(() => sure.isDisabled()).toBe(true);
		await page.getByText(/^This deletes 1 member.* 1 event/).waitFor();
		await page.getByRole("textbox", { name: /^Type/ }).fill("Pay");
		await checkLooks(page, "people-project-delete");
		await sure.click();
		await note(page, "Pay is deleted.");
		expect((await client.organizationProjects.list(at)).count).toBe(1);
		await button(page, "Undo").click();
		await note(page, "Pay is restored.");
		expect((await client.organizationProjects.list(at)).count).toBe(2);
	});

	test("projects, domains, invites and people of a project are searched by a part of the name", async () => {
		const { client, organization, at, project, path } = await newOrganization();
		for (const name of ["Payroll", "Shop"]) await client.organizationProjects.create(at, { name });
		const [ours, theirs] = [newDomain(), `other.${newDomain()}`];
		for (const domain of [ours, theirs]) await client.domains.create(at, { domain });
		// No random address contains these names by chance.
		for (const name of ["lovelace", "hopper"])
			await client.invites.create(at, {
				target_email: newAddress(name),
				send_email: false,
			});
		const page = await open(path);
		for (const [at, label, needle, found, other] of [
			["projects", "Search projects", "ROLL", "Payroll", "Shop"],
			["domains", "Search domains", "OTHER.", theirs, ours],
			["members/invites", "Search invites", "LoveLace-", "lovelace-", "hopper-"],
		] as const) {
			await page.goto(`${inject("console").url}${path}/${at}`);
			const row = (text: string) => page.locator("tbody tr", { hasText: text });
			await row(other).waitFor();
			await page.getByRole("searchbox", { name: label }).fill(needle);
			await row(other).waitFor({ state: "detached" });
			expect(await row(found).count()).toBe(1);
			expect(new URL(page.url()).searchParams.get("search")).toBe(needle);
			await page.getByRole("searchbox", { name: label }).fill("nothing of the kind");
			await page.getByText(/^No (projects|domains|invites) found$/).waitFor();
		}

		for (const name of ["eve", "joan"]) await newMember(organization.id, 1, newAddress(name));
		for (const { user } of (await client.members.list(at)).results)
			if (/^(eve|joan)-/.test(user.email))
				await client.projectMembers.add(
					{ project: project.id },
					{ user_uuid: user.uuid, level: 1 },
				);
		await page.goto(`${inject("console").url}${path}/projects/${project.id}`);
		const row = (name: string) => page.locator("tbody tr", { hasText: name });
		await row("joan-").waitFor();
		const search = page.getByRole("searchbox", { name: "Search people" });
		await search.fill("EVE-");
		await row("joan-").waitFor({ state: "detached" });
		expect(await row("eve-").count()).toBe(1);
		await search.fill("");
		await row("joan-").waitFor();
		expect(await page.evaluate("document.activeElement.type")).toBe("search");
		await search.fill("nobody");
		await page.getByText("No people found").waitFor();
	});

	test("a project that somebody else has changed meanwhile is saved by choice", async () => {
		const { client, project, path } = await newOrganization();
		const page = await open(`${path}/projects/${project.id}`);
		await page.getByLabel("Name").fill("Mine");
		await client.projects.update({ id: project.id }, { name: "Theirs" });
		await button(page, "Save changes").click();
		await page.getByRole("row", { name: "Name Mine Theirs" }).waitFor();
		await checkLooks(page, "people-conflict");
		await button(page, "Save your version").click();
		await note(page, "Your version is saved.");
		await page.getByRole("heading", { name: "Mine" }).waitFor();
		expect((await client.projects.get({ id: project.id })).name).toBe("Mine");
	});
});
