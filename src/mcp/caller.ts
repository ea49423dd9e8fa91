import type { Context } from "hono";
import type { App } from "../env.ts";
import { type ApiError, badCredentials } from "../http/errors.ts";
import { parseExact } from "../http/exact.ts";
import { CURRENT_VERSION } from "../http/versions.ts";
import { logRequestError } from "../log/log.ts";
import type { Api } from "./routes.ts";

/** The headers of the MCP request that are copied to requests to the API. */
const PASSED_ON = ["authorization", "cf-connecting-ip", "x-d1-bookmark"];

/** A response of the API. */
export type Answer = {
	status: number;
	headers: Headers;
	/** JSON, or text of another type; null if there is no body. */
	data: unknown;
};

async function readBody(response: Response): Promise<unknown> {
	const text = await response.text();
	if (text === "") return null;
	return response.headers.get("content-type")?.startsWith("application/json")
		? parseExact(text)
		: text;
}

/** Calls the API with the key of an MCP request, so that the API decides what is allowed. */
export class Caller {
	readonly #c: Context<App>;
	readonly #api: Api;
	/** Whether the API has checked the key. */
	wasChecked = false;
	/** The error with which the API rejected the key, if it did. */
	refusal: ApiError | undefined;

	constructor(c: Context<App>, api: Api) {
		this.#c = c;
		this.#api = api;
	}

	/** The key in use, as recorded in KV. */
	get key() {
		return this.#c.var.key;
	}

	/** Returns the JSON of a static file. */
	async asset(path: string): Promise<unknown> {
		const file = await this.#c.env.ASSETS.fetch(new URL(path, this.#c.req.url));
		if (!file.ok) throw new Error(`${path} returned ${file.status}.`);
		return file.json();
	}

	/** Logs an error that the caller didn't cause. */
	report(error: unknown) {
		logRequestError(this.#c.var.requestId, error);
	}

	/**
	 * Sends a request to the API.
	 * @param path the path with its query
	 */
	async send(
		method: string,
		path: string,
		{ body, headers = {} }: { body?: unknown; headers?: Record<string, string | undefined> } = {},
	): Promise<Answer> {
		const sent = new Headers({
			"x-request-id": this.#c.var.requestId,
			// The version that describe_operation describes.
			"tenantry-version": CURRENT_VERSION,
			...(body !== undefined && { "content-type": "application/json" }),
		});
		const passedOn = PASSED_ON.map((name) => [name, this.#c.req.header(name)] as const);
		for (const [name, value] of [...passedOn, ...Object.entries(headers)])
			if (value !== undefined) sent.set(name, value);
		const url = new URL(path, this.#c.req.url);
		const init = {
			method,
			headers: sent,
			...(body !== undefined && { body: JSON.stringify(body) }),
		};
		const response = await this.#api(new Request(url, init), this.#c);
		this.#note(response);
		return { status: response.status, headers: response.headers, data: await readBody(response) };
	}

	/** Adds the cost of the request to the cost of the MCP request. */
	#note({ status, headers }: Response) {
		this.wasChecked = true;
		if (status === 401) this.refusal = badCredentials();
		const { meter } = this.#c.var;
		for (const [, name, n] of headers.get("server-timing")?.matchAll(/(\w+);desc="(\d+)"/g) ?? [])
			if (isCost(meter, name)) meter[name] += Number(n);
		const bookmark = headers.get("x-d1-bookmark");
		if (bookmark) this.#c.set("bookmark", () => bookmark);
	}
}

const isCost = <T extends object>(meter: T, name: PropertyKey = ""): name is keyof T =>
	name in meter;
