import { createServer } from "node:http";
import * as oauth from "oauth4webapi";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { checkLooks, clientOf, inBrowser, newOrganization } from "./support/browser.ts";

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** The server of the app, which has its document. */
const host = createServer((request, response) => {
	const client_id = `http://${request.headers.host}${request.url}`;
	response.end(
		JSON.stringify({
			client_id,
			client_name: "Notes",
			redirect_uris: [`${inject("console").provider}/callback`],
		}),
	);
});

let client_id: string;

beforeAll(async () => {
	await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
	const address = host.address();
	const port = typeof address === "object" ? address?.port : 0;
	client_id = `http://127.0.0.1:${port}/app`;
});

afterAll(() => host.close());

const insecure = { [oauth.allowInsecureRequests]: true };

/** The request of the app, and how it gets tokens from the URL to which the browser comes back. */
async function newRequest(scope: string) {
	const { url, provider } = inject("console");
	const issuer = new URL(url);
	const options = { algorithm: "oauth2", ...insecure } as const;
	const as = await oauth.processDiscoveryResponse(
		issuer,
		await oauth.discoveryRequest(issuer, options),
	);
	const verifier = oauth.generateRandomCodeVerifier();
	const redirect_uri = `${provider}/callback`;
	const parameters = {
		response_type: "code",
		...{ client_id, redirect_uri, scope, state: "a&b" },
		code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
		code_challenge_method: "S256",
		resource: `${url}/api`,
	};
	const client = { client_id };
	const respond = (back: string) =>
		oauth.validateAuthResponse(as, client, new URL(back), parameters.state);
	const exchange = async (back: string) => {
		const response = await oauth.authorizationCodeGrantRequest(
			as,
			client,
			oauth.None(),
			respond(back),
			redirect_uri,
			verifier,
			insecure,
		);
		return oauth.processAuthorizationCodeResponse(as, client, response);
	};
	const path = `/oauth/authorize?${new URLSearchParams(parameters)}`;
	return { path, isBack: (to: URL) => to.href.startsWith(redirect_uri), respond, exchange };
}

inBrowser("allowing an app", (open) => {
	test("shows who asks and for what, and gives the app what the person leaves", async () => {
		const { organization } = await newOrganization("Notes Ltd");
		const { path, isBack, exchange } = await newRequest("project:write user:read webhook:read");
		const page = await open(path);
		await page.getByText(new URL(client_id).host).waitFor();
		await page.getByText("It calls itself “Notes”").waitFor();
		expect(await page.getByRole("row").count()).toBe(4);
		expect(await page.getByLabel("Profile: Write").count()).toBe(0);
		await page.getByLabel("Projects: Read").check();
		await page.getByLabel("Webhooks: None").check();
		await page.getByLabel("Where").selectOption({ label: "Notes Ltd" });
		await page.getByLabel("Its access ends").selectOption({ label: "In 7 days" });
		await page.getByText("Default project").waitFor();
		await checkLooks(page, "oauth");
		await button(page, "Allow").click();
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
		await button(page, "Cancel").click();
		await page.waitForURL(isBack);
		expect(() => respond(page.url())).toThrow("authorization response from the server is an error");
	});

	test("asks to sign in first, and leads nowhere if the request is wrong", async () => {
		const { path } = await newRequest("project:read");
		const signedOut = await open(path, { key: "" });
		await signedOut.getByRole("heading", { name: "Sign in" }).waitFor();
		const wrong = await open(path.replace("callback", "elsewhere"));
		await wrong.getByText("isn't its own").waitFor();
		expect(await button(wrong, "Allow").count()).toBe(0);
		const plain = await open(path.replace("S256", "plain"));
		await plain.getByText("The app's request is incomplete.").waitFor();
	});
});

/** What the command line gets that shows a code, and how it gets tokens. */
async function newDevice() {
	const issuer = new URL(inject("console").url);
	const as = await oauth.processDiscoveryResponse(
		issuer,
		await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
	);
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
		await button(page, "Allow").click();
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
		await button(page, "Cancel").click();
		await page.getByText("The device gets no access.").waitFor();
		await expect(poll()).rejects.toMatchObject({ error: "access_denied" });
		const again = await open(link);
		await button(again, "Continue").click();
		await again.getByText("No device is waiting with this code.").waitFor();
		expect(await button(again, "Allow").count()).toBe(0);
	});
});
