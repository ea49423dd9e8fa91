import { TenantryError } from "./errors.ts";
import { OPERATIONS, Resources } from "./generated.ts";
import { isObject, Memories, namesIn, type Values } from "./memory.ts";
import { pagesOf } from "./pages.ts";
import { type Request, Transport } from "./transport.ts";
import type { Options, RequestOptions } from "./types.ts";

type Operation = { call: string; verb: string; route: string; flags: string };

/** A client of a Tenantry service. Its calls are described by the service's OpenAPI document. */
export class Tenantry extends Resources {
	constructor(options: Options) {
		super();
		const calls = new Calls(new Transport(options));
		for (const [resource, operations] of Object.entries(OPERATIONS))
			Object.assign(this, { [resource]: calls.of(resource, operations) });
	}
}

/** Whether `value` has everything that `part` has. */
const hasAll = (value: unknown, part: unknown): boolean =>
	isObject(part) && isObject(value)
		? Object.entries(part).every(([name, inner]) => hasAll(value[name], inner))
		: value === part;

/** The values of a query; those of a list are repeated. */
function queryOf(values: Values, names: string[]) {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(values))
		if (!names.includes(name))
			for (const one of [value].flat()) if (one !== undefined) query.append(name, `${one}`);
	return query.size > 0 ? `?${query}` : "";
}

function pathOf({ call, route }: Operation, values: Values) {
	return route.replace(/\{(\w+)\}/g, (_, name: string) => {
		const value = values[name];
		if (value === undefined || value === null || value === "")
			throw new TypeError(`${call} needs the parameter "${name}".`);
		const text = `${value}`;
		// URLs have no way to write these as names: they would lead to the object above.
		if (text === "." || text === "..")
			throw new TypeError(`${call} can't have "${text}" as the parameter "${name}".`);
		return encodeURIComponent(text).replaceAll("%40", "@");
	});
}

/** Makes the calls of a client. */
class Calls {
	readonly #transport: Transport;
	readonly #memories = new Memories();

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** The methods of a resource. */
	of(resource: string, operations: Record<string, string>) {
		return Object.fromEntries(
			Object.entries(operations).map(([method, text]) => {
				const [verb = "", route = "", flags = ""] = text.split(" ");
				const operation = { call: `${resource}.${method}`, verb, route, flags };
				return [method, (...words: unknown[]) => this.#call(operation, words)];
			}),
		);
	}

	/** Calls have parameters if their path or query has, then a body if they have one, then options. */
	#call(operation: Operation, words: unknown[]) {
		const { route, flags } = operation;
		const isList = flags.includes("l");
		const rest = [...words];
		const parameters = isList || namesIn(route).length > 0 ? rest.shift() : undefined;
		const body = flags.includes("b") ? rest.shift() : undefined;
		const options: RequestOptions = rest[0] ?? {};
		const argument = isObject(parameters) ? parameters : {};
		return isList
			? this.#list(operation, argument, options)
			: this.#one(operation, argument, body, options);
	}

	#list(operation: Operation, argument: Values, options: RequestOptions) {
		const { call, verb, route } = operation;
		return pagesOf(async (next?: string) => {
			const { values } = this.#memories.recall(argument, route);
			const query = next ?? queryOf(values, namesIn(route));
			const path = pathOf(operation, values) + query;
			const request = { call, verb, route, path, isRepeatable: true };
			const { value } = await this.#transport.send(request, options);
			if (!isPage(value)) throw unexpected(call);
			const inPath = namesIn(route).map((name) => [name, values[name]]);
			for (const item of value.results) this.#memories.keepItem(item, Object.fromEntries(inPath));
			return value;
		});
	}

	async #one(operation: Operation, argument: Values, body: unknown, options: RequestOptions) {
		const { call, verb, route, flags } = operation;
		const { values, etag } = this.#memories.recall(argument, route);
		const path = pathOf(operation, values);
		const kept = verb === "PATCH" ? etag : null;
		const ifMatch = options.ifMatch === undefined ? kept : options.ifMatch;
		const request = { call, verb, route, path, body, isRepeatable: !flags.includes("o") };
		const answer = await this.#transport.send(
			{ ...request, mayBeDone: (error) => this.#mayBeDone(request, error, options) },
			{ ...options, ifMatch },
		);
		this.#memories.keep(answer.value, route, values, answer.etag);
		return answer.value;
	}

	/**
	 * A request that got no answer may have been carried out. Then its repetition finds the object
	 * gone, or with another ETag than before but with the values that were sent.
	 */
	async #mayBeDone(request: Request, { status }: TenantryError, options: RequestOptions) {
		if (request.verb === "DELETE" && status === 404) return { value: undefined };
		if (request.verb !== "PATCH" || status !== 412) return undefined;
		const read = { ...request, verb: "GET", body: undefined };
		const { value } = await this.#transport.send(read, { ...options, ifMatch: null });
		return hasAll(value, request.body) ? { value } : undefined;
	}
}

const isPage = (value: unknown): value is { next: string | null; results: unknown[] } =>
	isObject(value) && Array.isArray(value.results);

const unexpected = (call: string) =>
	new TenantryError({
		type: "http_error",
		code: "unexpected_answer",
		detail: `${call} was not answered with a page. Is baseUrl right?`,
	});
