import * as z from "zod";
import { isCutObject, jsonOf } from "../../../lib/json.ts";
import { type HttpResponse, sender, unavailable } from "../../../outbound/send.ts";
import { renewing } from "../roles/exchange.ts";
import { googleTokens } from "../roles/google.ts";
import type { Workload } from "../roles/workload.ts";
import type { Settings } from "./definition.ts";
import { errorOf, type Problem } from "./errors.ts";
import { issueToken, SCOPE, tokenUri } from "./token.ts";

const ENDPOINT = "https://bigquery.googleapis.com";

const ErrorBody = z.object({
	error: z.object({
		message: z.string().default(""),
		errors: z.array(z.object({ reason: z.string() })).default([]),
	}),
});

type Options = {
	query?: Record<string, string>;
	body?: Uint8Array | string | undefined;
	type?: string;
	upload?: boolean;
};

function problemOf(status: number, json: unknown): Problem {
	if (status < 300)
		return { reason: "", message: `a response that isn't BigQuery's (status ${status})` };
	const { error } = ErrorBody.safeParse(json).data ?? {};
	return {
		reason: error?.errors[0]?.reason ?? (status === 401 ? "authError" : ""),
		message: error?.message || `status ${status}`,
	};
}

export type Connection = { env: Env; timeoutMs: number; workload: Workload };

export type Api = ReturnType<typeof apiOf>;

/** Returns the functions that send requests to BigQuery's REST API (version 2). */
export function apiOf({ env, timeoutMs, workload }: Connection, config: Settings) {
	const server = sender(env, timeoutMs);
	const { project_id, private_key, workload_identity_provider, client_email } = config;
	const url = (config.endpoint_url ?? ENDPOINT).replace(/\/$/, "");
	const project = `/bigquery/v2/projects/${encodeURIComponent(project_id)}`;
	const tokens = workload_identity_provider
		? googleTokens(
				env,
				{ workload_identity_provider, client_email },
				{ scope: SCOPE, timeoutMs, workload },
			)
		: renewing(() => issueToken(server, config));
	const secrets = () => [...(private_key ? [private_key] : []), ...tokens.secrets()];

	async function request(
		method: string,
		path: string,
		{ query = {}, body, type = "application/json", upload = false }: Options = {},
		isRepeated = false,
	): Promise<HttpResponse> {
		const token = await tokens.get();
		const address = new URL(`${url}${upload ? "/upload" : ""}${project}${path}`);
		for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
		const response = await server.send(
			new Request(address, {
				method,
				headers: {
					authorization: `Bearer ${token}`,
					...(body !== undefined && { "content-type": type }),
				},
				...(body !== undefined && { body }),
			}),
			secrets(),
		);
		if (response.status === 401 && !isRepeated) {
			tokens.forget();
			return request(method, path, { query, body, type, upload }, true);
		}
		return response;
	}

	const explain = (problem: Problem) => errorOf(problem, { config, url, secrets: secrets() });

	/** Returns the body of a response; null if it is an error whose status is in `expected`. */
	async function ask<S extends z.ZodType>(
		shape: S,
		expected: number[],
		...options: Parameters<typeof request>
	): Promise<z.output<S> | null> {
		const response = await request(...options);
		const { status, text } = response;
		if (expected.includes(status)) return null;
		const json = jsonOf(text);
		const { success, data } = shape.safeParse(json);
		if (success && status < 300) return data;
		if (status < 300 && isCutObject(text)) throw unavailable(response);
		throw explain(problemOf(status, json));
	}

	return {
		url,
		ask,
		explain,

		/** @throws if the token server or BigQuery doesn't respond; the status doesn't matter */
		async reach() {
			const issuer = workload_identity_provider ? [] : [tokenUri(config)];
			for (const address of new Set([...issuer, url]))
				await server.exchange(new Request(address), []);
		},

		signIn: tokens.get,
	};
}
