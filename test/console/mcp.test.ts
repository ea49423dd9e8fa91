import {
	Client,
	type OAuthClientProvider,
	type OAuthDiscoveryState,
	type StoredOAuthClientInformation,
	type StoredOAuthTokens,
	StreamableHTTPClientTransport,
	UnauthorizedError,
} from "@modelcontextprotocol/client";
import { expect, inject, test, vi } from "vitest";
import { callback } from "./support/app.ts";
import { inBrowser, newMember, newOrganization } from "./support/browser.ts";

/** What the official client asks of a program that uses it: to keep what it says, and a browser. */
class Program implements OAuthClientProvider {
	redirectUrl = callback();
	clientMetadata = { client_name: "Notes", redirect_uris: [callback()] };
	/** Where the browser was sent last. */
	asked: URL | undefined;
	#registered: StoredOAuthClientInformation | undefined;
	#tokens: StoredOAuthTokens | undefined;
	#verifier = "";
	#discovery: OAuthDiscoveryState | undefined;

	// It has no document, so it registers itself.
	clientInformation = () => this.#registered;
	saveClientInformation(registered: StoredOAuthClientInformation) {
		this.#registered = registered;
	}
	state = () => "a-state";
	tokens = () => this.#tokens;
	saveTokens(tokens: StoredOAuthTokens) {
		this.#tokens = tokens;
	}
	codeVerifier = () => this.#verifier;
	saveCodeVerifier(verifier: string) {
		this.#verifier = verifier;
	}
	discoveryState = () => this.#discovery;
	saveDiscoveryState(state: OAuthDiscoveryState) {
		this.#discovery = state;
	}
	redirectToAuthorization(url: URL) {
		this.asked = url;
	}
	/** The client lets it forget what doesn't work any more. */
	invalidateCredentials() {
		this.#tokens = undefined;
	}
}

/** Returns a client of `/mcp` that isn't connected yet. */
function newClient(authProvider: Program) {
	const client = new Client({ name: "test", version: "1" });
	const transport = new StreamableHTTPClientTransport(new URL(`${inject("console").url}/mcp`), {
		authProvider,
	});
	const list = async () => {
		const name = "read";
		const given = { operationId: "listProjects" };
		return JSON.stringify(await client.callTool({ name, arguments: given }));
	};
	return { client, transport, list };
}

inBrowser("the official MCP client", (open) => {
	test("that knows only the URL of /mcp signs in, uses tools, and has to ask again once it is ended", async () => {
		const { organization, project } = await newOrganization("Model Ltd");
		const key = await newMember(organization.id);
		const program = new Program();
		const first = newClient(program);
		await expect(first.client.connect(first.transport)).rejects.toThrow(UnauthorizedError);
		const { pathname, search, searchParams } = program.asked ?? new URL("about:blank");
		expect(searchParams.get("resource")).toBe(`${inject("console").url}/mcp`);

		const page = await open(pathname + search, { key });
		await page.getByText("that nobody vouches for").waitFor();
		await page.getByLabel("Projects: Read").check();
		await page.getByLabel("Profile: None").check();
		await page.getByRole("button", { name: "Allow", exact: true }).click();
		await page.waitForURL((to) => to.href.startsWith(callback()));
		const back = new URL(page.url()).searchParams;
		expect(back.get("state")).toBe("a-state");
		await first.transport.finishAuth(back);
		expect(program.tokens()?.scope).toContain("project:read");
		expect(program.tokens()?.scope).not.toMatch(/project:write|user:/);

		const second = newClient(program);
		await second.client.connect(second.transport);
		expect(await second.list()).toContain(project.name);
		// The API has another audience than /mcp.
		const { access_token = "" } = program.tokens() ?? {};
		const atApi = await fetch(`${inject("console").url}/api/projects`, {
			headers: { authorization: `Bearer ${access_token}` },
		});
		expect(atApi.status).toBe(401);

		program.asked = undefined;
		await page.goto(`${inject("console").url}/console/account`);
		await page.getByRole("button", { name: "End access" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "End access" }).click();
		await page.getByText("The access of “Notes” is ended.").waitFor();
		// The client tries to refresh its token, says why it can't, and asks again.
		const warning = vi.spyOn(console, "warn").mockReturnValue();
		await expect(second.list()).rejects.toThrow(UnauthorizedError);
		expect(warning.mock.lastCall?.[0]).toContain("invalid_grant");
		warning.mockRestore();
		expect(program.asked).toBeDefined();
	});
});
