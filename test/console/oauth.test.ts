import * as oauth from "oauth4webapi";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { client_id, discover, insecure, newRequest } from "./support/app.ts";
import { button, checkLooks, clientOf, inBrowser, newOrganization } from "./support/browser.ts";

/** Presses a button once everything above it has loaded, which could still move it. */
async function pressBelow(page: Page, name: string) {
	await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
	await button(page, name).click();
}

inBrowser("allowing an app", (open) => {
	test("shows who asks and for what, and gives the app what the person leaves", async () => {
		const { organization } = await newOrganization("Notes Ltd");
		const { path, isBack, exchange } = await newRequest("project:write user:read");
		const page = await open(path);
		await page.getByText(new URL(client_id).host).waitFor();
		await page.getByText("It calls itself “Notes”").waitFor();
		expect(await page.getByRole("row").count()).toBe(3);
		expect(await page.getByLabel("Profile: Write").count()).toBe(0);
		expect(await page.getByText("Dangerous permissions").count()).toBe(0);
		await page.getByLabel("Where").selectOption({ label: "Notes Ltd" });
		await page.getByLabel("Its access ends").selectOption({ label: "In 7 days" });
		await page.getByText("Default project").waitFor();
		await checkLooks(page, "oauth");
		await pressBelow(page, "Allow");
		await page.waitForURL(isBack);
		const { access_token, scope } = await exchange(page.url());
		expect(scope).toBe("project:read user:read");
		const { results } = await clientOf(access_token).projects.list();
		expect(new Set(results.map((project) => project.organization))).toEqual(
			new Set([organization.id]),
		);
	});

	test("leads back without access when the person cancels", async () => {
		const { path, isBack, respond } = await newRequest("project:read");
		const page = await open(path);
		await pressBelow(page, "Cancel");
		await page.waitForURL(isBack);
		expect(() => respond(page.url())).toThrow("authorization response from the server is an error");
	});

	test("asks to sign in first, and leads nowhere if the request is wrong", async () => {
		const { path } = await newRequest("project:read");
		const signedOut = await open(path, { key: "" });
		await signedOut.getByRole("heading", { name: "Sign in" }).waitFor();
		const wrong = await open(path.replace("callback", "elsewhere"));
		await wrong.getByText("isn't registered for this app").waitFor();
		expect(await button(wrong, "Allow").count()).toBe(0);
		const nobodys = await open(path.replace("client_id", "client"));
		await nobodys.getByText("The app's request is incomplete.").waitFor();
	});

	test("preselects reading, and leaves dangerous permissions to the person", async () => {
		await newOrganization("Danger Ltd");
		const asked = "project:write organization:write personal_api_key:write";
		const { path, isBack, exchange } = await newRequest(asked);
		const page = await open(path);
		await page.getByText("Dangerous permissions").waitFor();
		expect(await page.locator("input[type=radio]:checked[value=write]").count()).toBe(0);
		expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(0);
		await checkLooks(page, "oauth dangerous");
		await page.getByLabel("Create keys").check();
		await pressBelow(page, "Allow");
		await page.waitForURL(isBack);
		const { scope } = await exchange(page.url());
		expect(scope).toBe("organization:read project:read personal_api_key:write");
	});

	test("sends the app what is wrong with its request", async () => {
		const { path, isBack } = await newRequest("project:read");
		const page = await open(path.replace("S256", "plain"));
		await page.waitForURL(isBack);
		const { searchParams } = new URL(page.url());
		expect(searchParams.get("error")).toBe("invalid_request");
		expect(searchParams.get("state")).toBe("a&b");
	});

	test("opens no program without a click if the request is wrong", async () => {
		const redirect_uri = "com.example.notes:/callback";
		const { client_id } = await oauth.processDynamicClientRegistrationResponse(
			await oauth.dynamicClientRegistrationRequest(
				await discover(),
				{ redirect_uris: [redirect_uri] },
				insecure,
			),
		);
		const page = await open(`/oauth/authorize?${new URLSearchParams({ client_id, redirect_uri })}`);
		const opened: string[] = [];
		const devtools = await page.context().newCDPSession(page);
		await devtools.send("Page.enable");
		devtools.on("Page.frameRequestedNavigation", ({ url }) => opened.push(url));
		await page.reload();
		const link = page.getByRole("link", { name: "Go back to the app" });
		expect(await link.getAttribute("href")).toMatch(/^com\.example\.notes:\/callback\?error=/);
		const clicked = "com.example.notes:/clicked";
		await link.evaluate((element, href) => element.setAttribute("href", href), clicked);
		await link.click();
		await expect.poll(() => opened).toContain(clicked);
		expect(opened).toEqual([clicked]);
	});
});

/** What the command line gets that shows a code, and how it gets tokens. */
async function newDevice() {
	const as = await discover();
	const client = { client_id: "tenantry-cli" };
	const none = oauth.None();
	const scope = { scope: "project:write user:read" };
	const device = await oauth.processDeviceAuthorizationResponse(
		as,
		client,
		await oauth.deviceAuthorizationRequest(as, client, none, scope, insecure),
	);
	const poll = async () =>
		oauth.processDeviceCodeResponse(
			as,
			client,
			await oauth.deviceCodeGrantRequest(as, client, none, device.device_code, insecure),
		);
	const { pathname, search } = new URL(device.verification_uri_complete ?? "");
	return {
		...device,
		path: new URL(device.verification_uri).pathname,
		link: pathname + search,
		poll,
	};
}

inBrowser("allowing a device", (open) => {
	test("asks for the code, warns, and gives the device what the person leaves", async () => {
		const { organization } = await newOrganization("Devices Ltd");
		const { path, user_code, poll } = await newDevice();
		const page = await open(path);
		await page.getByText("Continue only if you started this yourself just now").waitFor();
		await checkLooks(page, "device code");
		const code = page.getByLabel("The code on the device");
		await code.fill("bcdf-bcdf");
		await button(page, "Continue").click();
		await page.getByText("No device is waiting with this code.").waitFor();
		await code.fill(user_code.toLowerCase().replace("-", ""));
		await button(page, "Continue").click();
		await page.getByText("It calls itself “Tenantry command line”").waitFor();
		await page.getByText("Continue only if you started this yourself just now").waitFor();
		await page.getByLabel("Projects: Read").check();
		await page.getByLabel("Where").selectOption({ label: "Devices Ltd" });
		await pressBelow(page, "Allow");
		await page.getByText("The device has access.").waitFor();
		const { access_token, scope } = await poll();
		expect(scope).toBe("project:read user:read");
		const { results } = await clientOf(access_token).projects.list();
		expect(new Set(results.map((project) => project.organization))).toEqual(
			new Set([organization.id]),
		);
	});

	test("fills in the code of a link but still asks, and denies for good", async () => {
		const { link, poll } = await newDevice();
		const page = await open(link);
		await button(page, "Continue").click();
		await pressBelow(page, "Cancel");
		await page.getByText("The device gets no access.").waitFor();
		await expect(poll()).rejects.toMatchObject({ error: "access_denied" });
		const again = await open(link);
		await button(again, "Continue").click();
		await again.getByText("No device is waiting with this code.").waitFor();
		expect(await button(again, "Allow").count()).toBe(0);
	});
});
