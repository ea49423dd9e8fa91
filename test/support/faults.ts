/**
 * Starts proxies in front of the storage services of the tests. A proxy forwards requests unchanged
 * and answers those that a test names in another way, as overloaded services do.
 */
import http, { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer, json } from "node:stream/consumers";
import { listen } from "./peers.ts";

/** An answer to the next request with this method and this text in its URL. */
export type Fault = {
	method: string;
	query?: string;
	/** 0 closes the connection. */
	status: number;
	headers?: Record<string, string>;
	body?: string;
	/** Whether the service carries out the request before its answer is replaced. */
	carriedOut?: boolean;
};

/** Sends a request to another server. Returns its response. */
export async function forward(origin: string, request: IncomingMessage, body: Buffer) {
	const { hostname, port } = new URL(origin);
	const { method, headers, url: path } = request;
	const upstream = http.request({ hostname, port, method, path, headers, agent: false });
	const answered = new Promise<IncomingMessage>((resolve, reject) =>
		upstream.once("response", resolve).once("error", reject),
	);
	upstream.end(body);
	return answered;
}

function replace({ status, headers, body }: Fault, response: ServerResponse) {
	if (status === 0) return response.destroy();
	return response.writeHead(status, headers).end(body);
}

/**
 * Returns the URL of a proxy. `PUT /faults/<name>` sets the faults of the requests whose URL contains
 * the name. `GET` returns the method and query of these requests so far.
 */
export async function proxyOf(origin: string) {
	const plans = new Map<string, { faults: Fault[]; requests: string[] }>();

	/** Stores a request, and removes and returns its fault; undefined if it has none. */
	function take(method: string, url: string) {
		const [, plan] = [...plans].find(([name]) => url.includes(name)) ?? [];
		if (!plan) return undefined;
		plan.requests.push(`${method} ${new URL(url, origin).search}`);
		const at = plan.faults.findIndex(
			(fault) => fault.method === method && url.includes(fault.query ?? ""),
		);
		return at < 0 ? undefined : plan.faults.splice(at, 1)[0];
	}

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const { method = "", url = "" } = request;
		const [, name] = /^\/faults\/(.+)$/.exec(url) ?? [];
		if (name && method === "PUT")
			plans.set(name, { faults: Object(await json(request)), requests: [] });
		if (name) return response.end(JSON.stringify(plans.get(name)?.requests));
		const body = await buffer(request);
		const fault = take(method, url);
		if (fault && !fault.carriedOut) return replace(fault, response);
		const upstream = await forward(origin, request, body);
		const text = await buffer(upstream);
		if (fault) return replace(fault, response);
		return response.writeHead(upstream.statusCode ?? 500, upstream.headers).end(text);
	}

	const proxy = createServer((request, response) => {
		answer(request, response).catch(() => response.destroy());
	});
	return `http://127.0.0.1:${await listen(proxy)}${new URL(origin).pathname}`;
}

/** Starts a proxy in front of each service. */
export const faults = async (services: { S3_URL: string; GCS_URL: string; AZURE_URL: string }) => ({
	S3_FAULTS_URL: await proxyOf(services.S3_URL),
	GCS_FAULTS_URL: await proxyOf(services.GCS_URL),
	AZURE_FAULTS_URL: await proxyOf(services.AZURE_URL),
});
