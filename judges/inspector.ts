/**
 * `npm run inspector`: the MCP Inspector signs in to a new server from the URL of `/mcp` alone, as
 * an assistant does: it registers itself, a person allows it in a browser, and it gets its tokens.
 * It then lists the tools, whose schemas it checks, and calls one, until the person ends its access.
 * It needs Chromium and, for the first run, the npm registry.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { environment, fail, run } from "../build/run.ts";
import { Tenantry } from "../packages/client/src/index.ts";
import { openBrowser, signIn } from "./browser.ts";
import { serveNew } from "./kept_server.ts";

const VERSION = "2.12.0";

const root = `${import.meta.dirname}/..`;
const installed = `${root}/node_modules/.cache/inspector-${VERSION}`;
const program = `${installed}/node_modules/.bin/mcp-inspector`;

const Listed = z.object({ result: z.object({ tools: z.array(z.object({ name: z.string() })) }) });

function install() {
	// npm links programs last.
	if (existsSync(program)) return;
	console.log("Installing the MCP Inspector…");
	const words = ["--prefix", installed, "--ignore-scripts", "--no-save", "--silent"];
	run("npm", "install", ...words, `@modelcontextprotocol/inspector@${VERSION}`);
}

const browser = await openBrowser();
install();
const { url, owner, work } = await serveNew("inspector");
const api = new Tenantry({ baseUrl: url, key: owner.key });

/** Runs the inspector. `onShown` gets everything that it has shown. Returns also what it printed. */
async function inspect(words: string[], onShown: (text: string) => void = () => undefined) {
	const inspector = spawn(
		program,
		["--cli", "--server-url", `${url}/mcp`, "--transport", "http", "--format", "json", ...words],
		{
			env: {
				...environment,
				// It keeps the tokens below the home folder.
				HOME: work,
				MCP_INSPECTOR_SECRET_STORE: "file",
				// Otherwise, it signs in only in a terminal.
				MCP_AUTO_OPEN_ENABLED: "true",
			},
			stdio: ["ignore", "pipe", "pipe"],
		},
	);
	let shown = "";
	inspector.stderr.setEncoding("utf8").on("data", (part: string) => {
		shown += part;
		onShown(shown);
	});
	const [printed, [code]] = await Promise.all([text(inspector.stdout), once(inspector, "exit")]);
	return { code: Number(code), printed, shown };
}

/** Runs the inspector, which must succeed. Returns the result as text. */
async function succeed(...given: Parameters<typeof inspect>) {
	const { code, printed, shown } = await inspect(...given);
	if (code !== 0) fail(`The inspector failed with ${code}:\n${printed}${shown}`);
	return printed;
}

/** Opens the page to which the inspector sends the person, and allows what it asks for. */
async function allow(link: string) {
	const page = await signIn(browser, { url, key: owner.key });
	await page.goto(link);
	await page.getByText("that nobody vouches for").waitFor();
	await page.getByRole("button", { name: "Allow", exact: true }).click();
	await page.waitForURL((to) => to.pathname === "/oauth/callback");
}

console.log("Signing in, and checking the tools…");
let allowing: Promise<void> | undefined;
const listed = await succeed(["--method", "tools/list", "--strict"], (shown) => {
	const [link] = /http\S+\/oauth\/authorize\S+(?=\s)/.exec(shown) ?? [];
	if (link) allowing ??= allow(link);
});
await allowing;
const { tools } = Listed.parse(JSON.parse(listed)).result;
if (!allowing || tools.length === 0) fail(`It didn't sign in, or got no tools:\n${listed}`);

console.log("Calling a tool…");
const call = [
	...["--method", "tools/call", "--tool-name", "read", "--stored-auth-only"],
	...["--tool-args-json", JSON.stringify({ operationId: "listProjects" })],
];
const called = await succeed(call);
if (!called.includes("Default project")) fail(`The tool returned something else:\n${called}`);

console.log("Ending its access…");
const [grant] = (await api.oauthGrants.list("@me")).results;
if (grant?.client_name !== "MCP Inspector") fail("Its access isn't listed.");
await api.oauthGrants.revoke({ user: "@me", id: grant.id });
const after = await inspect(call);
if (!after.shown.includes("auth_required"))
	fail(`It still has access:\n${after.printed}${after.shown}`);
console.log(`The MCP Inspector ${VERSION} signed in, and used ${tools.length} tools.`);
process.exit(0);
