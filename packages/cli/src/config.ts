/** Where the key and the service's URL come from: docs/cli.md#keys. */
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
import { UsageError } from "./failure.ts";
import { isObject } from "./output.ts";

export type Saved = { url: string; key: string };

export const DEFAULT_URL = "http://localhost:8787";

/** The path of the file that `login` writes. */
export const configPath = () =>
	join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), ...["tenantry", "config.json"]);

/** What `login` has saved. Refuses a file that others may read. */
export function saved(): Saved | undefined {
	const path = configPath();
	const state = statSync(path, { throwIfNoEntry: false });
	if (!state) return undefined;
	if (process.platform !== "win32" && (state.mode & 0o077) !== 0)
		throw new UsageError(`Others can read ${path}. Run: chmod 600 ${path}`);
	try {
		const value: unknown = JSON.parse(readFileSync(path, "utf8"));
		if (isObject(value) && typeof value.url === "string" && typeof value.key === "string")
			return { url: value.url, key: value.key };
	} catch {
		// Its text may have a key, so the error isn't shown.
	}
	throw new UsageError(`${path} is damaged. Run: tenantry login`);
}

/** Writes the file at once as a whole, for its owner only. */
export function save(values: Saved) {
	const path = configPath();
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	chmodSync(dirname(path), 0o700);
	const draft = `${path}.${process.pid}`;
	writeFileSync(draft, `${JSON.stringify(values, null, "\t")}\n`, { mode: 0o600, flag: "wx" });
	renameSync(draft, path);
	return path;
}

/** Removes the file; false if there was none. */
export function forget() {
	const exists = statSync(configPath(), { throwIfNoEntry: false }) !== undefined;
	rmSync(configPath(), { force: true });
	return exists;
}

/** A URL without a slash at its end. */
export function urlOf(text: string) {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password)
		throw new UsageError("The URL has to be like https://tenantry.example.com.");
	return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** A key that can be sent. Its text is in no error. */
export function keyOf(text: string) {
	const key = text.trim();
	if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("That is not a key.");
	return key;
}

/** The service and the key of a command. A saved key is sent only to the URL it was saved with. */
export function account(): { url: string; key: string | undefined } {
	const { TENANTRY_URL, TENANTRY_KEY } = process.env;
	const own = TENANTRY_URL && TENANTRY_KEY ? undefined : saved();
	const url = TENANTRY_URL ? urlOf(TENANTRY_URL) : (own?.url ?? DEFAULT_URL);
	if (TENANTRY_KEY) return { url, key: keyOf(TENANTRY_KEY) };
	return { url, key: own?.url === url ? own.key : undefined };
}
