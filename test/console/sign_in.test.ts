import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { codeOf } from "../support/totp.ts";
import {
	button,
	checkLooks,
	clientOf,
	cookieOf,
	hold,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
	watch,
} from "./support/browser.ts";
import { inviteTo, linkTo } from "./support/mail.ts";
import { follow, pasteKey, signOut } from "./support/people.ts";

/** Types the code that an app with this secret shows. */
async function typeCode(page: Page) {
	await page.getByText("Or enter the secret in the app").click();
	const secret = await page.locator("details pre").innerText();
	await page.getByRole("textbox", { name: "Code" }).fill(await codeOf(secret.replaceAll(" ", "")));
}

/** The recovery codes on the page. */
const codesOn = (page: Page) => page.locator(".recovery-codes li").allInnerTexts();

inBrowser("signing in", (open) => {
	test("with a pasted key ends without revoking it", async () => {
		const { organization } = await newOrganization();
		const page = await open("/console", { key: "" });
		const key = await newMember(organization.id, 1);
		await page.getByLabel("Email address").fill("nobody@example.com");
		await button(page, "Continue").click();
		await page.getByText("Check your mail.").waitFor();
		await checkLooks(page, "sign-in-sent");
		await button(page, "Send again, or use another address").click();
		await page.getByLabel("Email address").waitFor();
		await checkLooks(page, "sign-in");
		await pasteKey(page, key);
		await button(page, "Sign out").click();
		await page.getByText("Your key still works").waitFor();
		expect(await cookieOf(page)).toBe(undefined);
		expect(await page.evaluate("Object.keys(localStorage)")).toEqual(["tenantry.organization"]);
		await clientOf(key).users.get({ user: "@me" });
	});

	test("sets up a second factor where an organization requires one", async () => {
		const { organization, client } = await newOrganization();
		const email = newAddress();
		await newMember(organization.id, 1, email);
		await client.organizations.update({ id: organization.id }, { enforce_2fa: true });
		const page = await open("/console/account", { key: "" });
		const first = await follow(page, email);
		await button(page, "Sign in").waitFor();
		await checkLooks(page, "sign-in-link");
		await button(page, "Sign in").click();
		await page.getByText("Your organization requires a second factor.").waitFor();
		await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("code");
		await page.getByRole("img", { name: "QR code" }).waitFor();
		await checkLooks(page, "sign-in-set-up");
		await page.getByRole("textbox", { name: "Code" }).fill("000000");
		await button(page, "Sign in").click();
		await page.getByText("This code is wrong, or was used before.").waitFor();
		await typeCode(page);
		await button(page, "Sign in").click();
		await page.getByText("Save these codes now.").waitFor();
		const codes = await codesOn(page);
		expect(codes).toHaveLength(10);
		await checkLooks(page, "sign-in-recovery-codes");
		await button(page, "Copy codes").click();
		await page.getByText("Copied").waitFor();
		expect(await page.evaluate("navigator.clipboard.readText()")).toBe(codes.join("\n"));
		const [file] = await Promise.all([
			page.waitForEvent("download"),
			page.getByRole("link", { name: "Download" }).click(),
		]);
		expect(file.suggestedFilename()).toBe("tenantry-recovery-codes.txt");
		await button(page, "I have saved them").click();
		await page.waitForURL(`**/console/${organization.id}*`);
		await signOut(page);
		// The next time, a code is all that is asked for.
		await follow(page, email, first);
		await button(page, "Sign in").click();
		await page.getByRole("textbox", { name: "Code" }).waitFor();
		await checkLooks(page, "sign-in-code");
		await page.getByRole("textbox", { name: "Code" }).fill(codes[0] ?? "");
		await button(page, "Sign in").click();
		await page.waitForURL(`**/console/${organization.id}*`);
		await page.goto(`${inject("console").url}/console/account`);
		await page.getByText("9 left").waitFor();
		expect(await button(page, "Disable").count()).toBe(0);
	});
});

inBrowser("a session", (open) => {
	/** A page of somebody who has signed in by mail. */
	async function signedIn() {
		const { organization, path } = await newOrganization();
		const email = newAddress();
		await newMember(organization.id, 1, email);
		const page = await open("/console", { key: "" });
		await follow(page, email);
		await button(page, "Sign in").click();
		await page.waitForURL(`**${path}*`);
		return { page, email, path: inject("console").url + path };
	}

	test("is that of new tabs, of other windows and of links from elsewhere", async () => {
		const { page, email, path } = await signedIn();
		const tab = await page.context().newPage();
		await tab.goto(`${path}/members`);
		await tab.getByRole("cell", { name: email }).waitFor();
		const [other] = await Promise.all([
			page.context().waitForEvent("page"),
			page.evaluate(`void open("${path}/members", "_blank", "noopener,popup")`),
		]);
		await other.getByRole("cell", { name: email }).waitFor();
		// Another site links here, such as a mail in the browser.
		await tab.route("https://mail.test/", (route) =>
			route.fulfill({ contentType: "text/html", body: `<a href="${path}/members">Open</a>` }),
		);
		await tab.goto("https://mail.test/");
		await tab.getByRole("link", { name: "Open" }).click();
		await tab.getByRole("cell", { name: email }).waitFor();
		expect(tab.url()).toBe(`${path}/members`);
	});

	test("ends in all tabs, and begins again in all tabs that wait", async () => {
		const { page, email, path } = await signedIn();
		const tab = await page.context().newPage();
		await tab.goto(`${path}/members`);
		await tab.getByRole("cell", { name: email }).waitFor();
		await signOut(tab);
		await page.getByText("You signed out in another tab.").waitFor();
		await checkLooks(page, "signed-out-elsewhere");
		expect(await page.getByText(email).count()).toBe(0);
		const used = await linkTo(email);
		await clientOf().signIn.request({ email });
		const third = await page.context().newPage();
		await third.goto(await linkTo(email, used));
		await button(third, "Sign in").click();
		await tab.getByRole("cell", { name: email }).waitFor();
		await page.getByRole("link", { name: "Members" }).first().waitFor();
	});
});

inBrowser("an invite of a user with a second factor", (open) => {
	test("is accepted in the console, after signing in with a mail and a code", async () => {
		const [home, elsewhere] = [await newOrganization(), await newOrganization("Elsewhere Ltd")];
		const email = newAddress();
		const isMailed = true;
		const client = clientOf(await newMember(home.organization.id, 1, email, { isMailed }));
		const before = await inviteTo(email);
		const { secret } = await client.twoFactor.begin({ user: "@me" });
		await client.twoFactor.confirm({ user: "@me" }, { code: await codeOf(secret, -1) });
		const { organization } = elsewhere;
		await clientOf().invites.create({ organization: organization.id }, { target_email: email });
		const page = await open("/console", { key: "" });
		await page.goto(await inviteTo(email, before));
		await page.getByRole("link", { name: "Sign in and accept" }).click();
		await page.getByLabel("Email address").fill(email);
		await button(page, "Continue").click();
		const other = await page.context().newPage();
		watch(other);
		await other.goto(await linkTo(email));
		await button(other, "Sign in").click();
		await other.getByText("I have lost my second factor").click();
		await other.getByText("ask an owner of your organization").waitFor();
		await checkLooks(other, "sign-in-lost-factor");
		await other.getByRole("textbox", { name: "Code" }).fill(await codeOf(secret));
		await button(other, "Sign in").click();
		// The first tab goes on.
		await page.getByText(`invites ${email} to join Elsewhere Ltd`).waitFor();
		await other.close();
		await checkLooks(page, "accept-invite");
		await button(page, "Accept the invite").click();
		await page.waitForURL(`**/console/${organization.id}*`);
		const { results } = await clientOf(await cookieOf(page)).organizations.list();
		expect(results.map(({ name }) => name)).toContain("Elsewhere Ltd");
	});

	test("isn't offered to somebody else, who can sign out", async () => {
		const { organization } = await newOrganization();
		const email = newAddress();
		const { accept_url } = await clientOf().invites.create(
			{ organization: organization.id },
			{ target_email: email, send_email: false },
		);
		const page = await open("/console", { key: await newMember(organization.id) });
		await page.goto(
			`${inject("console").url}/console/accept#invite=${accept_url?.split("/").at(-1)}`,
		);
		await page.getByText(`This invite is for ${email}, but you are signed in as`).waitFor();
		expect(await button(page, "Accept the invite").count()).toBe(0);
		await page.locator("main").getByRole("button", { name: "Sign out" }).click();
		await page.getByLabel("Email address").waitFor();
	});
});

inBrowser("a session that ends while a form is open", (open) => {
	const ended = (page: Page) => page.getByRole("dialog", { name: "Your session has ended" });

	/**
	 * Changes the name of an organization in its settings with a key that is revoked before the
	 * change is sent.
	 */
	async function saveWithoutSession() {
		const { client, organization, path } = await newOrganization();
		const email = newAddress();
		const key = await newMember(organization.id, 8, email);
		const page = await open(`${path}/settings`, { key });
		await page.getByLabel("Name", { exact: true }).fill("Renamed Ltd");
		await clientOf(key).personalApiKeys.revoke({ id: "@current" });
		await button(page, "Save").click();
		await ended(page).waitFor();
		const nameSaved = async () => (await client.organizations.get(organization)).name;
		return { organization, email, page, nameSaved };
	}

	test("keeps what was entered, and saves it once the user has signed in by mail in another tab", async () => {
		const { email, page, nameSaved } = await saveWithoutSession();
		expect(await page.getByLabel("Email address").inputValue()).toBe(email);
		await checkLooks(page, "sign-in-again");
		await button(page, "Continue").click();
		const other = await page.context().newPage();
		await other.goto(await linkTo(email));
		await button(other, "Sign in").click();
		await other.getByRole("link", { name: "Settings" }).waitFor();
		await ended(page).waitFor({ state: "detached" });
		await page.locator("form[aria-busy=false]").waitFor();
		expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Renamed Ltd");
		expect(await nameSaved()).toBe("Renamed Ltd");
		await other.close();
	});

	test("goes on with a key of the same user only, and can be left", async () => {
		const { organization, page, nameSaved } = await saveWithoutSession();
		await pasteKey(page, inject("console").key);
		await ended(page)
			.getByText(/^To sign in as .+, close this page first/)
			.waitFor();
		await page.keyboard.press("Escape");
		await button(page, "Keep editing").click();
		await page.keyboard.press("Escape");
		await button(page, "Discard changes").click();
		await page.getByText("Your session has ended. Sign in again.").waitFor();
		await pasteKey(page, inject("console").key);
		await page.getByRole("heading", { name: "Settings" }).waitFor();
		await expect
			.poll(() => page.getByLabel("Name", { exact: true }).inputValue())
			.toBe(organization.name);
		expect(await nameSaved()).toBe(organization.name);
	});
});

inBrowser("a request that is under way when the user signs out", (open) => {
	test("isn't sent with the key of the user who signs in next", async () => {
		const { client, organization, at, path } = await newOrganization();
		const first = await newMember(organization.id, 8);
		const second = await newMember(organization.id, 8);
		const webhook = await client.webhooks.create(at, { url: "http://127.0.0.1:9/" });
		const page = await open(`${path}/webhooks/${webhook.id}`, { key: first });
		const pause = button(page, "Pause");
		await pause.waitFor();
		const release = await hold(page, "**/api/**", "PATCH");
		const sent = page.waitForRequest((request) => request.method() === "PATCH");
		await pause.click();
		await sent;
		const failed = page.waitForEvent("requestfailed", (request) => request.method() === "PATCH");
		await button(page, "Sign out").click();
		await page.getByText("Your key still works").waitFor();
		await pasteKey(page, second);
		await pause.waitFor();
		release();
		await failed;
		expect(
			await client.webhooks.get({ organization: organization.id, id: webhook.id }),
		).toMatchObject({ enabled: true });
	});
});

inBrowser("the account", (open) => {
	test("has the caller's names, and the second factor from setting up to disabling", async () => {
		const { organization } = await newOrganization();
		const key = await newMember(organization.id, 1, newAddress(), { isMailed: true });
		const page = await open("/console/account", { key });
		await page.getByLabel("First name").fill("Ada");
		await page.getByLabel("Last name").fill("Lovelace");
		await button(page, "Save changes").click();
		await page.getByText("Your name is saved.").waitFor();
		expect(await clientOf(key).users.get({ user: "@me" })).toMatchObject({
			first_name: "Ada",
			last_name: "Lovelace",
		});
		await button(page, "Dismiss").click();
		await button(page, "Set up an authenticator app").click();
		await page.getByRole("img", { name: "QR code" }).waitFor();
		await checkLooks(page, "account-set-up");
		await typeCode(page);
		await button(page, "Enable").click();
		await page.getByText("Save these codes now.").waitFor();
		const [first = ""] = await codesOn(page);
		await button(page, "I have saved them").click();
		await page.getByText("10 left").waitFor();
		await checkLooks(page, "account-enabled");
		await button(page, "Replace recovery codes").click();
		await page.getByRole("textbox", { name: "Code" }).fill(first);
		await checkLooks(page, "account-codes-replace");
		await button(page, "Replace codes").click();
		await page.getByText("Save these codes now.").waitFor();
		const [second = ""] = await codesOn(page);
		await page.keyboard.press("Escape");
		await button(page, "Disable").click();
		await page.getByRole("textbox", { name: "Code" }).fill(first);
		await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
		await page.getByText("This code is wrong, or was used before.").waitFor();
		await checkLooks(page, "account-disable");
		await page.getByRole("textbox", { name: "Code" }).fill(second);
		await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
		await page.getByText("The authenticator app is disabled.").waitFor();
		await button(page, "Set up an authenticator app").waitFor();
	});
});
