import type { Access } from "../../access/key_access.ts";
import { parseExact } from "../../lib/lossless_json.ts";
import type { ApiRequest, Gateway } from "./gateway.ts";

/** The access of the key in use, as recorded in KV. */
export type KeyInUse = Access;

/** The functions of the API's isolate that this one can call. */
export type Calls = Pick<Gateway, "asset" | "report" | "send">;

/** A response of the API. */
export type ApiResponse = {
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

/** The caller of one MCP request. */
export class Caller {
	readonly key: KeyInUse;
	readonly #calls: Calls;

	constructor(key: KeyInUse, calls: Calls) {
		this.key = key;
		this.#calls = calls;
	}

	/** Returns the JSON of a static file. */
	async asset(path: string): Promise<unknown> {
		const file = await this.#calls.asset(path);
		if (!file.ok) throw new Error(`${path} returned ${file.status}.`);
		return file.json();
	}

	/** Logs an error that the caller didn't cause. */
	async report(error: unknown) {
		const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
		await this.#calls.report(text);
	}

	/** Sends a request to the API with the key of the MCP request. */
	async send(
		method: string,
		path: string,
		{
			body,
			headers = {},
			isPreview = false,
		}: Partial<Omit<ApiRequest, "body">> & { body?: unknown } = {},
	): Promise<ApiResponse> {
		// As text, because numbers that keep every digit (`JSON.rawJSON`) can't be sent to another
		// isolate.
		const json = body === undefined ? null : JSON.stringify(body);
		const response = await this.#calls.send({ method, path, body: json, headers, isPreview });
		return { status: response.status, headers: response.headers, data: await readBody(response) };
	}
}
