import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { screenshot } from "../support/browser.ts";
import {
	button,
	checkLooks,
	clientOf,
	cookieOf,
	inBrowser,
	newAddress,
	newMember,
	newOrganization,
} from "./support/browser.ts";
import { linkTo } from "./support/mail.ts";

/** Somebody new in an organization of this name. */
async function newUser(name: string) {
	const { organization, path } = await newOrganization(name);
	const email = newAddress();
	return { email, name, path, key: await newMember(organization.id, 8, email) };
}

type User = Awaited<ReturnType<typeof newUser>>;

/** Opens a link with this key in a tab that already shows the page. */
const follow = (page: Page, key: string) => page.evaluate(`location.hash = "key=${key}"`);

const question = (page: Page) => page.getByRole("dialog", { name: "Replace your session?" });

const answer = (page: Page, words: "Replace session" | "Stay signed in") =>
	question(page).getByRole("button", { name: words }).click();

/**
 * Checks that the question names both accounts and organizations, first the one that is signed in.
 */
async function expectQuestion(page: Page, current: User, next: User) {
	await question(page).waitFor();
	const shown = await question(page).locator("dd").allInnerTexts();
	expect(shown.map((text) => text.split(/\s*\n\s*/))).toEqual([
		[current.email, current.name],
		[next.email, next.name],
	]);
}

/** Checks that the address is this one, also where Back leads. */
async function expectAddress(page: Page, path: string) {
	await expect.poll(() => page.url()).toBe(inject("console").url + path);
}

inBrowser("a link with a key", (open) => {
	test("signs in in an open tab without a session", async () => {
		const { key, email } = await newUser("North Ltd");
		const page = await open("/console/account", { key: "" });
		await page.getByText("Sign in with an API key").waitFor();
		await follow(page, key);
		await page.getByText(email).first().waitFor();
		await expectAddress(page, "/console/account");
		expect(await cookieOf(page)).toBe(key);
	});

	test("that is invalid says so, with and without a session, and leaves the address", async () => {
		const { key, path } = await newUser("North Ltd");
		const wrong = await newUser("South Ltd");
		await clientOf(wrong.key).personalApiKeys.revoke({ id: "@current" });
		const page = await open("/console", { key: "" });
		const words = page.getByText(
			"The link can't sign you in. Its key is invalid, expired or revoked.",
		);
		for (const invalid of [wrong.key, "nonsense"]) {
			await follow(page, invalid);
			await words.waitFor();
			await expectAddress(page, "/console");
			await page.reload();
			await words.waitFor({ state: "detached" });
		}
		await page.goto(`${inject("console").url}/console#key=${wrong.key}`);
		await words.waitFor();
		await checkLooks(page, "key-link-invalid");
		expect(await cookieOf(page)).toBe(undefined);

		const signedIn = await open(`${path}/members`, { key });
		await follow(signedIn, wrong.key);
		await signedIn.getByText("The link can't sign you in. Its key is invalid").waitFor();
		await expectAddress(signedIn, `${path}/members`);
		expect(await cookieOf(signedIn)).toBe(key);
	});

	test("replaces a session only after a question that names both accounts and organizations", async () => {
		const [ada, eve] = [await newUser("North Ltd"), await newUser("South Ltd")];
		const kim = await newUser("East Ltd");
		const page = await open(`${ada.path}/members`, { key: ada.key });
		await page.getByRole("cell", { name: ada.email }).waitFor();
		await follow(page, kim.key);
		await expectQuestion(page, ada, kim);
		// The next link takes the place of the question.
		await follow(page, eve.key);
		await question(page).getByText(eve.email).waitFor();
		await expectQuestion(page, ada, eve);
		await expectAddress(page, `${ada.path}/members`);
		await checkLooks(page, "key-link-question");
		// Enter and Escape keep the session.
		await page.keyboard.press("Enter");
		await question(page).waitFor({ state: "detached" });
		await follow(page, eve.key);
		await question(page).waitFor();
		await page.keyboard.press("Escape");
		await question(page).waitFor({ state: "detached" });
		expect(await cookieOf(page)).toBe(ada.key);
		// The same in a tab that loads the page anew, as when the link is pasted on another page.
		await page.goto(`${inject("console").url}/console/account#key=${eve.key}`);
		await expectQuestion(page, ada, eve);
		await expectAddress(page, "/console/account");
		await answer(page, "Replace session");
		await page.getByText(eve.email).first().waitFor();
		await expect.poll(() => page.getByText(ada.email).count()).toBe(0);
		expect(await cookieOf(page)).toBe(eve.key);
		// The pasted key was only forgotten.
		await clientOf(ada.key).users.get({ user: "@me" });
		// The key of the session itself asks nothing.
		await follow(page, eve.key);
		await expectAddress(page, "/console/account");
		await follow(page, kim.key);
		await expectQuestion(page, eve, kim);
		expect(await page.getByRole("dialog").count()).toBe(1);
	});

	test("replaces a session whose key was revoked without a question", async () => {
		const [ada, eve] = [await newUser("North Ltd"), await newUser("South Ltd")];
		const page = await open("/console/account", { key: ada.key });
		await page.getByLabel("First name").waitFor();
		await clientOf(ada.key).personalApiKeys.revoke({ id: "@current" });
		await page.goto("about:blank");
		await page.goto(`${inject("console").url}/console/account#key=${eve.key}`);
		await page.getByText(eve.email).first().waitFor();
		expect(await cookieOf(page)).toBe(eve.key);
	});

	test("asks before it discards what was entered", async () => {
		const [ada, eve] = [await newUser("North Ltd"), await newUser("South Ltd")];
		const page = await open("/console/account", { key: ada.key });
		await page.getByLabel("First name").fill("Ada");
		await follow(page, eve.key);
		await page.getByRole("button", { name: "Keep editing" }).click();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		expect(await page.getByLabel("First name").inputValue()).toBe("Ada");
		await follow(page, eve.key);
		await page.getByRole("button", { name: "Discard changes" }).click();
		await expectQuestion(page, ada, eve);
		await answer(page, "Replace session");
		await page.getByText(eve.email).first().waitFor();
		await expect.poll(() => page.getByLabel("First name").inputValue()).not.toBe("Ada");
	});

	test("is not used on a host that isn't this machine", async () => {
		const { url } = inject("console");
		const { key } = await newUser("North Ltd");
		const page = await open("/console", { key: "" });
		const sent: string[] = [];
		for (const host of ["https://app.tenantry.test", "https://127.0.0.1.tenantry.test"]) {
			await page.route(`${host}/**`, async (route) => {
				const request = route.request();
				sent.push(JSON.stringify([request.url(), await request.allHeaders()]));
				const { pathname, search } = new URL(request.url());
				await route.fulfill({ response: await route.fetch({ url: url + pathname + search }) });
			});
			await page.goto(`${host}/console#key=${key}`);
			await page.getByText(/^Links with keys work only on the machine that runs/).waitFor();
			expect(page.url()).toBe(`${host}/console`);
			expect(await cookieOf(page)).toBe(undefined);
			await screenshot(page, "key-link-elsewhere");
		}
		expect(sent.length).toBeGreaterThan(4);
		expect(sent.filter((request) => request.includes(key))).toEqual([]);
		// 127.0.0.1 is this machine.
		await page.goto(`${url.replace("localhost", "127.0.0.1")}/console/account#key=${key}`);
		await page.getByLabel("First name").waitFor();
	});
});

inBrowser("a link from a mail", (open) => {
	/** The link of the last mail. */
	let link = "";

	async function mailedLink(email: string) {
		await clientOf().signIn.request({ email });
		link = await linkTo(email, link);
		return link;
	}

	const isRevoked = (key: string | undefined) =>
		expect(clientOf(key).users.get({ user: "@me" })).rejects.toMatchObject({ status: 401 });

	test("replaces a session only after the question, and can be used later if the session stays", async () => {
		const [ada, eve] = [await newUser("North Ltd"), await newUser("South Ltd")];
		const page = await open("/console/account", { key: ada.key });
		await page.getByLabel("First name").waitFor();
		const mailed = await mailedLink(eve.email);
		await page.goto(mailed);
		await button(page, "Sign in").click();
		await expectQuestion(page, ada, eve);
		await answer(page, "Stay signed in");
		await page.waitForURL(`**${ada.path}`);
		expect(await cookieOf(page)).toBe(ada.key);

		await page.goto(mailed);
		await button(page, "Sign in").click();
		await answer(page, "Replace session");
		await page.waitForURL(`**${eve.path}`);
		const session = await cookieOf(page);
		expect(session).not.toBe(ada.key);
		// The pasted key was only forgotten.
		await clientOf(ada.key).users.get({ user: "@me" });

		// A session by mail ends when it is replaced.
		await follow(page, ada.key);
		await answer(page, "Replace session");
		await page.getByText(ada.email).first().waitFor();
		expect(await cookieOf(page)).toBe(ada.key);
		await isRevoked(session);
	});

	test("of somebody else in another tab stops the pages of the user, and what they would send", async () => {
		const [ada, eve] = [await newUser("North Ltd"), await newUser("South Ltd")];
		const page = await open("/console/account", { key: ada.key });
		await page.getByLabel("First name").fill("Ada");
		const other = await page.context().newPage();
		await other.goto(await mailedLink(eve.email));
		await button(other, "Sign in").click();
		await answer(other, "Replace session");
		await other.getByText(eve.email).first().waitFor();
		const ended = page.getByRole("dialog", { name: "Your session has ended" });
		await ended.getByText("Somebody else has signed in in another tab").waitFor();
		await checkLooks(page, "session-replaced");
		// The form waits for Ada, and sends nothing as Eve.
		await page.evaluate("document.querySelector('#main form').requestSubmit()");
		const session = await cookieOf(page);
		expect((await clientOf(session).users.get({ user: "@me" })).first_name).toBe("Robin");
		await ended.getByText("Sign in with an API key").click();
		await ended.getByLabel("Personal API key").fill(inject("console").key);
		await button(page, "Sign in").click();
		await ended.getByText("To sign in as admin@example.com, close this page first.").waitFor();
		await ended.getByLabel("Personal API key").fill(ada.key);
		await button(page, "Sign in").click();
		await ended.waitFor({ state: "detached" });
		await expect
			.poll(async () => (await clientOf(ada.key).users.get({ user: "@me" })).first_name)
			.toBe("Ada");
		// Now Eve's tab waits, and her session has ended.
		await isRevoked(session);
		const replaced = other.getByRole("dialog", { name: "Your session has ended" });
		await replaced.getByText("Somebody else has signed in in another tab").waitFor();
		// Leaving it shows the pages of the user who is signed in.
		await other.keyboard.press("Escape");
		await other.getByText(ada.email).first().waitFor();
		expect(await other.getByText(eve.email).count()).toBe(0);
	});
});
