import { digest } from "../../keys/keys.ts";
import type { Compiled } from "../compiler/compile.ts";
import { GUEST } from "./guest.ts";
import { type Entry, MAX_ENTRIES, MAX_MESSAGE_LENGTH, runLog } from "./run_log.ts";
import { type Storage, storageCalls } from "./storage_calls.ts";
import { timeLimit } from "./time_limit.ts";

const TIMEOUT_MS = 10_000;

export type Call = { kind: "job"; type: string; payload: unknown } | { kind: "task"; name: string };

type Guest = Rpc.WorkerEntrypointBranded & {
	run(input: unknown): Promise<string | null>;
};

export type Run = {
	/**
	 * The config and generation that the isolate belongs to (docs/plugins.md#the-sandbox). A later
	 * run with the same value gets the same isolate, so no two runs with it may overlap. null: a new
	 * isolate for this run.
	 */
	isolate: string | null;
	/** The plugin's main file. */
	script: Compiled;
	/** The names of the plugin's scheduled tasks. */
	tasks?: string[];
	call: Call;
	config: Record<string, unknown>;
	/** Values to redact in entries and errors, unless they are shorter than four characters. */
	secrets: string[];
	storage: Storage;
	/** The hosts that the plugin can connect to, with the port unless it is the default. */
	hosts?: string[];
	/** The time limit in milliseconds, 10,000 by default. */
	timeout?: number;
};

/**
 * Runs a job or scheduled task of a plugin in an isolate without bindings or eval, which can
 * connect only to `hosts`. Never throws: a failure is returned as `error`, and is also the last
 * entry.
 */
export async function run(
	loader: WorkerLoader | undefined,
	{
		isolate,
		script,
		tasks = [],
		call,
		config,
		secrets,
		storage,
		hosts = [],
		timeout = TIMEOUT_MS,
	}: Run,
): Promise<{ entries: Entry[]; error: string | null }> {
	const log = runLog(secrets);
	if (!loader) return log.close("This runtime has no sandbox (LOADER), so plugins don't run.");
	if (script.error !== null) return log.close(`The plugin can't be parsed: ${script.error}`);
	const limit = timeLimit(timeout);
	/** The functions that the isolate can call, with any arguments. */
	const host = {
		log(lines: unknown) {
			if (!limit.isOver()) log.receive(lines);
		},
		...storageCalls(storage, limit),
	};
	const work = async () => {
		const code = {
			compatibilityDate: "2026-08-01",
			mainModule: "guest.js",
			modules: {
				"guest.js": { js: GUEST },
				"plugin.cjs": {
					cjs: wrap(script.compiled, call.kind === "task" ? [...tasks, call.name] : tasks),
				},
			},
			limits: { cpuMs: timeout, subRequests: 1000 },
		};
		const load = async () => ({ ...code, globalOutbound: await outbound(hosts) });
		// With the config's values: a run must not find secrets that its log doesn't redact.
		const id = async () => `${isolate}:${await digest(JSON.stringify({ code, hosts, config }))}`;
		const worker = isolate === null ? loader.load(await load()) : loader.get(await id(), load);
		const limits = { maxEntries: MAX_ENTRIES, maxLength: MAX_MESSAGE_LENGTH };
		const result: unknown = await worker
			.getEntrypoint<Guest>()
			.run({ call, config, host, ...limits });
		if (result === null) return null;
		return typeof result === "string" ? result : "The plugin broke its sandbox.";
	};
	try {
		return log.close(await Promise.race([work().catch(explain), limit.stopped]));
	} finally {
		limit.end();
	}
}

/**
 * Wraps the plugin in a function that a CommonJS module exports. The top-level code of a module
 * can't use the network or timers; code in the function can. The function returns the plugin's
 * top-level functions, which count as exported (docs/plugins.md#source-in-place).
 */
function wrap(script: string, tasks: string[]) {
	const properties = [...new Set(["setupPlugin", "jobs", ...tasks])]
		.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name))
		.map((name) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`);
	return `module.exports = async function (module, exports, require) {${script}\n;return { ${properties.join(", ")} };};`;
}

async function outbound(hosts: string[]) {
	if (hosts.length === 0) return null;
	const { exports } = await import("cloudflare:workers");
	return exports.Outbound({ props: { hosts } });
}

const explain = (error: unknown) =>
	error instanceof Error ? `${error.name}: ${error.message}` : "The plugin broke its sandbox.";

/** Returns the host names in `allowed_hosts` (a list, or with commas) that have a dot. */
export function allowedHosts({ allowed_hosts }: Record<string, unknown>) {
	const names = typeof allowed_hosts === "string" ? allowed_hosts.split(",") : allowed_hosts;
	if (!Array.isArray(names)) return [];
	return names
		.map((name) => String(name).trim().toLowerCase())
		.filter((name) => /^([a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name));
}
