/** What the tests' worker reaches by fetch: servers on this machine, and the registry that its npm asks anyway. */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import { pipeline } from "node:stream/promises";

/**
 * Forwards requests to 127.0.0.1 and to one origin; all others are answered with the status 599. If the worker gives up,
 * so does the request that it made; if the connection to the server breaks, so does the worker's.
 * @param origin the origin, or "" for none
 */
export const outbound =
	(origin: string) => async (request: IncomingMessage, response: ServerResponse) => {
		const { host = "" } = request.headers;
		const isLocal = host.startsWith("127.0.0.1:");
		if (!isLocal && host !== (origin && new URL(origin).host)) {
			response.writeHead(599).end("Tests reach no host.");
			return;
		}
		const url = `${isLocal ? `http://${host}` : new URL(origin).origin}${request.url}`;
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
		forwarded.on("response", (answer) => {
			response.writeHead(answer.statusCode ?? 500, answer.headers);
			pipeline(answer, response).catch(() => response.destroy());
		});
		await pipeline(request, forwarded).catch(() => {});
	};
