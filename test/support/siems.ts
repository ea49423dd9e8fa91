/** Servers that receive the entries of audit streams, as their documentation says. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import * as z from "zod";
import { serve } from "./registry.ts";

/** A request whose entries a server has accepted. */
export type Accepted = {
	headers: Record<string, string>;
	/** Its path and query. */
	url: string;
	bytes: number;
	/** What stands for an entry. */
	// biome-ignore lint/suspicious/noExplicitAny: each server has its own form
	items: any[];
};

/** What each server takes as the right secret. */
export const SECRET = "secret-of-nobody";

const TOKEN = "access-token-of-nobody";

type Request = {
	name: string;
	/** The path after the server's own. */
	path: string;
	headers: IncomingMessage["headers"];
	body: Buffer;
	accepted: Accepted[];
};

type Answer = { status: number; body?: unknown; items?: unknown[] };

const json = (body: Buffer): unknown => JSON.parse(body.toString());

const linesOf = (body: Buffer) => body.toString().trimEnd().split("\n");

const Events = z.array(z.object({ event: z.unknown(), index: z.string().optional() }));

/** Answers like Splunk: "HTTP Event Collector error codes". A name with `ack` requires a channel. */
function splunk({ name, path, headers, body, accepted }: Request): Answer {
	const say = (status: number, code: number, more: object = {}) => ({
		status,
		body: { text: `Code ${code}`, code, ...more },
	});
	if (path === "/services/collector/health") return say(200, 17);
	const { authorization } = headers;
	if (authorization === undefined) return say(401, 2);
	if (authorization !== `Splunk ${SECRET}`) return say(403, 4);
	const acknowledges = name.includes("ack");
	const channel = headers["x-splunk-request-channel"];
	if (acknowledges && channel === undefined) return say(400, 10);
	if (path === "/services/collector/ack") {
		const { acks } = z.object({ acks: z.array(z.int()) }).parse(json(body));
		const [, after = "0"] = /ack-(\d+)/.exec(name) ?? [];
		polls.set(name, (polls.get(name) ?? 0) + 1);
		const isIndexed = (polls.get(name) ?? 0) > Number(after);
		return { status: 200, body: { acks: Object.fromEntries(acks.map((id) => [id, isIndexed])) } };
	}
	if (path !== "/services/collector/event") return { status: 404, body: "Not Found" };
	if (body.length > 1_000_000) return { status: 413, body: "too large" };
	const events = linesOf(body).map((line): unknown => JSON.parse(line));
	const items = Events.safeParse(events);
	if (!items.success) return say(400, 12);
	if (items.data.some(({ index = "main" }) => index !== "main")) return say(400, 7);
	return {
		...say(200, 0, acknowledges ? { ackId: accepted.length } : {}),
		items: events,
	};
}

/** How often acknowledgments were asked for, by name. */
const polls = new Map<string, number>();

const Logs = z.array(z.looseObject({ message: z.string().max(1_000_000) })).max(1000);

/** Answers like Datadog's intake, version 2. */
function datadog({ path, headers, body }: Request): Answer {
	if (path !== "/api/v2/logs") return { status: 404 };
	if (headers["dd-api-key"] !== SECRET)
		return { status: 403, body: { errors: [{ status: "403", title: "Forbidden" }] } };
	if (body.length > 5_000_000) return { status: 413 };
	const logs = Logs.safeParse(json(body));
	return logs.success
		? { status: 202, body: {}, items: logs.data }
		: { status: 400, body: { errors: [{ status: "400", title: "Bad Request" }] } };
}

const Rows = z.array(z.looseObject({ TimeGenerated: z.iso.datetime() }));

/** Answers like the sign-in server of Entra ID and the Logs Ingestion API of Azure Monitor. */
function azure({ path, headers, body }: Request): Answer {
	if (path.endsWith("/oauth2/v2.0/token")) {
		const form = new URLSearchParams(body.toString());
		if (form.get("client_secret") !== SECRET)
			return { status: 401, body: { error: "invalid_client", error_description: "AADSTS7000215" } };
		return form.get("scope") === "https://monitor.azure.com/.default" &&
			form.get("grant_type") === "client_credentials"
			? { status: 200, body: { access_token: TOKEN, token_type: "Bearer", expires_in: 3599 } }
			: { status: 400, body: { error: "invalid_scope" } };
	}
	const [, rule, stream] =
		/^\/dataCollectionRules\/([^/]+)\/streams\/([^/?]+)\?api-version=2023-01-01$/.exec(path) ?? [];
	if (headers.authorization !== `Bearer ${TOKEN}`) return { status: 401 };
	if (rule !== `dcr-${"0".repeat(32)}` || stream !== "Custom-Tenantry_CL")
		return { status: 404, body: { error: { code: "InvalidStream" } } };
	if (body.length > 1_000_000) return { status: 413 };
	const rows = Rows.safeParse(json(body));
	return rows.success ? { status: 204, items: rows.data } : { status: 400 };
}

/** Any server: with lines of JSON. */
const lines = ({ headers, body }: Request): Answer =>
	headers.authorization === `Bearer ${SECRET}`
		? { status: 200, items: linesOf(body) }
		: { status: 401, body: `Who is ${headers.authorization}?` };

const SERVERS: Record<string, (request: Request) => Answer> = { splunk, datadog, azure, lines };

async function bodyOf(request: IncomingMessage) {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	const body = Buffer.concat(chunks);
	return request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
}

/**
 * A server for all of these, each at `/<server>/<name>`.
 * - `PUT /<server>/<name>` says how the next requests with entries are answered, as a list of words:
 *   a status, one with Retry-After (`429-120`), `hang`, `close`, `lost` (accepted, but without a
 *   response), `ok`.
 * - `GET /<server>/<name>` answers with the accepted requests.
 */
export async function siems() {
	const all = new Map<string, { accepted: Accepted[]; plan: string[] }>();
	const answer = async (request: IncomingMessage, response: ServerResponse) => {
		const { url = "", method, headers } = request;
		const [, server = "", name = ""] = url.split("/");
		const key = `/${server}/${name}`;
		const { accepted, plan } = all.get(key) ?? { accepted: [], plan: [] };
		all.set(key, { accepted, plan });
		const body = await bodyOf(request);
		if (url === key && method === "GET") return response.end(JSON.stringify(accepted));
		if (method === "PUT") {
			plan.push(...z.array(z.string()).parse(json(body)));
			return response.end();
		}
		const path = url.slice(key.length);
		const {
			status,
			body: text,
			items,
		} = SERVERS[server]?.({ name, path, headers, body, accepted }) ?? {
			status: 404,
		};
		const [way = "ok", wait] = (items && plan.shift()?.split("-")) || [];
		if (way === "hang") return undefined;
		if (way === "close") return request.socket.destroy();
		if (way !== "ok" && way !== "lost") {
			if (wait) response.setHeader("retry-after", wait);
			response.statusCode = Number(way);
			return response.end("Try again");
		}
		if (items) {
			const texts = Object.entries(headers).map(([header, value]) => [header, String(value)]);
			accepted.push({ headers: Object.fromEntries(texts), url, bytes: body.length, items });
		}
		if (way === "lost") return request.socket.destroy();
		response.statusCode = status;
		return response.end(
			text === undefined ? "" : typeof text === "string" ? text : JSON.stringify(text),
		);
	};
	const url = await serve((request, response) => {
		answer(request, response).catch((error: unknown) => {
			response.statusCode = 500;
			response.end(String(error));
		});
	});
	return { SIEM_URL: url };
}
