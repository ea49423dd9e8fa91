/** Calls operations by id, and records the requests and responses. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";

const Document = z.object({
	paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))),
});

/** The fields of responses that later requests need. */
const Answer = z.looseObject({
	id: z.union([z.string(), z.int()]).nullish(),
	uuid: z.string().optional(),
	value: z.string().nullish(),
	backfill_id: z.string().optional(),
	batch_export: z.string().optional(),
	keys: z.array(z.object({ id: z.string() })).optional(),
	accept_url: z.string().nullish(),
	verification_challenge: z.string().optional(),
	secret: z.string().nullish(),
	redirect_url: z.string().optional(),
	recovery_codes: z.array(z.string()).nullish(),
	url: z.string().nullish(),
	user: z.looseObject({ uuid: z.string().optional() }).nullish(),
	personal_api_key: z.looseObject({ value: z.string() }).nullish(),
	results: z
		.array(
			z.looseObject({
				id: z.unknown().optional(),
				name: z.string().nullish(),
				finished_at: z.string().nullish(),
			}),
		)
		.optional(),
});

type Values = Record<string, string | number>;

type Request = {
	/** The parameters in the path and in the query. */
	parameters?: Values;
	body?: unknown;
	headers?: Record<string, string>;
	/** The API key; null to send none. */
	key?: string | null | undefined;
};

/** A request and its responses. */
type Example = {
	parameters: Values;
	body?: unknown;
	answer?: unknown;
	/** Error bodies, by status. */
	errors: Record<string, unknown>;
};

const TIMEOUT_MS = 60_000;

/** Returns the method and path of each operation in the document, by id. */
function operations() {
	const file = `${import.meta.dirname}/../../public/openapi.json`;
	const { paths } = Document.parse(JSON.parse(readFileSync(file, "utf8")));
	return new Map(
		Object.entries(paths).flatMap(([path, methods]) =>
			Object.entries(methods).map(([method, { operationId }]) => [
				operationId,
				{ method: method.toUpperCase(), path },
			]),
		),
	);
}

/** Headers of a request to revoke something that want a receipt. */
export const RECEIPT = { prefer: "receipt" };

const FORM = "application/x-www-form-urlencoded";

/** @param defaults values of parameters that most paths have */
export function recorder(url: string, defaultKey: string, defaults: Values) {
	const known = operations();
	const examples: Record<string, Example> = {};
	const succeeded = new Set<string>();
	const steps: number[] = [];

	/** Sends a request. Returns the status and the body, as JSON or text. */
	async function send(id: string, { parameters = {}, body, headers = {}, key }: Request) {
		const operation = known.get(id);
		if (!operation) throw new Error(`The document has no operation ${id}.`);
		const { method, path } = operation;
		const values: Values = { ...defaults, ...parameters };
		const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
		const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
		const query = new URLSearchParams(
			Object.entries(parameters).flatMap(([name, value]) =>
				names.includes(name) ? [] : [[name, String(value)]],
			),
		);
		const isForm = body instanceof URLSearchParams;
		const response = await fetch(`${url}${filled}?${query}`, {
			method,
			redirect: "manual",
			headers: {
				...(key !== null && { authorization: `Bearer ${key ?? defaultKey}` }),
				...(body !== undefined && { "content-type": isForm ? FORM : "application/json" }),
				...headers,
			},
			...(body !== undefined && { body: isForm ? body.toString() : JSON.stringify(body) }),
		});
		const text = await response.text();
		const type = response.headers.get("content-type") ?? "";
		return {
			status: response.status,
			/** The cookie that the response sets, as a header of later requests. */
			cookie: response.headers.getSetCookie()[0]?.split(";")[0],
			parameters: {
				...Object.fromEntries(names.map((name) => [name, values[name] ?? ""])),
				...parameters,
			},
			// Neither HTML pages nor files are useful examples.
			answer: /^application\/json\b/.test(type)
				? JSON.parse(text)
				: type.startsWith("text/javascript")
					? text
					: undefined,
		};
	}

	/** Sends a request that must succeed. The first success of an operation is its example. */
	async function record(id: string, request: Request = {}) {
		steps.push(Date.now());
		const { status, cookie, parameters, answer } = await send(id, request);
		if (status >= 400) throw new Error(`${id}: ${status} ${JSON.stringify(answer)}`);
		const body =
			request.body instanceof URLSearchParams ? Object.fromEntries(request.body) : request.body;
		if (!succeeded.has(id))
			examples[id] = {
				parameters,
				...(body !== undefined && { body }),
				...(answer !== undefined && { answer }),
				errors: examples[id]?.errors ?? {},
			};
		succeeded.add(id);
		return { ...Answer.safeParse(answer).data, cookie };
	}

	/** Sends a request that must return an error, and records it. */
	async function refuse(id: string, expected: number, request: Request = {}) {
		steps.push(Date.now());
		const { status, parameters, answer } = await send(id, request);
		if (status !== expected) throw new Error(`${id}: ${status} ${JSON.stringify(answer)}`);
		examples[id] ??= { parameters, errors: {} };
		examples[id].errors[status] = answer;
	}

	/** Repeats a request until `isDone`. Times in this period belong to the previous step. */
	async function waitFor(
		id: string,
		request: Request,
		isDone: (answer: z.infer<typeof Answer>) => boolean,
	) {
		for (let waited = 0; waited < TIMEOUT_MS; waited += 300) {
			const { answer } = await send(id, request);
			const parsed = Answer.parse(answer);
			if (isDone(parsed)) return parsed;
			await fetch(`${url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`);
			await sleep(300);
		}
		throw new Error(`${id} did not return the expected response.`);
	}

	return { examples, steps, record, refuse, waitFor };
}

export type Recorder = ReturnType<typeof recorder>;
