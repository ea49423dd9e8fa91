/**
 * Limits the hosts that the tests' worker can reach: servers on this machine, and npm's registry.
 */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import { pipeline } from "node:stream/promises";

/**
 * Forwards requests to 127.0.0.1, which includes the hosts under receiver.test, and to one origin.
 * All others get a 599. If the worker aborts a request, the forwarded one is aborted. If the
 * server's connection breaks, the worker's connection is closed.
 * @param origin the origin, or "" for none
 */
export const outbound =
	(origin: string) => async (request: IncomingMessage, response: ServerResponse) => {
		const { host = "" } = request.headers;
		const [, local] = /^(?:127\.0\.0\.1|[\w-]+\.receiver\.test):(\d+)$/.exec(host) ?? [];
		if (local === undefined && host !== (origin && new URL(origin).host)) {
			response.writeHead(599).end("Tests reach no host.");
			return;
		}
		const target = local === undefined ? new URL(origin).origin : `http://127.0.0.1:${local}`;
		const url = `${target}${request.url}`;
		const { request: send } = url.startsWith("https:") ? https : http;
		const headers = Object.entries(request.headers).filter(
			([name]) => !name.startsWith("mf-") && name !== "connection",
		);
		const { method } = request;
		const forwarded = send(url, {
			method,
			headers: Object.fromEntries(headers),
			agent: false,
		});
		response.on("close", () => forwarded.destroy());
		forwarded.on("error", () => response.destroy());
		forwarded.on("response", (upstream) => {
			response.writeHead(upstream.statusCode ?? 500, upstream.headers);
			pipeline(upstream, response).catch(() => response.destroy());
		});
		await pipeline(request, forwarded).catch(() => {});
	};
