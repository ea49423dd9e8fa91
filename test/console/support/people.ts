/** How people sign in to the console, and the mails that they get. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Page } from "playwright-core";
import { inject, vi } from "vitest";
import { HANG_MS } from "../../support/hang.ts";
import { button } from "./browser.ts";

/** The link that matches `pattern` in the newest mail to the address that has one. */
const linkIn = (email: string, pattern: RegExp, before = "") =>
	vi.waitFor(
		() => {
			const folder = `${inject("console").state}/mail`;
			const [link] = readdirSync(folder)
				.map((name) => `${folder}/${name}`)
				.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
				.map((path) => readFileSync(path, "utf8"))
				.filter((mail) => mail.includes(`To: ${email}`))
				.flatMap((mail) => pattern.exec(mail)?.[0] ?? []);
			if (!link || link === before) throw new Error(`There is no new mail to ${email}.`);
			return link;
		},
		{ timeout: HANG_MS, interval: 100 },
	);

/**
 * The link to sign in of the newest mail to the address.
 * @param before the link of the mail before it
 */
export const linkTo = (email: string, before = "") =>
	linkIn(email, /http\S+\/console\/sign_in#token=[\w-]{43}/, before);

/**
 * The link of the newest invite to the address.
 * @param before the link of the invite before it
 */
export const inviteTo = (email: string, before = "") =>
	linkIn(email, /http\S+\/invites\/[\w-]{43}/, before);

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
