import * as z from "zod";
import { redactor, variants } from "../auth/secrets.ts";
import { toScript } from "../plugins/compile.ts";
import { GUEST } from "./guest.ts";
import { limiter } from "./limiter.ts";

const TIMEOUT_MS = 10_000;
const MAX_ENTRIES = 1000;
const MAX_MESSAGE_LENGTH = 4000;
/** Each is a round trip to D1. Workers allow 1,000 of them, and running the job needs some. */
const MAX_STORAGE_CALLS = 900;
/**
 * Calls beyond `MAX_STORAGE_CALLS` are refused. After this many refused calls, the run is stopped.
 */
const MAX_REFUSED_STORAGE_CALLS = 4100;
const MAX_CONCURRENT_STORAGE_CALLS = 50;
const MAX_KEY_LENGTH = 200;
/** In characters of JSON. */
const MAX_VALUE_LENGTH = 64 * 1024;

export type Entry = {
	/** RFC 3339. When the host received the entry, so entries are in order. */
	timestamp: string;
	source: "SYSTEM" | "PLUGIN" | "CONSOLE";
	type: "DEBUG" | "LOG" | "INFO" | "WARN" | "ERROR";
	message: string;
};

export type Call = { kind: "job"; type: string; payload: unknown } | { kind: "task"; name: string };

type Guest = Rpc.WorkerEntrypointBranded & {
	run(input: unknown): Promise<string | null>;
};

export type Run = {
	/** The plugin's index.js or index.ts. */
	source: string;
	call: Call;
	config: Record<string, unknown>;
	/**
	 * Values to hide in entries and errors. Values of fewer than four characters aren't hidden: they
	 * may be ordinary words.
	 */
	secrets: string[];
	storage: {
		/** The value as JSON; null if there is none. */
		get(key: string): Promise<string | null>;
		/** Returns false if the storage is full. */
		set(key: string, json: string): Promise<boolean>;
		del(key: string): Promise<void>;
	};
	/**
	 * Hosts that the plugin may connect to, with the port unless it is the scheme's default. None by
	 * default.
	 */
	hosts?: string[];
	/** In milliseconds, 10,000 by default. */
	timeout?: number;
};

/**
 * The result of a storage call. The guest throws `refusal` as an error. If the host threw it, the
 * runtime would report each as an uncaught exception, and thousands of reports keep a local server
 * busy for minutes.
 */
type StorageResult = { value?: string | null; refusal?: string };

/**
 * A log entry from the isolate. Anything else was forged by the plugin, not sent by the guest code,
 * and is ignored.
 */
const Line = z.object({
	source: z.enum(["PLUGIN", "CONSOLE"]),
	type: z.enum(["DEBUG", "LOG", "INFO", "WARN", "ERROR"]),
	message: z.string(),
});

/**
 * Runs a job or scheduled task of a plugin in a new isolate without bindings or eval, which can
 * only connect to `hosts`. Never throws: a failure is returned as `error` and is also the last
 * entry.
 */
export async function run(
	loader: WorkerLoader | undefined,
	{ source, call, config, secrets, storage, hosts = [], ...options }: Run,
): Promise<{ entries: Entry[]; error: string | null }> {
	const timeout = options.timeout ?? TIMEOUT_MS;
	const redact = logRedactor(secrets);
	const entries: Entry[] = [];
	let open = true;
	let full = false;
	let storageCalls = 0;
	const deadline = Date.now() + timeout;
	const stopped = Promise.withResolvers<string>();
	const limited = limiter(MAX_CONCURRENT_STORAGE_CALLS);

	/**
	 * Stops the run from outside. Later calls get no response, because a response would keep a loop
	 * of calls going.
	 */
	const stop = (reason: string) => {
		open = false;
		stopped.resolve(`The run was stopped: ${reason}`);
	};
	const stopAtDeadline = () => stop(`it took longer than ${timeout / 1000} s.`);
	/** Timers don't fire while calls keep arriving, so every call checks the deadline. */
	const isOver = () => {
		if (open && Date.now() >= deadline) stopAtDeadline();
		return !open;
	};

	const write = (source: Entry["source"], type: Entry["type"], message: string) =>
		entries.push({
			timestamp: new Date().toISOString(),
			source,
			type,
			message: redact(message),
		});

	const end = (error: string | null) => {
		open = false;
		if (full)
			write(
				"SYSTEM",
				"WARN",
				`The run wrote more than ${MAX_ENTRIES} entries; the others were dropped.`,
			);
		if (error !== null) write("SYSTEM", "ERROR", error);
		return { entries, error: error === null ? null : redact(error) };
	};

	const callStorage = async (
		key: unknown,
		work: (key: string) => Promise<StorageResult>,
	): Promise<StorageResult> => {
		storageCalls += 1;
		if (storageCalls > MAX_STORAGE_CALLS + MAX_REFUSED_STORAGE_CALLS)
			stop(`it called the storage more than ${storageCalls - 1} times.`);
		if (isOver()) return never();
		if (storageCalls > MAX_STORAGE_CALLS)
			return {
				refusal: `A run may call the storage at most ${MAX_STORAGE_CALLS} times.`,
			};
		if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
			return { refusal: `A key must be a string of 1 to ${MAX_KEY_LENGTH} characters.` };
		return limited(async () => {
			if (isOver()) return never();
			return work(key).catch((error: unknown) => {
				console.error(
					JSON.stringify({
						warning: "A plugin's storage failed",
						error: String(error),
					}),
				);
				return { refusal: "The storage failed." };
			});
		});
	};

	/** What the isolate can call, with any arguments. */
	const host = {
		log(lines: unknown) {
			if (isOver() || full || !Array.isArray(lines)) return;
			for (const line of lines.slice(0, MAX_ENTRIES + 1)) {
				const parsed = Line.safeParse(line);
				if (!parsed.success) continue;
				full = entries.length === MAX_ENTRIES;
				if (full) return;
				write(parsed.data.source, parsed.data.type, parsed.data.message);
			}
		},
		get: (key: unknown) => callStorage(key, async (key) => ({ value: await storage.get(key) })),
		set: (key: unknown, json: unknown) =>
			callStorage(key, async (key) => {
				if (!isJson(json))
					return {
						refusal: `A value must be JSON of at most ${MAX_VALUE_LENGTH} characters.`,
					};
				return (await storage.set(key, json))
					? {}
					: { refusal: "The storage is full: it can hold 1,000 keys and 1 MiB." };
			}),
		del: (key: unknown) =>
			callStorage(key, async (key) => {
				await storage.del(key);
				return {};
			}),
	};

	if (!loader) return end("This runtime has no sandbox (LOADER), so plugins don't run.");
	const script = toScript(source);
	if (script.error !== null) return end(`The plugin can't be parsed: ${script.error}`);

	const timer = setTimeout(stopAtDeadline, timeout);
	const work = async () => {
		const worker = loader.load({
			compatibilityDate: "2026-08-01",
			mainModule: "guest.js",
			modules: {
				"guest.js": { js: GUEST },
				"plugin.cjs": { cjs: wrap(script.compiled, call) },
			},
			globalOutbound: await outbound(hosts),
			limits: { cpuMs: timeout, subRequests: 1000 },
		});
		const result: unknown = await worker.getEntrypoint<Guest>().run({
			call,
			config,
			host,
			maxEntries: MAX_ENTRIES,
			maxLength: MAX_MESSAGE_LENGTH,
		});
		if (result === null) return null;
		return typeof result === "string" ? result : "The plugin broke its sandbox.";
	};
	try {
		return end(await Promise.race([work().catch(explain), stopped.promise]));
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Wraps the plugin in a function that a CommonJS module exports. Top-level code of a module can't
 * use the network or timers; code in the function can. The function returns the plugin's top-level
 * functions, which count as exported (docs/plugins.md#source-in-place).
 */
function wrap(script: string, call: Call) {
	const names = ["setupPlugin", call.kind === "task" ? call.name : "jobs"];
	const properties = names
		.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name))
		.map((name) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`);
	return `module.exports = async function (module, exports, require) {${script}\n;return { ${properties.join(", ")} };};`;
}

const never = () => new Promise<never>(() => {});

async function outbound(hosts: string[]) {
	if (hosts.length === 0) return null;
	const { exports } = await import("cloudflare:workers");
	return exports.Outbound({ props: { hosts } });
}

const isJson = (json: unknown): json is string => {
	if (typeof json !== "string" || json.length > MAX_VALUE_LENGTH) return false;
	try {
		JSON.parse(json);
		return true;
	} catch {
		return false;
	}
};

const explain = (error: unknown) =>
	error instanceof Error ? `${error.name}: ${error.message}` : "The plugin broke its sandbox.";

/**
 * Returns a function that hides secrets, also JSON-escaped ones, and truncates the text without
 * leaving part of a secret.
 */
function logRedactor(secrets: string[]) {
	const hide = redactor(secrets);
	return (message: string) => {
		let text = hide(message);
		if (message.length <= MAX_MESSAGE_LENGTH) return text;
		for (const secret of variants(secrets)) {
			let overlap = Math.min(secret.length, text.length);
			while (overlap > 0 && !text.endsWith(secret.slice(0, overlap))) overlap -= 1;
			text = text.slice(0, text.length - overlap);
		}
		return `${text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…`;
	};
}
