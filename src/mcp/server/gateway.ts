import { RpcTarget } from "cloudflare:workers";
import type { Context } from "hono";
import type { App } from "../../env.ts";
import { type ApiError, badCredentials, insufficientScope } from "../../http/errors.ts";
import { markPreview } from "../../http/preview.ts";
import { CURRENT_VERSION } from "../../http/versions.ts";
import { asPartOfMcp } from "../../keys/audience.ts";
import { logRequestError } from "../../lib/log.ts";

/** Sends a request to the API without leaving this worker. */
export type Api = (request: Request, c: Context<App>) => Response | Promise<Response>;

/** A request of the isolate of the MCP server to the API. */
export type ApiRequest = {
	method: string;
	/** The path with its query. */
	path: string;
	/** JSON; null for a request without a body. */
	body: string | null;
	headers: Record<string, string | undefined>;
	/** Whether the request is only checked (src/http/preview.ts). */
	isPreview: boolean;
};

/** The headers of the MCP request that are copied to requests to the API. */
const PASSED_ON = ["authorization", "cf-connecting-ip", "user-agent", "x-d1-bookmark"];

/** Matches the challenge for a missing scope (`insufficientScope`). */
const INSUFFICIENT = /error="insufficient_scope", scope="([^"]+)"/;

/**
 * The interface of the isolate of the MCP server: the API, with the key of an MCP request, so that
 * the API decides what is allowed. The key stays in this isolate.
 */
export class Gateway extends RpcTarget {
	readonly #c: Context<App>;
	readonly #api: Api;
	/** Whether the API has checked the key. */
	wasChecked = false;
	/** The error of the API that is one of the whole request, if there was one. */
	error: ApiError | undefined;

	constructor(c: Context<App>, api: Api) {
		super();
		this.#c = c;
		this.#api = api;
	}

	/** Returns a static file. */
	asset(path: string): Promise<Response> {
		return this.#c.env.ASSETS.fetch(new URL(path, this.#c.req.url));
	}

	/** Logs an error that the caller didn't cause. */
	async report(error: string) {
		logRequestError(this.#c.var.requestId, error);
	}

	/** Sends a request to the API. */
	async send({ method, path, body, headers, isPreview }: ApiRequest): Promise<Response> {
		const sent = new Headers({
			"x-request-id": this.#c.var.requestId,
			// The version that describe_operation describes.
			"tenantry-version": CURRENT_VERSION,
			// Models misspell fields.
			prefer: "handling=strict",
			...(body !== null && { "content-type": "application/json" }),
		});
		const passedOn = PASSED_ON.map((name) => [name, this.#c.req.header(name)] as const);
		for (const [name, value] of [...passedOn, ...Object.entries(headers)])
			if (value !== undefined) sent.set(name, value);
		const url = new URL(path, this.#c.req.url);
		const { cf } = this.#c.req.raw;
		const request = asPartOfMcp(
			new Request(url, { method, headers: sent, body, ...(cf && { cf }) }),
		);
		if (isPreview) markPreview(request);
		const response = await this.#api(request, this.#c);
		this.#note(response);
		return response;
	}

	/** Adds the cost of the request to the cost of the MCP request. */
	#note({ status, headers }: Response) {
		this.wasChecked = true;
		if (status === 401) this.error = badCredentials();
		const { meter, key } = this.#c.var;
		const [, missing] = INSUFFICIENT.exec(headers.get("www-authenticate") ?? "") ?? [];
		// Only an app can ask for more.
		if (missing && key.audience) this.error = insufficientScope(missing, key.scopes);
		for (const [, name, n] of headers.get("server-timing")?.matchAll(/\b(\w+);desc="(\d+)"/g) ?? [])
			if (isCost(meter, name)) meter[name] += Number(n);
		const bookmark = headers.get("x-d1-bookmark");
		if (bookmark) this.#c.set("bookmark", () => bookmark);
	}
}

const isCost = <T extends object>(meter: T, name: PropertyKey = ""): name is keyof T =>
	name in meter;
