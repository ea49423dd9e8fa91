/** `login` with OAuth 2.1, against a real service (docs/cli.md#logging-in). */
import { execFileSync } from "node:child_process";
import {
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
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import * as z from "zod";
import { freePort } from "../../../test/support/server.ts";
import { type AppRequest, Tenantry } from "../../client/src/index.ts";
import { begin, home, inTerminal, tenantry } from "./program.ts";

const PATIENT = { timeout: 60_000, interval: 50 };

const person = () => new Tenantry({ baseUrl: inject("url"), key: inject("key") });

beforeAll(() => {
	execFileSync(process.execPath, ["build.js"], { cwd: `${import.meta.dirname}/..` });
});

/** A computer on which nobody is logged in, and what its browser does: it stores the URLs. */
function computer() {
	const folder = mkdtempSync(`${home}/computer-`);
	const opened = `${folder}/opened`;
	const browser = `${folder}/browser`;
	writeFileSync(
		browser,
		`#!/bin/sh\nprintf '%s\\n' "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`,
		{
			mode: 0o755,
		},
	);
	const environment = {
		XDG_CONFIG_HOME: folder,
		TENANTRY_URL: inject("url"),
		BROWSER: browser,
	};
	const file = (profile = "default") => `${folder}/tenantry/${profile}.json`;
	/** Waits for the next URL that is opened. */
	const page = async () => {
		const url = await vi.waitFor(() => new URL(readFileSync(opened, "utf8").trim()), PATIENT);
		rmSync(opened);
		return url;
	};
	return { environment, file, page };
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
	const { ended, printed } = begin(["login", ...words], environment);
	const { redirect_url } = await allow(await page());
	const shown = await (await fetch(redirect_url)).text();
	return { code: await ended, shown, ...printed };
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
			out: `Removed ${path}.\n`,
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

	test("asks for everything, or for the given scopes, and works with what the person leaves", async () => {
		const own = computer();
		const { environment } = own;
		const all = begin(["login"], environment);
		expect((await allow(await own.page(), ["project:read"])).app.scopes).toEqual(["*"]);
		all.child.kill("SIGINT");
		expect(await all.ended).toBe(130);

		const few = computer();
		const words = ["login", "--scopes", "project:read", "--scopes", "organization:read"];
		const { ended, printed } = begin(words, few.environment);
		const { app, redirect_url } = await allow(await few.page(), ["project:read"]);
		expect(app.scopes).toEqual(["organization:read", "project:read"]);
		await fetch(redirect_url);
		expect(await ended).toBe(0);
		expect(printed.out).toBe(
			`Logged in to ${inject("url")}. The login is saved in ${few.file()}.\n`,
		);
		const listed = await tenantry(["projects", "list"], { environment: few.environment });
		expect(listed.code).toBe(0);
		expect(await tenantry(["keys", "list"], { environment: few.environment })).toMatchObject({
			code: 1,
			err: expect.stringContaining("missing required scope 'personal_api_key:read'"),
		});
	});

	test("ends if the person denies it, and ignores responses that it didn't ask for", async () => {
		const own = computer();
		const { ended, printed } = begin(["login"], own.environment);
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
		const shown = await come({ error: "access_denied", state, iss });
		expect(await shown.text()).toBe("You are not logged in. You can close this page.\n");
		expect(await ended).toBe(1);
		expect(printed.err).toContain("Error: The access was denied.\n");
		expect(existsSync(own.file())).toBe(false);
	});

	test("rejects the response of another service", async () => {
		const own = computer();
		const { ended } = begin(["login"], own.environment);
		const { redirect_url } = await allow(await own.page());
		const url = new URL(redirect_url);
		url.searchParams.set("iss", "https://evil.test");
		expect(await (await fetch(url)).text()).toContain("You are not logged in.");
		expect(await ended).toBe(1);
		expect(existsSync(own.file())).toBe(false);
	});
});

describe("login with a code", () => {
	test.each([
		["in a terminal without a browser", [], { BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "" }],
		["if the browser can't be started", [], { BROWSER: "/nowhere" }],
		["with --device", ["--device"], {}],
	] as const)("shows it %s, and goes on when the person has entered it", async (_, words, more) => {
		const own = computer();
		const environment = { ...own.environment, ...more };
		const { printed, says, ended } = inTerminal(["login", ...words], { environment });
		await says(/enter the code [A-Z]{4}-[A-Z]{4}/);
		expect(printed.out).toContain(`Go to ${inject("url")}/console/device on any device`);
		const [, user_code = ""] = /code ([A-Z-]{9})/.exec(printed.out) ?? [];
		await person().deviceRequests.approve({ user_code, scopes: ["user:read"] });
		expect(await ended).toBe(0);
		expect(printed.out).toContain(`Logged in to ${inject("url")} as owner@example.com.`);
		expect(statSync(own.file()).mode & 0o777).toBe(0o600);
		expect(await works(savedIn(own.file()).key)).toBe(true);
	});

	test("ends if the person denies it", async () => {
		const own = computer();
		const { printed, says, ended } = begin(["login", "--device"], own.environment);
		await says(/enter the code/);
		const [, user_code = ""] = /code ([A-Z-]{9})/.exec(printed.err) ?? [];
		await person().deviceRequests.deny({ user_code });
		expect(await ended).toBe(1);
		expect(printed.err).toContain("Error: The access was denied.\n");
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
		const port = await freePort();
		const other = createServer((request, response) => {
			asked.push(request.headers.authorization);
			response.end("{}");
		}).listen(port, "127.0.0.1");
		const environment = { ...own.environment, TENANTRY_URL: `http://127.0.0.1:${port}` };
		expect(await tenantry(["whoami"], { environment })).toMatchObject({ code: 2 });
		expect(await tenantry(["login"], { environment })).toMatchObject({
			code: 1,
			err: `Error: http://127.0.0.1:${port} isn't a service that you can log in to with a browser.\n`,
		});
		expect(asked).toEqual([undefined]);
		other.close();
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
	const port = await freePort();
	other.listen(port, "127.0.0.1");
	expect(
		await tenantry(["login", "--url", `http://127.0.0.1:${port}`], {
			environment: own.environment,
		}),
	).toEqual({
		code: 2,
		out: "",
		err: "Error: The service is https://tenantry.example.com. Run: tenantry login --url https://tenantry.example.com\n",
	});
	other.close();
});
