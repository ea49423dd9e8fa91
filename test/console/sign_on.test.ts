import { expect, test } from "vitest";
import { problemOf } from "../../packages/console/src/pages/sign_in/problems.ts";
import { PROBLEMS } from "../../src/accounts/sso/problems.ts";
import { checkLooks, inBrowser } from "./support/browser.ts";

const UNKNOWN = "Signing in didn't work. Try again.";

test("each problem of a sign-in through a provider has words", () => {
	for (const code of PROBLEMS) expect(problemOf(code)).not.toBe(UNKNOWN);
	expect(problemOf("__proto__")).toBe(UNKNOWN);
});

inBrowser("single sign-on", (open) => {
	test("the sign-in page says why a sign-in through a provider failed", async () => {
		const page = await open("/console/sign_in#problem=no_account", { key: "" });
		await page.getByText("There is no account with your email address.").waitFor();
		expect(page.url()).not.toContain("problem");
		await checkLooks(page, "sign-on-problem");
	});

	test("the sign-in page never shows text of the URL", async () => {
		const page = await open("/console/sign_in#problem=Call%200900%20now", { key: "" });
		await page.getByText(UNKNOWN).waitFor();
		expect(await page.locator("body").innerText()).not.toContain("0900");
	});
});
