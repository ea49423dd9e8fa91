import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
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

const ACCOUNT = "/console/account";

/** The row of the session that began in this browser. */
const current = (page: Page) => page.getByRole("row", { name: /This session/ });

inBrowser("the user's sessions", (open) => {
	/** Signs in by mail in a browser of its own, and opens the page of the account. */
	async function signIn(email: string, before?: string) {
		const page = await open("/console", { key: "" });
		await clientOf().signIn.request({ email });
		const link = await linkTo(email, before);
		await page.goto(link);
		await button(page, "Sign in").click();
		await button(page, "Sign out").waitFor();
		await page.goto(inject("console").url + ACCOUNT);
		await current(page).waitFor();
		return { page, link };
	}

	test("are listed, and end one by one, or all but this one", async () => {
		const { organization } = await newOrganization();
		const email = newAddress();
		await newMember(organization.id, 1, email);
		const { page: first, link } = await signIn(email);
		const { page: second, link: next } = await signIn(email, link);
		const { page: third } = await signIn(email, next);
		await current(third)
			.getByText(/^Chrome \d+, Linux$/)
			.waitFor();
		await current(third).getByText("Link by mail").waitFor();
		expect(await current(third).getByRole("button").count()).toBe(0);
		await checkLooks(third, "sessions");

		// The newest is this one, so the first button is that of the second.
		await button(third, "End").first().click();
		await checkLooks(third, "sessions-end");
		await button(third, "End session").click();
		await third.getByText("The session is ended.").waitFor();
		await expect.poll(() => button(third, "End").count()).toBe(1);
		// The next request of the other browser says so.
		await second.getByLabel("First name").fill("Ada");
		await button(second, "Save changes").click();
		await second.getByRole("dialog", { name: "Your session has ended" }).waitFor();
		// On a page that is opened, there is nothing to keep.
		await second.goto(inject("console").url + ACCOUNT);
		await second.getByText("Your session has ended. Sign in again.").waitFor();

		const ended = await cookieOf(first);
		await button(third, "End all other sessions").click();
		await button(third, "End sessions").click();
		await third.getByText("Your other sessions are ended.").waitFor();
		await expect.poll(() => button(third, "End").count()).toBe(0);
		expect(await button(third, "End all other sessions").count()).toBe(0);
		await expect(clientOf(ended).users.get({ user: "@me" })).rejects.toMatchObject({ status: 401 });
		await third.reload();
		await current(third).waitFor();
		expect(await third.getByLabel("First name").inputValue()).toBe("Robin");
	});

	test("are none for somebody who signed in with a key", async () => {
		const { organization } = await newOrganization();
		const page = await open(ACCOUNT, { key: await newMember(organization.id) });
		await page.getByText("None. You signed in with an API key.").waitFor();
		expect(await button(page, "End all other sessions").count()).toBe(0);
	});
});
