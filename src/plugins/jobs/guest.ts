/**
 * The code around a plugin in its isolate. It is a string because it runs there instead of in this
 * worker. A malicious plugin can overwrite all of it, so the host (sandbox.ts) trusts nothing that
 * comes from the isolate.
 */
export const GUEST = /* js */ `
import { WorkerEntrypoint } from "cloudflare:workers";
import load from "./plugin.cjs";

const { hasOwn } = Object;
const { parse, stringify } = JSON;
const defer = queueMicrotask;
const later = setTimeout;
const listen = addEventListener.bind(globalThis);

/** The reasons of rejected promises that nothing has handled, of the current run. */
const rejections = new Map();
listen("unhandledrejection", ({ promise, reason }) => rejections.set(promise, reason));
listen("rejectionhandled", ({ promise }) => rejections.delete(promise));

// All isolates would share the runtime's cache.
delete globalThis.caches;

/**
 * The state that the runs of this isolate share: the plugin's exports, so its module scope, and \`meta.global\`. The exports are a value, not a
 * promise, which would never settle if the run that made it is stopped.
 */
let plugin;
const global = {};

export default class extends WorkerEntrypoint {
	async run({ call, config, host, maxEntries, maxLength }) {
		let lines = [];
		let count = 0;
		/** All calls to the host. The run ends after them, even if the plugin doesn't await them. */
		const calls = [];
		const track = (call) => {
			calls[calls.length] = call;
			return call;
		};
		/** Returns the reasons of the run's unhandled rejections, which are reported after it. */
		const unhandled = async () => {
			await new Promise((resolve) => later(resolve));
			const reasons = [...rejections.values()].map((reason) => [reason]);
			rejections.clear();
			return reasons;
		};
		const result = async (call) => {
			const { value, rejection } = await track(call);
			if (rejection !== undefined) throw new Error(rejection);
			return value;
		};
		const send = () => {
			const batch = lines;
			lines = [];
			track(host.log(batch)).catch(() => {});
		};
		const write = (source, level) => (...parts) => {
			if (count > maxEntries) return;
			count += 1;
			if (lines.length === 0) defer(send);
			lines[lines.length] = { source, level, message: format(parts, maxLength) };
		};
		const writer = (source) => ({
			log: write(source, "LOG"),
			info: write(source, "INFO"),
			debug: write(source, "DEBUG"),
			warn: write(source, "WARN"),
			error: write(source, "ERROR"),
		});
		globalThis.console = {
			...writer("CONSOLE"),
			trace: write("CONSOLE", "DEBUG"),
			dir: write("CONSOLE", "LOG"),
		};
		const meta = {
			config,
			global,
			logger: writer("PLUGIN"),
			storage: {
				get: async (key, fallback = null) => {
					const text = await result(host.get(key));
					return text === null ? fallback : parse(text);
				},
				set: async (key, value) => {
					await result(host.set(key, stringify(value) ?? "null"));
				},
				del: async (key) => {
					await result(host.del(key));
				},
			},
		};
		rejections.clear();
		try {
			plugin ??= await loadPlugin();
			const work = find(plugin, call);
			await work.setup?.(meta);
			await work.run(meta);
			const [first, ...others] = await unhandled();
			for (const [reason] of others) write("PLUGIN", "ERROR")("Unhandled rejection:", reason);
			return first ? format(["Unhandled rejection:", first[0]], maxLength) : null;
		} catch (error) {
			for (const [reason] of await unhandled())
				write("PLUGIN", "ERROR")("Unhandled rejection:", reason);
			return format([error], maxLength);
		} finally {
			if (lines.length > 0) send();
			for (let i = 0; i < calls.length; i++) {
				try {
					await calls[i];
				} catch {}
			}
		}
	}
}

async function loadPlugin() {
	const module = { exports: {} };
	const top = await load(module, module.exports, (name) => {
		throw new Error("Cannot find module '" + name + "': plugins can't import modules.");
	});
	return [module.exports, module.exports?.default, top];
}

function find(scopes, call) {
	const lookUp = (name) => {
		for (const scope of scopes)
			if (scope != null && hasOwn(scope, name) && scope[name] !== undefined) return scope[name];
	};
	const setup = lookUp("setupPlugin");
	if (call.kind === "task") {
		const task = lookUp(call.name);
		if (typeof task !== "function") throw "The plugin has no task '" + call.name + "'.";
		return { setup, run: (meta) => task(meta) };
	}
	const jobs = lookUp("jobs");
	const job = jobs != null && hasOwn(jobs, call.type) ? jobs[call.type] : undefined;
	if (typeof job !== "function") throw "The plugin has no job '" + call.type + "'.";
	return { setup, run: (meta) => job(call.payload, meta) };
}

/** Formats any values as text. A value that throws when it is read becomes "[unreadable]". */
function format(parts, maxLength) {
	let text = "";
	for (let i = 0; i < parts.length && text.length <= maxLength; i++)
		text += (i > 0 ? " " : "") + formatValue(parts[i]);
	return text.slice(0, maxLength + 1);
}

function formatValue(value) {
	try {
		if (typeof value === "string") return value;
		if (value instanceof Error) return value.name + ": " + value.message;
		if (typeof value === "object" && value !== null) {
			const seen = new WeakSet();
			return stringify(value, (_, inner) => {
				if (typeof inner === "bigint") return inner + "n";
				if (typeof inner === "object" && inner !== null) {
					if (seen.has(inner)) return "[seen]";
					seen.add(inner);
				}
				return inner;
			});
		}
		return String(value);
	} catch {
		return "[unreadable]";
	}
}
`;
