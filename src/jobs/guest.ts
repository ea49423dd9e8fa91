/**
 * What surrounds a plugin in its isolate. It is a text because it runs there, not here. It only serves plugins that
 * play along: one may overwrite all of it, so the host (sandbox.ts) believes nothing that comes from there.
 */
export const GUEST = /* js */ `
import { WorkerEntrypoint } from "cloudflare:workers";
import load from "./plugin.cjs";

const { hasOwn } = Object;
const { parse, stringify } = JSON;
const soon = queueMicrotask;

// Where the runtime has a cache, it is one for all.
delete globalThis.caches;

export default class extends WorkerEntrypoint {
	async run({ call, config, host, most, longest }) {
		let lines = [];
		let count = 0;
		/** What the host was asked and has not answered yet, whether or not the plugin waits for it. */
		const asked = [];
		const ask = (answer) => {
			asked[asked.length] = answer;
			return answer;
		};
		const result = async (answer) => {
			const { value, refusal } = await ask(answer);
			if (refusal !== undefined) throw new Error(refusal);
			return value;
		};
		const send = () => {
			const batch = lines;
			lines = [];
			ask(host.log(batch)).catch(() => {});
		};
		const write = (source, type) => (...parts) => {
			if (count > most) return;
			count += 1;
			if (lines.length === 0) soon(send);
			lines[lines.length] = { source, type, message: words(parts, longest) };
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
			global: {},
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
		try {
			const work = find(await collect(), call);
			await work.setup?.(meta);
			await work.run(meta);
			return null;
		} catch (error) {
			return words([error], longest);
		} finally {
			if (lines.length > 0) send();
			for (let i = 0; i < asked.length; i++) {
				try {
					await asked[i];
				} catch {}
			}
		}
	}
}

async function collect() {
	const module = { exports: {} };
	const top = await load(module, module.exports, (name) => {
		throw new Error("Cannot find module '" + name + "': plugins import nothing.");
	});
	return [module.exports, module.exports?.default, top];
}

function find(places, call) {
	const look = (name) => {
		for (const place of places)
			if (place != null && hasOwn(place, name) && place[name] !== undefined) return place[name];
	};
	const setup = look("setupPlugin");
	if (call.kind === "task") {
		const task = look(call.name);
		if (typeof task !== "function") throw "The plugin has no task '" + call.name + "'.";
		return { setup, run: (meta) => task(meta) };
	}
	const jobs = look("jobs");
	const job = jobs != null && hasOwn(jobs, call.type) ? jobs[call.type] : undefined;
	if (typeof job !== "function") throw "The plugin has no job '" + call.type + "'.";
	return { setup, run: (meta) => job(call.payload, meta) };
}

/** In words, whatever it is: what it throws on the way counts as unreadable. */
function words(parts, longest) {
	let text = "";
	for (let i = 0; i < parts.length && text.length <= longest; i++)
		text += (i > 0 ? " " : "") + word(parts[i]);
	return text.slice(0, longest + 1);
}

function word(value) {
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
