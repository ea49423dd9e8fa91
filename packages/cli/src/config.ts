/** Reads and saves logins: a service's URL and a key or tokens (docs/cli.md#profiles). */
import {
	chmodSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { isObject } from "./output.ts";

/** The tokens of OAuth 2.1. `expires_at`: when the access token expires, in Unix milliseconds. */
export type Tokens = { refresh_token: string; expires_at: number };

/** A login. `key`: an API key or, with `tokens`, the access token. */
export type Saved = { url: string; key: string; tokens?: Tokens };

export const DEFAULT_URL = "http://localhost:8787";

/** @throws {UsageError} if the name can't be part of a file's name */
export function profile() {
	const { profile, env } = context();
	const name = profile ?? (env.TENANTRY_PROFILE || "default");
	if (!/^[\w-]{1,50}$/.test(name))
		throw new UsageError(
			"A profile's name has at most 50 letters, digits, hyphens and underscores.",
		);
	return name;
}

/** Returns the command that logs in to the profile. */
export const loginWords = (...words: string[]) =>
	["tenantry login", ...words, ...(profile() === "default" ? [] : ["--profile", profile()])].join(
		" ",
	);

/** Returns the path of the file that `login` writes. */
export const configPath = () => {
	const folder = context().env.XDG_CONFIG_HOME || join(homedir(), ".config");
	return join(folder, "tenantry", `${profile()}.json`);
};

/** Returns the tokens in a file; undefined if it has none. */
function tokensIn(value: unknown): Tokens | undefined {
	if (!isObject(value)) return undefined;
	const { refresh_token, expires_at } = value;
	return typeof refresh_token === "string" && typeof expires_at === "number"
		? { refresh_token, expires_at }
		: undefined;
}

/**
 * Returns the login of the profile.
 * @param mayBeShared whether others may have permissions for the file
 * @throws {UsageError} if others can read the file, or if it is damaged
 */
export function saved({ mayBeShared = false } = {}): Saved | undefined {
	const path = configPath();
	const state = statSync(path, { throwIfNoEntry: false });
	if (!state) return undefined;
	if (!mayBeShared && process.platform !== "win32" && (state.mode & 0o077) !== 0)
		throw new UsageError(`Others can read ${path}. Run: chmod 600 ${path}`);
	try {
		const value: unknown = JSON.parse(readFileSync(path, "utf8"));
		if (isObject(value) && typeof value.url === "string" && typeof value.key === "string") {
			const tokens = tokensIn(value.tokens);
			return { url: value.url, key: value.key, ...(tokens && { tokens }) };
		}
	} catch {
		// The message of the error isn't shown, because it may quote the key.
	}
	throw new UsageError(`${path} is damaged. Run: ${loginWords()}`);
}

/** Creates the folder of the file. Returns the path of the file. */
export function preparePath() {
	const path = configPath();
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	chmodSync(dirname(path), 0o700);
	return path;
}

/** Writes the file atomically, readable only by its owner. Returns its path. */
export function save(values: Saved) {
	const path = preparePath();
	const draft = `${path}.${process.pid}`;
	writeFileSync(draft, `${JSON.stringify(values, null, "\t")}\n`, { mode: 0o600, flag: "wx" });
	renameSync(draft, path);
	return path;
}

/** Deletes the file. Returns false if there was none. */
export function forget() {
	const exists = statSync(configPath(), { throwIfNoEntry: false }) !== undefined;
	rmSync(configPath(), { force: true });
	return exists;
}

/**
 * Returns a URL without a trailing slash.
 * @throws {UsageError} if the text isn't an HTTP URL without credentials
 */
export function urlOf(text: string) {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password)
		throw new UsageError("The URL must have the form https://tenantry.example.com.");
	return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, "");
}

/**
 * Returns a key that can be sent in a header.
 * @throws {UsageError} without the text of the key
 */
export function keyOf(text: string) {
	const key = text.trim();
	if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("This is not an API key.");
	return key;
}

/**
 * Returns the login for a command. A saved key is used only with the URL that it was saved with.
 */
export function account(): Omit<Saved, "key"> & { key: string | undefined } {
	const { TENANTRY_URL, TENANTRY_KEY } = context().env;
	const own = TENANTRY_URL && TENANTRY_KEY ? undefined : saved();
	const url = TENANTRY_URL ? urlOf(TENANTRY_URL) : (own?.url ?? DEFAULT_URL);
	if (TENANTRY_KEY) return { url, key: keyOf(TENANTRY_KEY) };
	return own?.url === url ? own : { url, key: undefined };
}
