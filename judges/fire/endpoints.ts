/** Endpoints of webhooks, some of which fail now and then, each in its own way. */
import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "../../test/support/peers.ts";
import type { Random } from "../../test/support/random.ts";

/** Every way of failing, and a healthy endpoint. */
export const WAYS = [
	"healthy",
	"500",
	"hang",
	"close",
	"redirect",
	"410",
	"slow",
	"huge",
	"503 with Retry-After",
] as const;
type Way = (typeof WAYS)[number];

const SLOW_MS = 1500;
const HUGE_BYTES = 2 ** 22;

type Endpoint = {
	way: Way;
	secret: string;
	/** The ids of the events, in the order in which they arrived, with repetitions. */
	arrived: string[];
	/** The events that it took. */
	taken: Set<string>;
	failed: number;
	/** The problems of signatures. */
	refusals: string[];
};

/** Checks signatures as they arrive, with the published library for Python (webhooks.py). */
function startVerifier(python: string) {
	const script = `${import.meta.dirname}/../../test/support/webhooks.py`;
	const child = execFile(python, [script], { maxBuffer: 2 ** 30 });
	const waiting: Endpoint[] = [];
	let checked = 0;
	const lines = createInterface({ input: child.stdout ?? process.stdin });
	lines.on("line", (verdict) => {
		checked += 1;
		const endpoint = waiting.shift();
		if (verdict !== "ok") endpoint?.refusals.push(verdict);
	});
	return {
		check(endpoint: Endpoint, headers: object, body: string) {
			waiting.push(endpoint);
			child.stdin?.write(`${JSON.stringify({ secret: endpoint.secret, headers, body })}\n`);
		},
		/** Waits for the last verdict. Returns how many there were. */
		async end() {
			child.stdin?.end();
			await new Promise((resolve) => lines.once("close", resolve));
			return checked;
		},
	};
}

/**
 * Starts the endpoints, at `/0`, `/1` and so on.
 * @param python the interpreter that has the library
 * @param chance how likely a failing endpoint fails at an event; it fails once at each
 */
export async function startEndpoints(
	python: string,
	{ count, chance, random }: { count: number; chance: number; random: Random },
) {
	const verifier = startVerifier(python);
	const endpoints = Array.from({ length: count }, (_, i): Endpoint => {
		// Each way once, and then endpoints that don't fail.
		const way = WAYS[i] ?? "healthy";
		return { way, secret: "", arrived: [], taken: new Set(), failed: 0, refusals: [] };
	});
	const tried = endpoints.map(() => new Set<string>());

	async function fail(way: Way, request: IncomingMessage, response: ServerResponse) {
		switch (way) {
			case "hang":
				return;
			case "close":
				return request.socket.destroy();
			case "redirect":
				return response.writeHead(302, { location: "/0" }).end();
			case "huge":
				return response.writeHead(500).end(Buffer.alloc(HUGE_BYTES, "x"));
			case "503 with Retry-After":
				return response.writeHead(503, { "retry-after": "3" }).end();
			default:
				return response.writeHead(way === "410" ? 410 : 500).end();
		}
	}

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const chunks: Uint8Array[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const n = Number(request.url?.slice(1));
		const [endpoint, before] = [endpoints[n], tried[n]];
		if (!endpoint || !before) return response.writeHead(404).end();
		const id = String(request.headers["webhook-id"]);
		endpoint.arrived.push(id);
		verifier.check(endpoint, request.headers, Buffer.concat(chunks).toString());
		const isNew = !before.has(id);
		before.add(id);
		if (endpoint.way !== "healthy" && isNew && random.chance(chance)) {
			endpoint.failed += 1;
			if (endpoint.way !== "slow") return fail(endpoint.way, request, response);
			await sleep(SLOW_MS);
		}
		endpoint.taken.add(id);
		return response.writeHead(204).end();
	}

	const port = await listen(
		createServer({ keepAlive: true }, (request, response) => {
			// The request breaks off if the server is killed while it sends it.
			answer(request, response).catch(() => request.socket.destroy());
		}),
	);
	return { url: `http://127.0.0.1:${port}`, endpoints, verified: verifier.end };
}

/** The problem of the requests that an endpoint got; "" if there is none. */
export function judgeEndpoint(
	{ arrived, taken, refusals }: Pick<Endpoint, "arrived" | "taken" | "refusals">,
	feed: string[],
) {
	const firsts = [...new Set(arrived)];
	const missing = feed.filter((id) => !taken.has(id));
	if (missing.length > 0) return `${missing.length} events were not taken, such as ${missing[0]}`;
	const at = firsts.findIndex((id, i) => id !== feed[i]);
	if (at >= 0) return `the event ${firsts[at]} arrived out of order, at place ${at}`;
	if (firsts.length !== feed.length) return `${firsts.length} events arrived, not ${feed.length}`;
	return refusals.length > 0 ? `${refusals.length} wrong signatures: ${refusals[0]}` : "";
}
