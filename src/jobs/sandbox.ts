import * as z from "zod";
import { redactor, variants } from "../auth/secrets.ts";
import { toScript } from "../plugins/compile.ts";
import { GUEST } from "./guest.ts";
import { limiter } from "./limiter.ts";

const TIMEOUT_MS = 10_000;
const MAX_ENTRIES = 1000;
const MAX_MESSAGE_LENGTH = 4000;
/** Each is a trip to D1, of which Workers allow a thousand; the rest are for the job's own. */
const MAX_STORAGE_CALLS = 900;
/** Further calls are refused; a run that ignores that is stopped. */
const MAX_REFUSED_STORAGE_CALLS = 4100;
const MAX_CONCURRENT_STORAGE_CALLS = 50;
const MAX_KEY_LENGTH = 200;
/** Of a value as JSON, in characters. */
const MAX_VALUE_LENGTH = 64 * 1024;

export type Entry = {
	/** RFC 3339; when it got here, so entries are in order. */
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
	/** Values that no entry and no error may show; shorter ones than four characters can't be told from words. */
	secrets: string[];
	storage: {
		/** The value as JSON; null: there is none. */
		get(key: string): Promise<string | null>;
		/** false: there is no room for it. */
		set(key: string, json: string): Promise<boolean>;
		del(key: string): Promise<void>;
	};
	/** Hosts, with a port unless it is the scheme's own, that the plugin may reach; none by default. */
	hosts?: string[];
	/** In milliseconds; 10 s by default. */
	timeout?: number;
};

/**
 * What a storage call answers; the guest throws a refusal. If it were thrown here, the runtime would report each as an
 * uncaught exception, and some thousands of reports keep a local server busy for minutes.
 */
type Answer = { value?: string | null; refusal?: string };

/** What the isolate may send: whatever else it sends was not made by our side of it. */
const Line = z.object({
	source: z.enum(["PLUGIN", "CONSOLE"]),
	type: z.enum(["DEBUG", "LOG", "INFO", "WARN", "ERROR"]),
	message: z.string(),
});

/**
 * Runs a job or a scheduled task of a plugin in an isolate that is made for it, and never fails itself: what goes
 * wrong is `error`, and the last of the entries. The isolate has no bindings, no eval, and a network only for `hosts`.
 */
export async function run(
	loader: WorkerLoader | undefined,
	{ source, call, config, secrets, storage, hosts = [], ...options }: Run,
): Promise<{ entries: Entry[]; error: string | null }> {
	const timeout = options.timeout ?? TIMEOUT_MS;
	const clean = logRedactor(secrets);
	const entries: Entry[] = [];
	let open = true;
	let full = false;
	let storageCalls = 0;
	const deadline = Date.now() + timeout;
	const stopped = Promise.withResolvers<string>();
	const queued = limiter(MAX_CONCURRENT_STORAGE_CALLS);

	/** Ends the run from outside. Later calls are never answered: even a refusal would keep a loop of calls going. */
	const stop = (why: string) => {
		open = false;
		stopped.resolve(`The run was stopped: ${why}`);
	};
	const stopLate = () => stop(`it took longer than ${timeout / 1000} s.`);
	/** Timers don't fire while calls pour in, so every call looks at the clock. */
	const isOver = () => {
		if (open && Date.now() >= deadline) stopLate();
		return !open;
	};

	const write = (source: Entry["source"], type: Entry["type"], message: string) =>
		entries.push({
			timestamp: new Date().toISOString(),
			source,
			type,
			message: clean(message),
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
		return { entries, error: error === null ? null : clean(error) };
	};

	const stored = async (key: unknown, work: (key: string) => Promise<Answer>): Promise<Answer> => {
		storageCalls += 1;
		if (storageCalls > MAX_STORAGE_CALLS + MAX_REFUSED_STORAGE_CALLS)
			stop(`it called the storage more than ${storageCalls - 1} times.`);
		if (isOver()) return never();
		if (storageCalls > MAX_STORAGE_CALLS)
			return {
				refusal: `A run may call the storage ${MAX_STORAGE_CALLS} times.`,
			};
		if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
			return { refusal: `A key is a text of 1 to ${MAX_KEY_LENGTH} characters.` };
		return queued(async () => {
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

	/** What the isolate can call. Its arguments may be anything. */
	const host = {
		log(lines: unknown) {
			if (isOver() || full || !Array.isArray(lines)) return;
			for (const line of lines.slice(0, MAX_ENTRIES + 1)) {
				const read = Line.safeParse(line);
				if (!read.success) continue;
				full = entries.length === MAX_ENTRIES;
				if (full) return;
				write(read.data.source, read.data.type, read.data.message);
			}
		},
		get: (key: unknown) => stored(key, async (key) => ({ value: await storage.get(key) })),
		set: (key: unknown, json: unknown) =>
			stored(key, async (key) => {
				if (!isJson(json))
					return {
						refusal: `A value is JSON of at most ${MAX_VALUE_LENGTH} characters.`,
					};
				return (await storage.set(key, json))
					? {}
					: { refusal: "The storage is full: it has 1,000 keys and 1 MiB." };
			}),
		del: (key: unknown) =>
			stored(key, async (key) => {
				await storage.del(key);
				return {};
			}),
	};

	if (!loader) return end("This runtime has no sandbox (LOADER), so plugins don't run.");
	const script = toScript(source);
	if (script.error !== null) return end(`The plugin can't be read: ${script.error}`);

	const timer = setTimeout(stopLate, timeout);
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
		const said: unknown = await worker.getEntrypoint<Guest>().run({
			call,
			config,
			host,
			most: MAX_ENTRIES,
			longest: MAX_MESSAGE_LENGTH,
		});
		if (said === null) return null;
		return typeof said === "string" ? said : "The plugin broke its sandbox.";
	};
	try {
		return end(await Promise.race([work().catch(explain), stopped.promise]));
	} finally {
		clearTimeout(timer);
	}
}

/**
 * The plugin as a function of a CommonJS module, which, unlike code of its own, may use the network and timers as it
 * starts. It answers its top-level functions, which count as exported (docs/plugins.md#source-in-place).
 */
function wrap(script: string, call: Call) {
	const names = ["setupPlugin", call.kind === "task" ? call.name : "jobs"];
	const top = names
		.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name))
		.map((name) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`);
	return `module.exports = async function (module, exports, require) {${script}\n;return { ${top.join(", ")} };};`;
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

/** Replaces secrets, also as they look within JSON, and cuts the text, without leaving the beginning of a secret at its end. */
function logRedactor(secrets: string[]) {
	const hide = redactor(secrets);
	return (message: string) => {
		let text = hide(message);
		if (message.length <= MAX_MESSAGE_LENGTH) return text;
		for (const secret of variants(secrets)) {
			let begun = Math.min(secret.length, text.length);
			while (begun > 0 && !text.endsWith(secret.slice(0, begun))) begun -= 1;
			text = text.slice(0, text.length - begun);
		}
		return `${text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…`;
	};
}
