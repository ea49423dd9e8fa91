/**
 * Measures the memory of a worker's isolate: its heap with V8's log of collections, its buffers
 * with the inspector.
 */
import { chmodSync, closeSync, openSync, readSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as z from "zod";

const POLL_MS = 20;

const MIB = 2 ** 20;

/** Responses of the inspector (Chrome DevTools Protocol). */
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

/** A line after a collection: the used size of a space of the heap. */
const SPACE = /^\[(?<isolate>\d+:\w+)\] (?<space>[A-Z][\w -]* space), +used: +(?<kib>\d+) KB/;

/**
 * The parts of the heap, in MiB. `script`: large objects, mostly the worker's script. `fresh`:
 * objects that were created since the previous collection. `old`: objects that survived
 * collections, and V8's own objects.
 */
type Spaces = { script: number; old: number; fresh: number };

/** Adds up the spaces, without the one that V8 shares between isolates. */
function spacesOf(sizes: Map<string, number>): Omit<Spaces, "fresh"> {
	const { script = [], old = [] } = Object.groupBy(sizes, ([space]) =>
		space === "Read-only space" ? "shared" : space === "Large object space" ? "script" : "old",
	);
	const sum = (all: [string, number][]) => all.reduce((total, [, size]) => total + size, 0);
	return { script: sum(script), old: sum(old) };
}

/** V8's reason for a collection that the inspector requested. */
const REQUESTED = "low memory notification";

/**
 * Makes the runtime log its collections.
 * @returns the path of the log, and the environment variables that wrangler needs for it
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

/**
 * Returns a function that reads the lines that were added to a file since its last call, without an
 * incomplete last line.
 */
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

/** Connects to the inspector of the worker. `send` returns the id of the response. */
export async function inspect(port: number) {
	const [{ webSocketDebuggerUrl }] = z
		.tuple([z.object({ webSocketDebuggerUrl: z.string() })])
		.rest(z.unknown())
		.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json());
	// The inspector accepts only local origins. Node.js can send an origin, but its types lack the
	// option.
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
 * Watches the isolate until `close`. The heap is largest just before a collection, so V8's log has
 * all peaks. The inspector would miss most of them, because the local runtime responds to it only
 * while no work is waiting.
 */
export async function watchMemory(port: number, log: string) {
	const { socket, send } = await inspect(port);
	const readLines = tail(log);
	let isolate = "";
	let buffers = 0;
	/** The size of each space after the last collection, in MiB. */
	const sizes = new Map<string, number>();
	/** The id of the request for a collection that has no response yet. */
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
	// The first requested collection identifies the worker's isolate in the log.
	collect();
	return {
		/** Requests a full garbage collection, unless the previous request has no response yet. */
		collect,
		/**
		 * Returns the memory since the last call, in MiB, including buffers. `peak` is the maximum,
		 * including garbage, and `spaces` are its parts. `held` is the maximum after a requested
		 * collection; null if there was none.
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
