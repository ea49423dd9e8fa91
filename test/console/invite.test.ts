import { beforeAll, expect, test } from "vitest";
import { overflowOf, problemsOf, screenshot, withBrowser } from "../support/browser.ts";
import { clientOf, newAddress, newOrganization } from "./support/browser.ts";
import { inviteTo } from "./support/mail.ts";

let home: Awaited<ReturnType<typeof newOrganization>>;

beforeAll(async () => {
	home = await newOrganization("My organization");
});

/** Invites by mail, and returns the address and the link from the mail. */
async function invite(more: object = {}) {
	const target_email = newAddress();
	await home.client.invites.create(home.at, { target_email, ...more });
	return { target_email, link: await inviteTo(target_email) };
}

withBrowser("the page of an invite", (newPage) => {
	const SIZES = [
		{ name: "phone", width: 360, height: 740 },
		{ name: "desktop", width: 1280, height: 800 },
	];

	test.each(SIZES)("the link leads to a key that works: $name", async ({ name, ...viewport }) => {
		const { link, target_email } = await invite({ first_name: "Ada" });
		const page = await newPage({
			viewport,
			permissions: ["clipboard-read", "clipboard-write"],
		});
		const wrong = problemsOf(page, [link], /404/);
		await page.goto(link);
		expect(await page.textContent("h1")).toBe("Join My organization");
		expect(await page.inputValue("[name=first_name]")).toBe("Ada");
		expect(await overflowOf(page)).toBe(0);
		await screenshot(page, `invite-${name}`);
		await page.fill("[name=last_name]", "Byron");
		await page.click("button");
		expect(await page.textContent("h1")).toBe("Welcome to My organization");
		const shown = await page.inputValue("textarea");
		expect(await overflowOf(page)).toBe(0);
		await screenshot(page, `welcome-${name}`);
		await page.click("text=Copy the key");
		await page.waitForSelector("text=Copied");
		expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown);
		const client = clientOf(shown);
		expect(await client.users.get({ user: "@me" })).toMatchObject({
			email: target_email,
			first_name: "Ada",
			last_name: "Byron",
			is_email_verified: true,
		});
		expect((await client.members.list({ organization: "@current" })).count).toBeGreaterThan(1);
		await page.goto(link);
		expect(await page.textContent("h1")).toBe("This invite is unknown");
		await screenshot(page, `used-${name}`);
		expect(wrong).toEqual([]);
	});

	test("the page works without JavaScript", async () => {
		const { link } = await invite();
		const page = await newPage({ javaScriptEnabled: false });
		await page.goto(link);
		await page.fill("[name=first_name]", "<b>Eve</b>");
		await page.click("button");
		const shown = await page.inputValue("textarea");
		expect(await page.isVisible("text=Copy the key")).toBe(false);
		expect((await clientOf(shown).users.get({ user: "@me" })).first_name).toBe("<b>Eve</b>");
	});
});
