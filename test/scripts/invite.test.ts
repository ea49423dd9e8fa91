import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { overflowOf, problemsOf, screenshot, withBrowser } from "../support/browser.ts";
import { discard, folder, freePort, Server } from "../support/server.ts";

let state: string;
let port: number;
let server: Server;
let key: string;

beforeAll(async () => {
	state = folder();
	port = await freePort();
	server = new Server({ PORT: String(port), STATE_DIR: state });
	key = (await server.says(/export KEY=(\S+)/))[1] ?? "";
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

const url = (path: string) => `http://localhost:${port}${path}`;

const ask = async (path: string, token = key, body?: unknown) => {
	const answer = await fetch(url(path), {
		headers: {
			authorization: `Bearer ${token}`,
			"content-type": "application/json",
		},
		...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
	});
	const json: Record<string, unknown> = JSON.parse(await answer.text());
	return { status: answer.status, body: json };
};

/** Invites by mail, and returns the link from the mail file that npm start prints. */
async function inviteByMail(target_email: string, more: object = {}) {
	const before = server.printed.length;
	const { status } = await ask("/api/organizations/@current/invites/", key, {
		target_email,
		...more,
	});
	expect(status).toBe(201);
	const [, path] = await server.says(/A mail was sent: (\S+\.txt)/, {
		from: before,
	});
	const mail = readFileSync(path ?? "", "utf8");
	expect(mail).toContain(`To: ${target_email}`);
	return /http:\/\/localhost:\d+\/invites\/[\w-]{43}/.exec(mail)?.[0] ?? "";
}

test("the link in the mail leads to the invite, in the API and in a browser", async () => {
	const link = await inviteByMail("mailed@example.org", { first_name: "Ada" });
	const token = link.split("/").at(-1);
	expect((await ask(`/api/invites/${token}`)).body).toMatchObject({
		target_email: "mailed@example.org",
		first_name: "Ada",
	});
	const page = await fetch(link);
	expect(page.headers.get("content-type")).toContain("text/html");
	expect(page.headers.get("cache-control")).toBe("no-store");
	expect(page.headers.get("referrer-policy")).toBe("no-referrer");
	expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
	expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
});

withBrowser("in a browser", (newPage) => {
	const SIZES = [
		{ name: "phone", width: 360, height: 740 },
		{ name: "desktop", width: 1280, height: 800 },
	];

	test.each(SIZES)("the link leads to a key that works: $name", async ({ name, ...viewport }) => {
		const email = `${name}@example.org`;
		const link = await inviteByMail(email, { first_name: "Ada" });
		const page = await newPage({
			viewport,
			permissions: ["clipboard-read", "clipboard-write"],
		});
		const wrong = problemsOf(page, link, /404/);
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
		expect((await ask("/api/users/@me/", shown)).body).toMatchObject({
			email,
			first_name: "Ada",
			last_name: "Byron",
			is_email_verified: true,
		});
		expect((await ask("/api/organizations/@current/members/", shown)).status).toBe(200);
		await page.goto(link);
		expect(await page.textContent("h1")).toBe("This invite is unknown");
		await screenshot(page, `used-${name}`);
		expect(wrong).toEqual([]);
	});

	test("the page works without JavaScript", async () => {
		const link = await inviteByMail("noscript@example.org");
		const page = await newPage({ javaScriptEnabled: false });
		await page.goto(link);
		await page.fill("[name=first_name]", "<b>Eve</b>");
		await page.click("button");
		const shown = await page.inputValue("textarea");
		expect(await page.isVisible("text=Copy the key")).toBe(false);
		expect((await ask("/api/users/@me/", shown)).body.first_name).toBe("<b>Eve</b>");
	});

	test("the page of an unknown link says so", async () => {
		const page = await newPage();
		const answer = await page.goto(url(`/invites/${"x".repeat(43)}`));
		expect(answer?.status()).toBe(404);
		expect(await page.textContent("main")).toContain("already used");
	});
});
