/** How people sign in to the console. */
import type { Page } from "playwright-core";
import { button } from "./browser.ts";
import { linkTo } from "./mail.ts";

/** Asks for a link on the sign-in page, and opens it. */
export async function follow(page: Page, email: string, before?: string) {
	await page.getByLabel("Email address").fill(email);
	await button(page, "Continue").click();
	await page.getByText("Check your mail.").waitFor();
	const link = await linkTo(email, before);
	await page.goto(link);
	return link;
}

/** Signs in with a pasted key. */
export async function pasteKey(page: Page, key: string) {
	await page.getByText("Sign in with an API key").click();
	await page.getByLabel("Personal API key").fill(key);
	await button(page, "Sign in").click();
}

export async function signOut(page: Page) {
	await button(page, "Sign out").click();
	await page.getByText("You are signed out.").waitFor();
}
