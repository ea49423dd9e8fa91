/** Where state is kept on this machine, who uses it, and the settings that go with it. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { environment, fail, run } from "./run.ts";

export const root = resolve(import.meta.dirname, "..");

const DEFAULT_STATE = `${root}/.wrangler/state`;

export const state = resolve(root, process.env.STATE_DIR || DEFAULT_STATE);

const isDefault = state === DEFAULT_STATE;

/** The name in wrangler.toml. */
export const WORKER = "tenantry";

/**
 * Where a server that runs on this state says how to reach it. By default this is one place for all of a user's
 * workers, in which two checkouts or two states would be taken for each other.
 */
export const registry = `${state}/registry`;
const REGISTRY = "CLOUDFLARE_DEV_REGISTRY_PATH";
environment[REGISTRY] = registry;
process.env[REGISTRY] = registry;

/** The variables of `wrangler dev`. Those of another state than the default one don't belong to the checkout. */
export const variablesFile = isDefault ? `${root}/.dev.vars` : `${state}/dev.vars`;

/** A server that stops writes its entry no more; the entry is old after this time. */
const STALE_MS = 90_000;

/** Where the server of this state takes calls of its entrypoints; undefined where it says nothing, or nothing recent. */
function serverAddress() {
	const entry = `${registry}/${WORKER}`;
	try {
		if (statSync(entry).mtimeMs < Date.now() - STALE_MS) return undefined;
		const { debugPortAddress } = JSON.parse(readFileSync(entry, "utf8"));
		return new URL(`http://${debugPortAddress}`);
	} catch {
		return undefined;
	}
}

/** Whether a server runs on this state, whatever started it: `npm start` or `wrangler dev`. */
export async function serverRuns() {
	const address = serverAddress();
	if (!address) return false;
	return new Promise<boolean>((resolve) => {
		const socket = connect(Number(address.port), address.hostname)
			.once("connect", () => {
				resolve(true);
				socket.destroy();
			})
			.once("error", () => resolve(false));
	});
}

/** Held until the process ends, however it ends: the lock is the operating system's, so it can't be left behind. */
let held: DatabaseSync | undefined;

/** Makes this process the only one that uses the state; false: another one does. */
export function lock(holder: string) {
	mkdirSync(state, { recursive: true });
	const database = new DatabaseSync(`${state}/lock`);
	try {
		database.exec("BEGIN EXCLUSIVE");
	} catch {
		database.close();
		return false;
	}
	held = database;
	writeFileSync(`${state}/lock-holder`, `${holder} (process ${process.pid})`);
	return true;
}

export function unlock() {
	held?.close();
	held = undefined;
}

/** Ends the script unless no other process uses the state. */
export async function lockOrFail(holder: string) {
	if (!lock(holder)) {
		const file = `${state}/lock-holder`;
		const other = existsSync(file) ? readFileSync(file, "utf8") : "a process";
		fail(
			`${state} is in use by ${other}. Stop it, or use another directory: STATE_DIR=path ${holder}`,
		);
	}
	if (await serverRuns())
		fail(
			`A server is already running on ${state}. Stop it, or use another directory: STATE_DIR=path ${holder}`,
		);
}

/** The settings in a file of lines such as `NAME="value"`. */
export const settings = (file: string) =>
	new Map(
		(existsSync(file) ? readFileSync(file, "utf8") : "")
			.split("\n")
			.map((line) => /^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$/.exec(line))
			.flatMap((match) =>
				match?.[1] ? [[match[1], (match[2] ?? "").replace(/^(["'])(.*)\1$/, "$2")]] : [],
			),
	);

/** Adds those of `wanted` that a file of settings lacks; what is there stays. Answers the names of those added. */
function complete(file: string, wanted: Record<string, () => string>) {
	const known = settings(file);
	const missing = Object.entries(wanted).filter(([name]) => !known.has(name));
	if (missing.length === 0) return [];
	const before = existsSync(file) ? readFileSync(file, "utf8") : "";
	const separator = before === "" || before.endsWith("\n") ? "" : "\n";
	const lines = missing.map(([name, value]) => `${name}="${value()}"\n`);
	writeFileSync(file, before + separator + lines.join(""), { mode: 0o600 });
	return missing.map(([name]) => name);
}

export const EMAIL = "admin@example.com";

/** Writes what `wrangler dev` needs to do all that the service can; answers what it wrote. */
export function writeSettings() {
	const added = complete(variablesFile, {
		SECRETS_KEY: () =>
			settings(`${state}/secrets.env`).get("SECRETS_KEY") ?? randomBytes(32).toString("base64"),
		MAIL_FROM: () => EMAIL,
		APP_URL: () => "http://localhost:8787",
		NPM_REGISTRY_URL: () => run("npm", "config", "get", "registry").trim(),
		ALLOW_PRIVATE_DESTINATIONS: () => "true",
	});
	if (isDefault) complete(`${root}/.env`, { [REGISTRY]: () => ".wrangler/state/registry" });
	return added;
}
