/** Sends requests to the services. */
import { Agent, request } from "node:http";
import type { Spent } from "./harness.ts";
import type { Call, Operation, Service } from "./operations.ts";

/** Concurrent requests, each over a persistent connection. */
const CONCURRENCY = 8;

/** A request fails if it has no response by then. */
const TIMEOUT_MS = 60_000;

export type Received = { body: string; spent: Spent | null; timing: string };

type Options = {
	/**
	 * The delay of each round trip to D1, in milliseconds. If it is set, the response reports the
	 * cost of the request.
	 */
	delay?: number | undefined;
	/** A string to append to the path. */
	query?: string;
	/** The agent with the connections. By default, each request opens a new connection. */
	agent?: Agent | false;
};

function sendCall(url: URL, { method, path, headers, body }: Call, options: Options) {
	const { delay, query = "", agent = false } = options;
	return new Promise<Received>((resolve, reject) => {
		const sent = request(
			new URL(path + query, url).href,
			{
				agent,
				method,
				headers: {
					...headers,
					...(body && { "content-length": Buffer.byteLength(body) }),
					...(delay !== undefined && { "x-bench-delay": delay }),
				},
			},
			(response) => {
				const chunks: Buffer[] = [];
				response.on("data", (chunk) => chunks.push(chunk));
				response.on("error", reject);
				response.on("end", () => {
					const text = Buffer.concat(chunks).toString();
					if ((response.statusCode ?? 500) >= 300)
						reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
					const spent = response.headers["x-bench-spent"];
					resolve({
						body: text,
						spent: typeof spent === "string" ? JSON.parse(spent) : null,
						timing: String(response.headers["server-timing"] ?? ""),
					});
				});
			},
		);
		sent.setTimeout(TIMEOUT_MS, () =>
			sent.destroy(new Error(`${method} ${path}: no response in ${TIMEOUT_MS / 1000} seconds`)),
		);
		sent.on("error", (error) => {
			// The server closed the idle connection just when this request was sent.
			if (sent.reusedSocket && "code" in error)
				resolve(sendCall(url, { method, path, headers, ...(body && { body }) }, options));
			else reject(error);
		});
		sent.end(body);
	});
}

/** Calls an operation of a service once. */
export function send(service: Service, operation: Operation, options: Options = {}) {
	const call = service.call(operation);
	if (!call) throw new Error(`${service.name} has no operation ${operation}.`);
	return sendCall(service.url, call, options);
}

/** Calls an operation repeatedly, with concurrent requests. */
export async function sendMany(
	service: Service,
	operation: Operation,
	requests: number,
	query = "",
) {
	const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
	let left = requests;
	const worker = async () => {
		while (left > 0) {
			left -= 1;
			await send(service, operation, { query, agent });
		}
	};
	try {
		await Promise.all(Array.from({ length: CONCURRENCY }, worker));
	} finally {
		left = 0;
		agent.destroy();
	}
}

/**
 * Calls an operation repeatedly. Returns the service's CPU time and the elapsed time, in
 * milliseconds per request.
 */
export async function measure(
	service: Service,
	operation: Operation,
	requests: number,
	query = "",
) {
	const [cpu, began] = [service.cpu(), performance.now()];
	await sendMany(service, operation, requests, query);
	const time = (performance.now() - began) / requests;
	return { cpu: ((service.cpu() - cpu) * 1000) / requests, time };
}
