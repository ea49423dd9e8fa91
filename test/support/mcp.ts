import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { app } from "../../src/app.ts";

const ENDPOINT = "https://tenantry.test/mcp";

/** The revisions of the protocol that clients use today: the current one, and earlier ones. */
export const eras = [
	["2026-07-28", { pin: "2026-07-28" }],
	["2025-11-25", "legacy"],
] as const;
type Era = (typeof eras)[number][1];

/** A binding with which no call counts against the rate of a key. */
export const UNLIMITED = { REQUESTS: { limit: async () => ({ success: true }) } };

type Options = { era?: Era; env?: Partial<Env> };

/** Connects the official client to `/mcp`. `responses` contains the latest responses. */
export async function connect(key: string, { era = "legacy", env: overrides }: Options = {}) {
	const responses: Response[] = [];
	const fetch = async (url: string | URL, init?: RequestInit) => {
		const request = new Request(url, init);
		const context = createExecutionContext();
		const response = overrides
			? await app.fetch(request, { ...env, ...overrides }, context)
			: await exports.default.fetch(request);
		await waitOnExecutionContext(context);
		responses.push(response.clone());
		return response;
	};
	const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: era } });
	const headers = { authorization: `Bearer ${key}` };
	const options = { fetch, requestInit: { headers } };
	await client.connect(new StreamableHTTPClientTransport(new URL(ENDPOINT), options));
	/** Calls a tool, and checks that its text equals its structured content. */
	const tool = async (name: string, given: Record<string, unknown> = {}) => {
		const {
			content,
			structuredContent,
			isError = false,
		} = await client.callTool({
			name,
			arguments: given,
		});
		const [text] = content;
		const said = text?.type === "text" ? text.text : "";
		// biome-ignore lint/suspicious/noExplicitAny: each test knows the form of the answer
		const answer: any = structuredContent;
		if (answer && JSON.stringify(JSON.parse(said)) !== JSON.stringify(answer))
			throw new Error(`The text is not the structured content: ${said}`);
		return { isError, text: said, ...answer };
	};
	return { client, tool, responses };
}

/** Sends a request to `/mcp` unchanged. */
export async function post(
	key: string | undefined,
	body: unknown,
	{
		method = "POST",
		headers = {},
		at = "https://tenantry.test",
	}: { method?: string; headers?: Record<string, string>; at?: string } = {},
	overrides: Partial<Env> = {},
) {
	const context = createExecutionContext();
	const request = new Request(new URL("/mcp", at), {
		method,
		headers: {
			accept: "application/json, text/event-stream",
			"content-type": "application/json",
			...(key && { authorization: `Bearer ${key}` }),
			...headers,
		},
		...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
	});
	const response = await app.fetch(request, { ...env, ...overrides }, context);
	await waitOnExecutionContext(context);
	const text = await response.text();
	return {
		status: response.status,
		headers: response.headers,
		body: text === "" ? null : JSON.parse(text),
	};
}
