/** What a worker's isolate holds: its heap by V8's log of collections, its buffers by the runtime's inspector. */
import { chmodSync, closeSync, openSync, readSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as z from "zod";

const POLL_MS = 20;

const MIB = 2 ** 20;

/** The answers of the inspector (Chrome DevTools Protocol) that matter here. */
const Answer = z.object({ id: z.int() });
const Usage = z.object({
	result: z.object({
		embedderHeapUsedSize: z.number().default(0),
		backingStorageSize: z.number().default(0),
	}),
});

/** A line of V8's log: the isolate, and the MiB of its heap before and after a collection. */
const COLLECTION =
	/^\[(?<isolate>\d+:\w+)\].*: (?:Scavenge|Mark-Compact)\D* (?<before>[\d.]+) \(.*?-> (?<after>[\d.]+) \(/;

/** A line after a collection: how much a space of the heap holds. */
const SPACE = /^\[(?<isolate>\d+:\w+)\] (?<space>[A-Z][\w -]* space), +used: +(?<kib>\d+) KB/;

/**
 * What the heap consists of, in MiB. `script`: large objects, of which the worker's script is nearly all; `fresh`: objects that
 * were made since the collection before; `old`: those that survived collections, and what V8 makes for itself.
 */
export type Spaces = { script: number; old: number; fresh: number };

/** Adds up the spaces. What V8 shares between isolates isn't part of them. */
function spacesOf(sizes: Map<string, number>): Omit<Spaces, "fresh"> {
	const { script = [], old = [] } = Object.groupBy(sizes, ([space]) =>
		space === "Read-only space" ? "shared" : space === "Large object space" ? "script" : "old",
	);
	const sum = (all: [string, number][]) => all.reduce((total, [, size]) => total + size, 0);
	return { script: sum(script), old: sum(old) };
}

/** What V8 says of a collection that the inspector asked for. */
const REQUESTED = "low memory notification";

/**
 * Makes the runtime log its collections.
 * @returns `log` is the path of the log, `variables` are what wrangler's environment needs for it
 */
export function logCollections(folder: string) {
	const [log, program] = [`${folder}/collections.log`, `${folder}/workerd`];
	const { default: workerd } = z
		.object({ default: z.string() })
		.parse(createRequire(import.meta.url)("workerd"));
	writeFileSync(log, "");
	writeFileSync(program, `#!/bin/sh\nexec "${workerd}" "$@" >> "${log}"\n`);
	chmodSync(program, 0o755);
	return {
		log,
		variables: {
			MINIFLARE_WORKERD_PATH: program,
			MINIFLARE_WORKERD_V8_FLAGS: "--trace-gc --trace-gc-verbose",
		},
	};
}

/** Reads what was added to a file since the last call, up to the last whole line. */
function tail(path: string) {
	let position = 0;
	const chunk = Buffer.alloc(MIB);
	return () => {
		const file = openSync(path, "r");
		let text = "";
		for (let read = -1; read !== 0; ) {
			read = readSync(file, chunk, 0, chunk.length, position + text.length);
			text += chunk.toString("latin1", 0, read);
		}
		closeSync(file);
		const whole = text.slice(0, text.lastIndexOf("\n") + 1);
		position += whole.length;
		return whole.split("\n");
	};
}

/** Connects to the inspector of the worker. `send` returns the id that the answer will have. */
export async function inspect(port: number) {
	const [{ webSocketDebuggerUrl }] = z
		.tuple([z.object({ webSocketDebuggerUrl: z.string() })])
		.rest(z.unknown())
		.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json());
	// The inspector only talks to pages of this machine. That Node can send an origin is missing in its types.
	const socket: WebSocket = Reflect.construct(WebSocket, [
		webSocketDebuggerUrl,
		{ headers: { origin: "http://localhost" } },
	]);
	await new Promise((opened) => socket.addEventListener("open", opened));
	let id = 0;
	const send = (method: string, params: object = {}) => {
		id += 1;
		socket.send(JSON.stringify({ id, method, params }));
		return id;
	};
	return { socket, send };
}

/**
 * Watches the isolate until `close`. The heap is largest just before a collection, so V8's log has each of its peaks. The
 * inspector would miss most of them: the local runtime answers it only while no work is waiting.
 */
export async function watchMemory(port: number, log: string) {
	const { socket, send } = await inspect(port);
	const readLines = tail(log);
	let isolate = "";
	let buffers = 0;
	/** The size of each space after the last collection, in MiB. */
	const sizes = new Map<string, number>();
	/** The request for a collection that has no answer yet. */
	let collecting: number | null = null;
	socket.addEventListener("message", ({ data }) => {
		const message = JSON.parse(String(data));
		if (Answer.safeParse(message).data?.id === collecting) collecting = null;
		const { data: usage } = Usage.safeParse(message);
		if (!usage) return;
		const { embedderHeapUsedSize, backingStorageSize } = usage.result;
		buffers = Math.max(buffers, (embedderHeapUsedSize + backingStorageSize) / MIB);
	});
	const timer = setInterval(() => send("Runtime.getHeapUsage"), POLL_MS);
	const collect = () => {
		collecting ??= send("HeapProfiler.collectGarbage");
	};
	send("HeapProfiler.enable");
	// The first collection on request tells which isolate in the log is the worker's.
	collect();
	return {
		/** Requests a collection of all garbage, unless the isolate has not had the time for the last one yet. */
		collect,
		/**
		 * What the isolate held since the last call, in MiB, buffers included: at most (`peak`, with garbage, and what it consisted
		 * of) and at most after a collection on request (`held`; null if there was none).
		 */
		take() {
			const lines = readLines();
			const requested = lines.find((line) => line.includes(REQUESTED));
			isolate ||= COLLECTION.exec(requested ?? "")?.groups?.isolate ?? "";
			let peak = 0;
			let spaces: Spaces = { script: 0, old: 0, fresh: 0 };
			let held = 0;
			for (const line of lines) {
				const size = SPACE.exec(line)?.groups;
				if (size?.space && size.isolate === isolate) sizes.set(size.space, Number(size.kib) / 1024);
				const { groups } = COLLECTION.exec(line) ?? {};
				if (groups?.isolate !== isolate) continue;
				if (line.includes(REQUESTED)) held = Math.max(held, Number(groups.after));
				const before = Number(groups.before);
				if (before <= peak) continue;
				const { script, old } = spacesOf(sizes);
				peak = before;
				spaces = { script, old, fresh: before - script - old };
			}
			const taken = {
				peak: peak + buffers,
				spaces: { ...spaces, buffers },
				held: held > 0 ? held + buffers : null,
			};
			buffers = 0;
			return taken;
		},
		close() {
			clearInterval(timer);
			socket.close();
		},
	};
}
