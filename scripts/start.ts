/** `npm start`: the whole service on this machine, ready to be tried. PORT and STATE_DIR say where. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { mask } from "../src/auth/keys.ts";
import { environment, fail, run } from "./run.ts";
import { sample } from "./sample.ts";

const port = Number(process.env.PORT ?? 8787);
const state = process.env.STATE_DIR ?? ".wrangler/state";
environment.STATE_DIR = state;
const url = `http://localhost:${port}`;
const EMAIL = "admin@example.com";

/** Refuses a port that somebody else has. */
const free = () =>
	new Promise<void>((resolve) => {
		const probe = createServer()
			.once("error", () =>
				fail(
					`Port ${port} is taken or not to be had. Choose another: PORT=8788 npm start`,
				),
			)
			.listen(port, "127.0.0.1", () => probe.close(() => resolve()));
	});

const admin = (...words: string[]) =>
	JSON.parse(
		run("node", "scripts/admin.ts", ...words, "--email", EMAIL, "--json"),
	);

/** A key for the worked example: that of the last start, kept beside the state that it opens, while it works. */
function exampleKey(): string {
	const file = `${state}/example-key`;
	const made: { key: string | null; keys: string[] } = admin("bootstrap");
	const kept = existsSync(file) ? readFileSync(file, "utf8") : "";
	if (kept && made.keys.some((key) => key.endsWith(mask(kept)))) return kept;
	const key: string =
		made.key ??
		admin("key", "create", "--label", "npm start", "--scopes", "*").key;
	writeFileSync(file, key, { mode: 0o600 });
	return key;
}

const answers = (path: string, seconds: number) =>
	fetch(`http://127.0.0.1:${port}${path}`, {
		signal: AbortSignal.timeout(seconds * 1000),
	}).then(
		({ ok }) => ok,
		() => false,
	);

/** A file with a key for the secrets in this state, made once. */
function secrets() {
	const file = `${state}/secrets.env`;
	const key = randomBytes(32).toString("base64");
	if (!existsSync(file))
		writeFileSync(file, `SECRETS_KEY="${key}"\n`, { mode: 0o600 });
	return file;
}

/** Whether the server has answered, and what it said before: of interest only if it never does. */
let started = false;
let complaints = "";

/**
 * The server, in a process group of its own: workerd, too, goes when the group goes. Of what it says, errors are passed
 * on; of mails, which it writes to files that go with it, a copy is kept beside the state.
 */
function serve() {
	const variables = [
		...["--var", `MAIL_FROM:${EMAIL}`],
		...[
			"--var",
			`NPM_REGISTRY_URL:${run("npm", "config", "get", "registry").trim()}`,
		],
		...["--var", "ALLOW_PRIVATE_DESTINATIONS:true"],
		...["--env-file", secrets()],
	];
	const words = [
		"dev",
		...["--port", String(port)],
		...["--persist-to", state],
		...["--log-level", "info"],
		"--show-interactive-dev-session=false",
		...variables,
	];
	const server = spawn("wrangler", words, {
		env: environment,
		stdio: ["ignore", "pipe", "pipe"],
		detached: true,
	});
	server.stderr.on("data", (words) => {
		if (started) process.stderr.write(words);
		else complaints += words;
	});
	createInterface({ input: server.stdout }).on("line", (line) => {
		const [, mail] = /^Email: (.+\.eml)$/.exec(line) ?? [];
		if (mail) keep(mail);
	});
	return server;
}

function keep(mail: string) {
	const copy = `${state}/mail/${basename(mail)}`;
	copyFileSync(mail, copy);
	console.log(`A mail was sent: ${copy}`);
}

function signal(server: ChildProcess, name: "SIGINT" | "SIGKILL") {
	try {
		if (server.pid) process.kill(-server.pid, name);
	} catch {
		// It is gone already.
	}
}

const gone = (server: ChildProcess) =>
	server.exitCode !== null || server.signalCode !== null;

/** Until it answers; false: it ended first. */
async function ready(server: ChildProcess) {
	while (!gone(server)) {
		if (await answers("/healthz", 2)) return true;
		await sleep(200);
	}
	return false;
}

/** Until it has ended, or has twice in a row kept a question waiting for five seconds. */
async function watch(server: ChildProcess) {
	for (let missed = 0; missed < 2 && !gone(server); ) {
		await sleep(2000);
		missed = (await answers("/healthz", 5)) ? 0 : missed + 1;
	}
}

if (!Number.isInteger(port) || port < 1 || port > 65535)
	fail(`PORT is a number from 1 to 65535, not ${process.env.PORT}`);
await free();
mkdirSync(`${state}/mail`, { recursive: true });
console.log("Preparing the database…");
run(
	"wrangler",
	"d1",
	"migrations",
	"apply",
	"DB",
	"--local",
	"--persist-to",
	state,
);
const key = exampleKey();

let server = serve();
process.on("exit", () => signal(server, "SIGKILL"));
/** Ends with the server; one that does not mind is killed on the way out. */
async function stop() {
	signal(server, "SIGINT");
	for (let i = 0; i < 30 && !gone(server); i++) await sleep(100);
	process.exit(0);
}
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
	process.once(name, stop);

// npm passes no signal on to a script; but where npm is gone, the script has another parent.
const parent = process.ppid;
setInterval(() => process.ppid === parent || stop(), 1000).unref();

if (!(await ready(server))) fail(`The server did not start.\n${complaints}`);
started = true;
console.log(`
Tenantry listens on ${url}. Try it:

  curl -H 'Authorization: Bearer ${key}' ${url}/api/organizations/@current/

The key is ${EMAIL}'s and may do everything. State is kept in ${state}. Ctrl-C stops.
`);

if (!existsSync(`${state}/sampled`))
	await sample(url.replace("localhost", "127.0.0.1"), key).then(
		({ id, events }) => {
			writeFileSync(`${state}/sampled`, id);
			console.log(`There are ${events} sample events, and an hourly export of them to R2. Its runs, and where to find their files:

  curl -H 'Authorization: Bearer ${key}' ${url}/api/projects/@current/batch_exports/${id}/logs/
`);
		},
		(error: unknown) =>
			console.log(`The sample events could not be added: ${error}`),
	);

// The local server has no clock of its own. Twice a minute, so that what a crash cut off goes on within a minute.
setInterval(
	() => answers("/cdn-cgi/local/scheduled?cron=*+*+*+*+*", 25),
	30_000,
);

for (;;) {
	await watch(server);
	console.log("The server does not answer. Starting it again…");
	signal(server, "SIGKILL");
	while (!gone(server)) await sleep(50);
	server = serve();
	if (await ready(server)) console.log(`Tenantry listens on ${url} again.`);
}
