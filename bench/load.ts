/** Sends requests from this process, over connections that are kept open. */
import { Agent, request } from "node:http";
import type { Spent } from "./harness.ts";
import type { Operation, Service } from "./operations.ts";

/** How many requests are under way at a time. */
const CONCURRENCY = 8;

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

export type Received = { status: number; body: string; spent: Spent | null; timing: string };

/**
 * Calls an operation of a service.
 * @param delay milliseconds that each round trip to D1 takes longer; then the response says what it cost
 */
export function send(service: Service, operation: Operation, delay?: number, query = "") {
	const call = service.call(operation);
	if (!call) throw new Error(`${service.name} has no ${operation}.`);
	const { method, path, headers, body } = call;
	return new Promise<Received>((resolve, reject) => {
		const sent = request(
			new URL(path + query, service.url).href,
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
						reject(new Error(`${service.name}, ${path}: ${response.statusCode} ${text}`));
					const spent = response.headers["x-bench-spent"];
					resolve({
						status: response.statusCode ?? 0,
						body: text,
						spent: typeof spent === "string" ? JSON.parse(spent) : null,
						timing: String(response.headers["server-timing"] ?? ""),
					});
				});
			},
		);
		sent.on("error", reject);
		sent.end(body);
	});
}

/** Sends `requests` calls, several at a time. */
export async function sendMany(
	service: Service,
	operation: Operation,
	requests: number,
	query = "",
) {
	let left = requests;
	const worker = async () => {
		while (left > 0) {
			left -= 1;
			await send(service, operation, undefined, query);
		}
	};
	await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** What so many calls took: CPU milliseconds of the service a request, and requests a second. */
export async function measure(
	service: Service,
	operation: Operation,
	requests: number,
	query = "",
) {
	const [cpu, began] = [service.cpu(), performance.now()];
	await sendMany(service, operation, requests, query);
	const seconds = (performance.now() - began) / 1000;
	return { cpu: ((service.cpu() - cpu) * 1000) / requests, rate: requests / seconds };
}
