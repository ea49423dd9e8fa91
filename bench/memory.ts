/** What a worker's isolate holds, asked from the runtime's inspector. */
import * as z from "zod";

const POLL_MS = 20;

/** The answers of the inspector (Chrome DevTools Protocol) that matter here. */
const Usage = z.object({
	result: z.object({
		usedSize: z.number(),
		embedderHeapUsedSize: z.number().default(0),
		backingStorageSize: z.number().default(0),
	}),
});

/**
 * Watches the isolate until `close`.
 * @returns `takePeak` returns the most MiB that it held since the last call: the heap with its garbage, and buffers
 */
export async function watchMemory(port: number) {
	const [{ webSocketDebuggerUrl }] = z
		.tuple([z.object({ webSocketDebuggerUrl: z.string() })])
		.rest(z.unknown())
		.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json());
	// The inspector only talks to pages of this machine. That Node can send an origin is missing in its types.
	const socket: WebSocket = Reflect.construct(WebSocket, [
		webSocketDebuggerUrl,
		{ headers: { origin: "http://localhost" } },
	]);
	let peak = 0;
	socket.addEventListener("message", ({ data }) => {
		const { data: usage } = Usage.safeParse(JSON.parse(String(data)));
		if (!usage) return;
		const { usedSize, embedderHeapUsedSize, backingStorageSize } = usage.result;
		peak = Math.max(peak, usedSize + embedderHeapUsedSize + backingStorageSize);
	});
	await new Promise((opened) => socket.addEventListener("open", opened));
	let id = 0;
	const timer = setInterval(() => {
		id += 1;
		socket.send(JSON.stringify({ id, method: "Runtime.getHeapUsage" }));
	}, POLL_MS);
	return {
		takePeak() {
			const taken = peak / 2 ** 20;
			peak = 0;
			return taken;
		},
		close() {
			clearInterval(timer);
			socket.close();
		},
	};
}
