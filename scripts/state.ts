/** The local state: its folder, its lock and its settings. */
import { randomBytes } from "node:crypto";
import {
	accessSync,
	constants,
	existsSync,
	mkdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { environment, fail, messageOf, run } from "../build/run.ts";

export const root = resolve(import.meta.dirname, "..");

const DEFAULT_STATE = `${root}/.wrangler/state`;

export const state = resolve(root, process.env.STATE_DIR || DEFAULT_STATE);

const isDefault = state === DEFAULT_STATE;

/** The worker's name in wrangler.toml. */
export const WORKER = "tenantry";

/**
 * The folder in which a server on this state registers its address. By default, all workers of a
 * user share one registry, where servers of different checkouts or states would have the same name.
 */
export const registry = `${state}/registry`;
const REGISTRY = "CLOUDFLARE_DEV_REGISTRY_PATH";
environment[REGISTRY] = registry;
process.env[REGISTRY] = registry;

/**
 * The file with the variables of `wrangler dev`. For a state other than the default, it is in the
 * state's folder.
 */
export const variablesFile = isDefault ? `${root}/.dev.vars` : `${state}/dev.vars`;

/**
 * A running server updates its registry entry more often than this. The server of an older entry
 * has stopped.
 */
const STALE_MS = 90_000;

/**
 * Returns the address for entrypoint calls to the state's server; undefined without a recent
 * registry entry.
 */
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

/** Whether a server that was started with `npm start` or `wrangler dev` uses this state. */
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

/** The lock. The operating system releases it when the process ends, even if it crashes. */
let held: DatabaseSync | undefined;

const isFolder = (path: string) =>
	statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Creates a folder and those above it. Below /proc, `mkdirSync` with `recursive` never returns. */
function createFolder(path: string) {
	if (isFolder(path)) return;
	createFolder(dirname(path));
	try {
		mkdirSync(path);
	} catch (error) {
		// Another process may have created it in the meantime.
		if (!isFolder(path)) throw error;
	}
}

/**
 * Opens the file with the lock in the state's folder, and creates both if necessary. Ends the
 * script if this fails, or if the folder isn't writable.
 */
function openLock() {
	try {
		createFolder(state);
		accessSync(state, constants.R_OK | constants.W_OK | constants.X_OK);
		return new DatabaseSync(`${state}/lock`);
	} catch (error) {
		return fail(
			`Data can't be stored in ${state}: ${messageOf(error)}. To use another folder, set STATE_DIR.`,
		);
	}
}

/** Locks the state for this process. Returns false if another process has locked it. */
export function lock(holder: string) {
	const database = openLock();
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

/**
 * Locks the state for this process. Ends the script if another process uses it, or if its folder
 * can't be used.
 */
export async function lockOrFail(holder: string) {
	if (!lock(holder)) {
		const file = `${state}/lock-holder`;
		const other = existsSync(file) ? readFileSync(file, "utf8") : "a process";
		fail(
			`${state} is in use by ${other}. Stop it, or use another folder: STATE_DIR=path ${holder}`,
		);
	}
	if (await serverRuns())
		fail(
			`A server is already running on ${state}. Stop it, or use another folder: STATE_DIR=path ${holder}`,
		);
}

/** Reads a file with lines such as `NAME="value"`. Returns an empty map if there is no file. */
export const settings = (file: string) =>
	new Map(
		(existsSync(file) ? readFileSync(file, "utf8") : "")
			.split("\n")
			.map((line) => /^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$/.exec(line))
			.flatMap((match) =>
				match?.[1] ? [[match[1], (match[2] ?? "").replace(/^(["'])(.*)\1$/, "$2")]] : [],
			),
	);

/** Adds the `wanted` settings that are missing in a file. Returns their names. */
function complete(file: string, wanted: Record<string, () => string>) {
	const existing = settings(file);
	const missing = Object.entries(wanted).filter(([name]) => !existing.has(name));
	if (missing.length === 0) return [];
	const before = existsSync(file) ? readFileSync(file, "utf8") : "";
	const separator = before === "" || before.endsWith("\n") ? "" : "\n";
	const lines = missing.map(([name, value]) => `${name}="${value()}"\n`);
	writeFileSync(file, before + separator + lines.join(""), { mode: 0o600 });
	return missing.map(([name]) => name);
}

export const EMAIL = "admin@example.com";

/** Adds the missing settings that `wrangler dev` needs for all features. Returns their names. */
export function writeSettings() {
	const added = complete(variablesFile, {
		SECRETS_KEY: () =>
			settings(`${state}/secrets.env`).get("SECRETS_KEY") ?? randomBytes(32).toString("base64"),
		MAIL_FROM: () => EMAIL,
		APP_URL: () => "http://localhost:8787",
		NPM_REGISTRY_URL: () => run("npm", "config", "get", "registry").trim(),
		ALLOW_PRIVATE_DESTINATIONS: () => "true",
		// Test programs create many.
		ORGANIZATIONS_PER_DAY: () => "1000000",
	});
	if (isDefault) complete(`${root}/.env`, { [REGISTRY]: () => ".wrangler/state/registry" });
	return added;
}
