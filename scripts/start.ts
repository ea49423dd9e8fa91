/**
 * `npm start`: runs the whole service on this computer, on the port PORT, with its state in
 * STATE_DIR.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { environment, fail, signalGroup } from "../build/run.ts";
import { logFile, reader } from "./output.ts";
import { EMAIL, lockOrFail, registry, settings, state, variablesFile } from "./state.ts";
import { expectNoArguments, WRONG_USAGE } from "./usage.ts";

const port = Number(process.env.PORT || 8787);
const url = `http://localhost:${port}`;

/**
 * A server that responds to no request for this long is restarted. A busy server still responds to
 * some.
 */
const HANG_SECONDS = Number(process.env.HANG_SECONDS || 120);

const isFree = () =>
	new Promise<boolean>((resolve) => {
		const probe = createServer()
			.once("error", () => resolve(false))
			.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
	});

/** Whether the server on the port is one of this service. */
const isOwn = () =>
	fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(10_000) }).then(
		({ headers }) => headers.has("tenantry-version"),
		() => false,
	);

/** Ends the script if the port is not available. */
async function checkPort() {
	if (await isFree()) return;
	// A second server needs its own data, too.
	fail(
		(await isOwn())
			? `Tenantry is already running at ${url}. Stop it, or start another one with its own port and data: PORT=${port + 1} STATE_DIR=.wrangler/state-${port + 1} npm start`
			: `Port ${port} is not available. Use another port: PORT=${port + 1} npm start`,
	);
}

const answers = (path: string, seconds: number) =>
	fetch(`http://127.0.0.1:${port}${path}`, {
		signal: AbortSignal.timeout(seconds * 1000),
	}).then(
		({ ok }) => ok,
		() => false,
	);

/**
 * Attempts to start the server. Wrangler chooses more ports for itself, which another process may
 * take before it uses them.
 */
const MAX_STARTS = 3;

/**
 * Whether the server has started. Until then, its output is collected, and shown only if the start
 * fails.
 */
let started = false;
let startupOutput = "";

/** Seconds since the server's last response. Time in which the computer sleeps doesn't count. */
let silence = 0;

/**
 * Runs Wrangler, and kills its process group when standard input ends: if this process is killed,
 * the server must not stay behind with the port and the state. (A background command of a shell
 * ignores Ctrl-C, and would have no input without the descriptor 3.)
 */
const RUN_WRANGLER = `exec 3<&0
{ cat <&3; kill -s KILL 0; } >/dev/null 2>&1 &
exec wrangler "$@" 3<&- </dev/null`;

/**
 * Starts the server as the leader of a process group, so that killing the group also kills workerd.
 */
function serve() {
	// The registry entry of a killed server would prevent the new one from registering.
	rmSync(registry, { recursive: true, force: true });
	const appUrl = settings(variablesFile).get("APP_URL");
	const words = [
		"dev",
		...["--port", String(port)],
		...["--persist-to", state],
		...["--log-level", "log"],
		"--show-interactive-dev-session=false",
		...["--var", "LOG_REQUESTS:true"],
		...(appUrl?.startsWith("http://localhost:") ? ["--var", `APP_URL:${url}`] : []),
		...(variablesFile.endsWith("/.dev.vars") ? [] : ["--env-file", variablesFile]),
	];
	const server = spawn("sh", ["-c", RUN_WRANGLER, "sh", ...words], {
		env: environment,
		stdio: "pipe",
		detached: true,
	});
	const read = reader();
	for (const stream of ["stdout", "stderr"] as const)
		createInterface({ input: server[stream] }).on("line", (line) => {
			const { text, answered } = read(line, stream);
			if (answered) silence = 0;
			if (text === undefined) return;
			if (started) console.log(text);
			else startupOutput += `${text}\n`;
		});
	return server;
}

const hasEnded = (server: ChildProcess) => server.exitCode !== null || server.signalCode !== null;

/** Waits until the server responds, and returns true. Returns false if it ends first. */
async function isReady(server: ChildProcess) {
	while (!hasEnded(server)) {
		if (await answers("/healthz", 10)) return true;
		await sleep(200);
	}
	return false;
}

/**
 * Waits until the server has ended, or has responded to no request for `HANG_SECONDS`. Sends
 * requests itself to test this.
 */
async function watch(server: ChildProcess) {
	let isProbing = false;
	for (silence = 0; silence < HANG_SECONDS && !hasEnded(server); silence += 1) {
		if (!isProbing) {
			isProbing = true;
			// Late responses and error responses count, too.
			fetch(`http://127.0.0.1:${port}/healthz`)
				.then(() => {
					silence = 0;
				})
				.catch(() => {})
				.finally(() => {
					isProbing = false;
				});
		}
		await sleep(1000);
	}
}

/**
 * Adds the sample events and their export to a new state. Returns the export's id, or undefined if
 * this fails.
 */
async function sample(key: string) {
	const file = `${state}/sampled`;
	const kept = existsSync(file) ? readFileSync(file, "utf8") : "";
	const headers = { authorization: `Bearer ${key}` };
	const path = `http://127.0.0.1:${port}/api/projects/@current/batch_exports/${kept}`;
	if (kept && (await fetch(path, { headers })).ok) return kept;
	console.log("Adding sample events…");
	const samples = await import("./sample.ts");
	try {
		const { id } = await samples.sample(`http://127.0.0.1:${port}`, key);
		writeFileSync(file, id);
		return id;
	} catch (error) {
		console.log(`Could not add the sample events: ${error}`);
		return undefined;
	}
}

expectNoArguments(`Usage: npm start

Runs the service on this computer. Environment variables:
  PORT       the port; 8787 by default
  STATE_DIR  the folder of the data; .wrangler/state by default

Example: PORT=8788 npm start`);
if (!Number.isInteger(port) || port < 1 || port > 65535)
	fail(`PORT must be a number from 1 to 65535, not ${process.env.PORT}.`, WRONG_USAGE);
await checkPort();
console.log(`Preparing ${state}…`);
await lockOrFail("npm start");
mkdirSync(`${state}/mail`, { recursive: true });
const { setup } = await import("./setup.ts");
const key = await setup();

console.log("Starting the server…");
let server = serve();
process.on("exit", () => signalGroup(server, "SIGKILL"));
/**
 * Stops the server and ends this process. Ending the process kills a server that has not stopped
 * within 3 seconds.
 */
async function stop() {
	signalGroup(server, "SIGINT");
	for (let i = 0; i < 30 && !hasEnded(server); i++) await sleep(100);
	process.exit(0);
}
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, stop);

// npm doesn't forward signals to scripts. But when npm ends, the script gets another parent
// process.
const parent = process.ppid;
setInterval(() => process.ppid === parent || stop(), 1000).unref();

for (let starts = 1; !(await isReady(server)); starts++) {
	if (starts === MAX_STARTS || !startupOutput.includes("Address already in use"))
		fail(`The server did not start.\n${startupOutput}`);
	startupOutput = "";
	server = serve();
}
const id = await sample(key);
const variables = [
	`URL=${url}`,
	`KEY=${key}`,
	...(id ? [`ID=${id}`] : []),
	...(process.env.STATE_DIR ? [`STATE_DIR='${state}'`] : []),
];
console.log(`
Tenantry is running at ${url}. To try it, paste this into another terminal:

${variables.map((variable) => `  export ${variable}`).join("\n")}
  curl -H "Authorization: Bearer $KEY" "$URL/api/organizations/@current/?pretty"

To use the console, open this link in a browser. It signs you in:

  ${url}/console#key=${key}

To try single sign-on, run a provider: npm run provider (${url}/docs/sign-on#a-provider-to-try-with)
The documentation is at ${url}/docs, and you can try every operation at ${url}/docs/reference.
KEY is an API key of ${EMAIL} with all scopes.${id ? " ID is an hourly export of sample events to R2. Each of its runs has a file:" : ""}
${
	id
		? `
  RUNS="$URL/api/projects/@current/batch_exports/$ID/runs"
  curl -H "Authorization: Bearer $KEY" "$RUNS/?pretty"
  curl -H "Authorization: Bearer $KEY" "$RUNS/<run>/files/?pretty"
  curl -H "Authorization: Bearer $KEY" "$RUNS/<run>/files/<name>" -O
`
		: ""
}
Data is stored in ${state}. Details of errors are in ${logFile}. Press Ctrl-C to stop the server.
`);
started = true;

// The local server has no cron trigger. Twice a minute, so that interrupted work resumes within a
// minute.
setInterval(() => answers("/cdn-cgi/local/scheduled?cron=*+*+*+*+*", 25), 30_000);

for (;;) {
	await watch(server);
	console.log(
		hasEnded(server)
			? "The server ended unexpectedly. Restarting it…"
			: `The server has not responded for ${HANG_SECONDS} seconds. Restarting it…`,
	);
	signalGroup(server, "SIGKILL");
	while (!hasEnded(server)) await sleep(50);
	server = serve();
	if (await isReady(server)) console.log(`Tenantry is running at ${url} again.`);
}
