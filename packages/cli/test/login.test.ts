/** `login` with OAuth 2.1, against a real service (docs/cli.md#logging-in). */
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { describe, expect, inject, test, vi } from "vitest";
import * as z from "zod";
import { freePort, listen } from "../../../test/support/peers.ts";
import { type AppRequest, Tenantry } from "../../client/src/index.ts";
import { start } from "./process.ts";
import { begin, home, proxy, tenantry } from "./program.ts";

const PATIENT = { timeout: 60_000, interval: 50 };

const person = () => new Tenantry({ baseUrl: inject("url"), key: inject("key") });

/** A computer on which nobody is logged in, and what its browser does: it stores the URLs. */
function computer() {
	const folder = mkdtempSync(`${home}/computer-`);
	const opened = `${folder}/opened`;
	const browser = `${folder}/browser`;
	const program = `#!/bin/sh\nprintf '%s\\n' "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`;
	writeFileSync(browser, program, { mode: 0o755 });
	const environment = { XDG_CONFIG_HOME: folder, TENANTRY_URL: inject("url"), BROWSER: browser };
	const file = (profile = "default") => `${folder}/tenantry/${profile}.json`;
	/** Waits for the next URL that is opened. */
	const page = async () => {
		const url = await vi.waitFor(() => new URL(readFileSync(opened, "utf8").trim()), PATIENT);
		rmSync(opened);
		return url;
	};
	return { environment, file, page, opened };
}

type Computer = ReturnType<typeof computer>;

const Saved = z.object({
	url: z.string(),
	key: z.string(),
	tokens: z.object({ refresh_token: z.string(), expires_at: z.number() }),
});

const savedIn = (file: string) => Saved.parse(JSON.parse(readFileSync(file, "utf8")));

/** Makes the access token in a file expire, so that the next command renews it. */
function expire(file: string) {
	const saved = savedIn(file);
	saved.tokens.expires_at = Date.now();
	writeFileSync(file, JSON.stringify(saved));
	return saved;
}

/** Allows what the page in the browser asks for, as the console does. Returns where it leads. */
async function allow(page: URL, scopes?: AppRequest["scopes"]) {
	expect(page.origin + page.pathname).toBe(`${inject("url")}/oauth/authorize`);
	const { searchParams } = page;
	const required = (name: string) => searchParams.get(name) ?? "";
	const asked = {
		response_type: "code" as const,
		client_id: required("client_id"),
		redirect_uri: required("redirect_uri"),
		code_challenge: required("code_challenge"),
		code_challenge_method: "S256" as const,
		scope: required("scope"),
		state: required("state"),
	};
	const app = await person().appRequests.preview(asked);
	expect(app).toMatchObject({ client_name: "Tenantry command line", redirect_host: null });
	const body = { ...asked, scopes: scopes ?? app.scopes };
	return { app, ...(await person().appRequests.approve(body)) };
}

/** Logs in with a browser. */
async function logIn({ environment, page }: Computer, words: string[] = []) {
	const { ended, printed } = begin(["login", ...words], { environment });
	const { redirect_url } = await allow(await page());
	const shown = await (await fetch(redirect_url)).text();
	return { code: await ended, shown, ...printed };
}

/** Logs in, and then has the login go through a proxy. Returns its environment. */
async function logInThrough(own: Computer, url: string) {
	await logIn(own);
	writeFileSync(own.file(), JSON.stringify({ ...savedIn(own.file()), url }));
	return { ...own.environment, TENANTRY_URL: url };
}

/** Whether the service accepts an access token. */
const works = async (key: string) =>
	(await fetch(`${inject("url")}/api/users/@me`, { headers: { authorization: `Bearer ${key}` } }))
		.ok;

describe("login with a browser", () => {
	test("opens the page, saves what the person allows for its owner only, and logs out", async () => {
		const own = computer();
		const { environment, file } = own;
		const path = file();
		expect(await logIn(own)).toMatchObject({
			code: 0,
			out: `Logged in to ${inject("url")} as owner@example.com. The login is saved in ${path}.\n`,
			err: expect.stringContaining("Allow the access in your browser."),
			shown: "You are logged in. You can close this page.\n",
		});
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
		expect(await tenantry(["whoami"], { environment })).toMatchObject({
			code: 0,
			out: expect.stringContaining("owner@example.com"),
		});
		const { key, tokens } = savedIn(path);
		expect(await tenantry(["logout"], { environment })).toEqual({
			code: 0,
			out: `Ended the access, and removed ${path}.\n`,
			err: "",
		});
		expect(existsSync(path)).toBe(false);
		expect(await works(key)).toBe(false);
		const refreshed = await fetch(`${inject("url")}/oauth/token`, {
			method: "POST",
			body: new URLSearchParams({
				grant_type: "refresh_token",
				refresh_token: tokens.refresh_token,
				client_id: "tenantry-cli",
			}),
		});
		expect(await refreshed.json()).toMatchObject({ error: "invalid_grant" });
		expect(await tenantry(["logout"], { environment })).toMatchObject({
			code: 0,
			out: "There was no login.\n",
		});
		expect(await tenantry(["whoami"], { environment })).toEqual({
			code: 2,
			out: "",
			err: `Error: You aren't logged in to ${inject("url")}. Run tenantry login, or set TENANTRY_KEY.\n`,
		});
	});

	test.each([
		["everything", [], ["*"]],
		[
			"the given scopes",
			["--scopes", "project:read", "--scopes", "organization:read"],
			["organization:read", "project:read"],
		],
	])("asks for %s, and works with what the person leaves", async (_, words, scopes) => {
		const { environment, page, file } = computer();
		const { ended, printed } = begin(["login", ...words], { environment });
		const { app, redirect_url } = await allow(await page(), ["project:read"]);
		expect(app.scopes).toEqual(scopes);
		await fetch(redirect_url);
		expect(await ended).toBe(0);
		expect(printed.out).toBe(`Logged in to ${inject("url")}. The login is saved in ${file()}.\n`);
		expect(await tenantry(["projects", "list"], { environment })).toMatchObject({ code: 0 });
		expect(await tenantry(["keys", "list"], { environment })).toMatchObject({
			code: 1,
			err: expect.stringContaining("missing required scope 'personal_api_key:read'"),
		});
	});

	test("ends if the person denies it, and ignores responses that it didn't ask for", async () => {
		const own = computer();
		const { ended, printed } = begin(["login"], own);
		const { searchParams } = await own.page();
		const back = new URL(searchParams.get("redirect_uri") ?? "");
		const come = async (parameters: object) => {
			back.search = String(new URLSearchParams({ ...parameters }));
			return fetch(back);
		};
		const state = searchParams.get("state") ?? "";
		const iss = inject("url");
		expect((await come({ code: "x", state: "x", iss })).status).toBe(404);
		expect((await come({ code: "x", iss })).status).toBe(404);
		// This isn't a URL.
		expect((await fetch(`${back.origin}//`)).status).toBe(404);
		const shown = await come({ error: "access_denied", state, iss });
		expect(await shown.text()).toBe("You are not logged in. You can close this page.\n");
		expect(await ended).toBe(1);
		expect(printed.err).toContain("Error: The access was denied.\n");
		expect(existsSync(own.file())).toBe(false);
	});

	test("rejects the response of another service", async () => {
		const own = computer();
		const { ended } = begin(["login"], own);
		const { redirect_url } = await allow(await own.page());
		const url = new URL(redirect_url);
		url.searchParams.set("iss", "https://evil.test");
		expect(await (await fetch(url)).text()).toContain("You are not logged in.");
		expect(await ended).toBe(1);
		expect(existsSync(own.file())).toBe(false);
	});
});

/** Waits for the code that a login shows. */
const codeOf = async ({ says }: ReturnType<typeof begin>) =>
	String((await says(/enter the code ([A-Z]{4}-[A-Z]{4})/))[1]);

// These wait for the interval of five seconds in which a code may be tried.
describe.concurrent("login with a code", () => {
	test.each([
		["in a terminal without a browser", [], { BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "" }],
		["if the browser can't be started", [], { BROWSER: "/nowhere" }],
		["with --device", ["--device"], {}],
	])("shows it %s, and goes on when the person has entered it", async (_, words, more) => {
		const own = computer();
		const environment = { ...own.environment, ...more };
		const command = begin(["login", ...words], { width: 80, environment });
		const user_code = await codeOf(command);
		expect(command.printed.out).toContain(`Go to ${inject("url")}/console/device on any device`);
		await person().deviceRequests.approve({ user_code, scopes: ["user:read"] });
		expect(await command.ended).toBe(0);
		expect(command.printed.out).toContain(`Logged in to ${inject("url")} as owner@example.com.`);
		expect(statSync(own.file()).mode & 0o777).toBe(0o600);
		expect(await works(savedIn(own.file()).key)).toBe(true);
	});

	test("ends if the person denies it", async () => {
		const command = begin(["login", "--device"], computer());
		await person().deviceRequests.deny({ user_code: await codeOf(command) });
		expect(await command.ended).toBe(1);
		expect(command.printed.err).toContain("Error: The access was denied.\n");
	});

	test("and without a URL is to the service of the profile", async () => {
		const own = computer();
		await logIn(own);
		const environment = { XDG_CONFIG_HOME: own.environment.XDG_CONFIG_HOME };
		const command = begin(["login", "--device"], { environment });
		await command.says(new RegExp(`Go to ${inject("url")}/console/device`));
		await person().deviceRequests.deny({ user_code: await codeOf(command) });
		expect(await command.ended).toBe(1);
		const input = inject("key");
		const saved = await tenantry(["login", "--key-stdin"], { environment, input });
		expect(saved.out).toContain(`Logged in to ${inject("url")} as owner@example.com.`);
	});
});

describe("a login", () => {
	test("is renewed before it expires and when the service rejects it, also for commands at the same moment", async () => {
		const own = computer();
		const { environment, file } = own;
		await logIn(own);
		const first = expire(file());
		const commands = Array.from({ length: 5 }, () => tenantry(["whoami"], { environment }));
		for (const { code } of await Promise.all(commands)) expect(code).toBe(0);
		const second = savedIn(file());
		expect(second.key).not.toBe(first.key);
		expect(statSync(file()).mode & 0o777).toBe(0o600);
		// A token that another program has replaced: the file says that it works, the service doesn't.
		writeFileSync(file(), JSON.stringify({ ...second, key: first.key }));
		const again = Array.from({ length: 5 }, () => tenantry(["projects", "list"], { environment }));
		for (const { code } of await Promise.all(again)) expect(code).toBe(0);
		expect(await works(savedIn(file()).key)).toBe(true);
		expect(existsSync(`${file()}.lock`)).toBe(false);
	});

	test("is renewed although a killed command has left its lock", async () => {
		const own = computer();
		await logIn(own);
		expire(own.file());
		const lock = `${own.file()}.lock`;
		mkdirSync(lock);
		writeFileSync(`${lock}/killed`, "");
		const long = new Date(Date.now() - 120_000);
		utimesSync(lock, long, long);
		expect(await tenantry(["whoami"], { environment: own.environment })).toMatchObject({ code: 0 });
		expect(existsSync(lock)).toBe(false);
	});

	test.each(["before it expires", "after it has expired"])(
		"that was ended elsewhere says so, %s",
		async (when) => {
			const own = computer();
			const { environment, file } = own;
			await logIn(own);
			const { tokens } = when === "before it expires" ? savedIn(file()) : expire(file());
			await fetch(`${inject("url")}/oauth/revoke`, {
				method: "POST",
				body: new URLSearchParams({ token: tokens.refresh_token }),
			});
			expect(await tenantry(["whoami"], { environment })).toEqual({
				code: 1,
				out: "",
				err: "Error: This login has ended. Run: tenantry login\n401 authentication_failed\n",
			});
			expect(await tenantry(["logout"], { environment })).toMatchObject({ code: 0 });
		},
	);

	test("is one of several profiles, which don't change each other", async () => {
		const own = computer();
		const { environment, file } = own;
		await logIn(own);
		await logIn(own, ["--profile", "reports", "--scopes", "user:read"]);
		const [first, second] = [savedIn(file()), savedIn(file("reports"))];
		expect(first.key).not.toBe(second.key);
		const list = (words: string[], more = {}) =>
			tenantry(["projects", "list", ...words], { environment: { ...environment, ...more } });
		expect((await list([])).code).toBe(0);
		expect((await list(["--profile", "reports"])).code).toBe(1);
		expect((await list([], { TENANTRY_PROFILE: "reports" })).code).toBe(1);
		const chosen = ["--profile", "default"];
		expect((await list(chosen, { TENANTRY_PROFILE: "reports" })).code).toBe(0);
		expect(await list(["--profile", "../x"])).toMatchObject({ code: 2 });
		expect(await list(["--profile", "nobody"])).toMatchObject({ code: 2 });
		await tenantry(["logout", "--profile", "reports"], { environment });
		expect(existsSync(file("reports"))).toBe(false);
		expect(await works(second.key)).toBe(false);
		expect((await list([])).code).toBe(0);
	});

	test("that is replaced ends, and a key in the environment comes first", async () => {
		const own = computer();
		const { environment, file } = own;
		await logIn(own);
		const { key } = savedIn(file());
		await logIn(own);
		expect(await works(key)).toBe(false);
		expect(await works(savedIn(file()).key)).toBe(true);
		const wrong = { ...environment, TENANTRY_KEY: "tnt_wrong" };
		expect(await tenantry(["whoami"], { environment: wrong })).toMatchObject({ code: 1 });
	});

	test("is never sent to another service", async () => {
		const own = computer();
		await logIn(own);
		const asked: unknown[] = [];
		const other = createServer((request, response) => {
			asked.push(request.headers.authorization);
			response.end("{}");
		});
		const url = `http://127.0.0.1:${await listen(other)}`;
		const environment = { ...own.environment, TENANTRY_URL: url };
		expect(await tenantry(["whoami"], { environment })).toMatchObject({ code: 2 });
		expect(await tenantry(["login"], { environment })).toMatchObject({
			code: 1,
			err: `Error: ${url} isn't a service that you can log in to with a browser.\n`,
		});
		expect(asked).toEqual([undefined]);
		other.close();
	});
});

describe("access", () => {
	test("isn't asked for if it can't be saved", async () => {
		const own = computer();
		const environment = { ...own.environment, XDG_CONFIG_HOME: own.environment.BROWSER };
		const { code, err } = await tenantry(["login"], { environment });
		expect(code).not.toBe(0);
		expect(err).toContain("ENOTDIR");
		expect(existsSync(own.opened)).toBe(false);
	});

	test("is saved although the service doesn't say whose it is", async () => {
		const own = computer();
		const url = await proxy((path) => (path === "/api/users/@me" ? 500 : undefined));
		const command = begin(["login", "--device", "--url", url], own);
		const user_code = await codeOf(command);
		await person().deviceRequests.approve({ user_code, scopes: ["*"] });
		expect(await command.ended).toBe(0);
		expect(command.printed.out).toBe(`Logged in to ${url}. The login is saved in ${own.file()}.\n`);
		expect(await works(savedIn(own.file()).key)).toBe(true);
	});

	test("that can't be ended stays saved", async () => {
		const own = computer();
		let status: number | undefined = 503;
		const url = await proxy((path) => (path.startsWith("/.well-known") ? status : undefined));
		const environment = await logInThrough(own, url);
		const { key } = savedIn(own.file());
		expect(await tenantry(["logout"], { environment })).toEqual({
			code: 1,
			out: "",
			err: "Error: 503 Service Unavailable\n503 503\n",
		});
		expect(savedIn(own.file()).key).toBe(key);
		expect(await works(key)).toBe(true);
		status = undefined;
		expect(await tenantry(["logout"], { environment })).toMatchObject({ code: 0 });
		expect(existsSync(own.file())).toBe(false);
		expect(await works(key)).toBe(false);
	});

	test.skipIf(process.platform === "win32").each(["logout", "login"])(
		"in a file that others can read ends with %s",
		async (command) => {
			const own = computer();
			await logIn(own);
			const { key } = savedIn(own.file());
			chmodSync(own.file(), 0o644);
			if (command === "login") await logIn(own);
			else await tenantry(["logout"], { environment: own.environment });
			expect(await works(key)).toBe(false);
		},
	);
});

describe("a renewal", () => {
	test("isn't sent again if its response was lost, because that would end the login", async () => {
		const own = computer();
		let renewals = 0;
		const url = await proxy((path) => {
			if (path !== "/oauth/token") return undefined;
			renewals += 1;
			return 0;
		});
		const environment = await logInThrough(own, url);
		expire(own.file());
		const { code, err } = await tenantry(["whoami"], { environment });
		expect({ code, err }).toEqual({
			code: 3,
			err: expect.stringMatching(`^Error: No response from ${url}: `),
		});
		expect(renewals).toBe(1);
	});

	test("is saved before Ctrl-C ends the command", async () => {
		const own = computer();
		const begun = Promise.withResolvers<undefined>();
		const interrupted = Promise.withResolvers<undefined>();
		const url = await proxy(async (path) => {
			if (path.startsWith("/.well-known")) return undefined;
			begun.resolve(undefined);
			// No other request gets a response, so that nothing but Ctrl-C ends the command.
			await (path === "/oauth/token" ? interrupted.promise : new Promise(() => undefined));
			return undefined;
		});
		const environment = await logInThrough(own, url);
		const { key } = expire(own.file());
		const { child, ended } = start(["whoami"], { environment });
		await begun.promise;
		child.kill("SIGINT");
		interrupted.resolve(undefined);
		expect(await ended).toBe(130);
		expect(savedIn(own.file()).key).not.toBe(key);
		expect(await works(savedIn(own.file()).key)).toBe(true);
		expect(existsSync(`${own.file()}.lock`)).toBe(false);
	});

	test.each([
		["is busy", 429, "Error: 429 Too Many Requests\n429 429\n"],
		["is out of order", 503, "Error: 503 Service Unavailable\n503 503\n"],
		[
			"has no logins any more",
			404,
			"Error: URL isn't a service that you can log in to with a browser.\n401 authentication_failed\n",
		],
	])("by a service that %s says so", async (_, status, err) => {
		const own = computer();
		const url = await proxy((path) => (path.startsWith("/.well-known") ? status : undefined));
		const environment = await logInThrough(own, url);
		expire(own.file());
		const expected = { code: 1, out: "", err: err.replace("URL", url) };
		expect(await tenantry(["whoami"], { environment })).toEqual(expected);
		const [first] = expected.err.split(/(?<=\n)401/);
		expect(await tenantry(["login"], { environment })).toEqual({ ...expected, err: first });
		expect(await tenantry(["logout"], { environment })).toEqual({ ...expected, err: first });
	});
});

test("a service that can't be reached, or that has another name, is named", async () => {
	const own = computer();
	const url = `http://127.0.0.1:${await freePort()}`;
	const away = await tenantry(["login", "--url", url], { environment: own.environment });
	expect(away).toMatchObject({ code: 3, out: "" });
	expect(away.err).toMatch(`Error: No response from ${url}: connect ECONNREFUSED`);
	const other = createServer((_, response) => {
		response.setHeader("content-type", "application/json");
		response.end(JSON.stringify({ issuer: "https://tenantry.example.com" }));
	});
	const port = await listen(other);
	const hint = "Run: tenantry login --url https://tenantry.example.com";
	for (const profile of [[], ["--profile", "reports"]]) {
		const words = ["login", "--url", `http://127.0.0.1:${port}`, ...profile];
		expect(await tenantry(words, { environment: own.environment })).toEqual({
			code: 2,
			out: "",
			err: `Error: The service is https://tenantry.example.com. ${[hint, ...profile].join(" ")}\n`,
		});
	}
	other.close();
});
