import type { Context } from "hono";
import { accepts } from "hono/accepts";
import type { App } from "../env.ts";
import { bytesOf } from "../http/body.ts";
import { readWorker } from "../outbound/isolates.ts";
import { type Api, Gateway } from "./server/gateway.ts";
import type Mcp from "./server/worker.ts";

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";

/** The header that the library requires, although each response has only one of the types. */
const BOTH = `${JSON_TYPE}, ${STREAM_TYPE}`;

type Accepted = { type: string; q: number };

/** Whether `Accept` includes a media type: its most specific range counts (RFC 9110, 12.5.1). */
function includes(all: Accepted[], type: string) {
	const ranges = [type, type.replace(/\/.*/, "/*"), "*/*"];
	const found = ranges.flatMap((range) => all.filter((each) => each.type.toLowerCase() === range));
	return (found[0]?.q ?? 0) > 0;
}

/**
 * Returns the `Accept` for the library, and whether the response is a stream of events: only for
 * clients that accept nothing else. The protocol has clients accept both types, but not all do.
 */
function readAccept(c: Context) {
	const header = c.req.header("accept") ?? "*/*";
	const type = accepts(c, {
		header: "Accept",
		supports: [JSON_TYPE, STREAM_TYPE],
		default: JSON_TYPE,
		match: (all, { supports }) => supports.find((each) => includes(all, each)) ?? "",
	});
	return { accept: type === "" ? header : BOTH, isStream: type === STREAM_TYPE };
}

/** The headers of the protocol. Others, such as the key, stay in this isolate. */
const PROTOCOL_HEADERS = /^(content-type|mcp-.*)$/;

/** Built from `server/worker.ts` by build/assets.ts. */
let built: Awaited<ReturnType<typeof readWorker>> | undefined;

/** Returns the MCP server, in an isolate that all messages share. */
async function server(env: Env) {
	if (!env.LOADER) throw new Error("This runtime has no LOADER, which /mcp requires.");
	built ??= await readWorker(env, "mcp");
	const { id, code } = built;
	return env.LOADER.get(id, () => code).getEntrypoint<Mcp>();
}

/**
 * Responds to a POST to `/mcp`. Operations of the API check the caller. A message that calls none
 * is checked here, so that each message counts once against the rate limit of the key.
 * @throws 401, 413 or 429
 */
export async function serve(c: Context<App>, api: Api): Promise<Response> {
	const body = await bytesOf(c);
	const headers = new Headers(
		[...c.req.raw.headers].filter(([name]) => PROTOCOL_HEADERS.test(name)),
	);
	const { accept, isStream } = readAccept(c);
	headers.set("accept", accept);
	const { scopes, organizations, projects, allowed_ips, expires_at } = c.var.key;
	const key = { scopes, organizations, projects, allowed_ips, expires_at };
	const gateway = new Gateway(c, api);
	const mcp = await server(c.env);
	const message = { url: c.req.url, headers, body, key, isStream };
	const response = await mcp.respond(message, gateway);
	if (gateway.error) throw gateway.error;
	if (!gateway.wasChecked) await c.var.tenant.read();
	return new Response(response.body, response);
}
