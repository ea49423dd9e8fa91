import { isObject, TenantryError } from "./errors.ts";
import { OPERATIONS, Resources } from "./generated.ts";
import type { Operation } from "./operation.ts";
import { pagesOf } from "./pages.ts";
import { type Request, Transport } from "./transport.ts";
import type { Options, RequestOptions } from "./types.ts";

/** An operation with the name of its method, such as `members.list`. */
type Call = Operation & { call: string };

/**
 * The key of the ETag in objects that `get` returned. Copies such as `{ ...object }` have it, too.
 * It isn't part of JSON.
 */
const ETAG = Symbol("ETag");

type Parameters = Record<string, unknown> & { [ETAG]?: string | null };

/** A client for a Tenantry service, with a method for each operation of its OpenAPI document. */
export class Tenantry extends Resources {
	constructor(options: Options) {
		super();
		const calls = new Calls(new Transport(options));
		for (const [resource, operations] of Object.entries(OPERATIONS))
			Object.assign(this, { [resource]: calls.of(resource, operations) });
	}
}

/** Whether `value` contains all values of `part`, in nested objects too. */
const hasAll = (value: unknown, part: unknown): boolean =>
	isObject(part) && isObject(value)
		? Object.entries(part).every(([name, inner]) => hasAll(value[name], inner))
		: value === part;

const namesIn = (path: string) => Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);

/**
 * Returns the query string. A list becomes repeated parameters. Other fields of an object that is
 * given as the parameters aren't sent.
 */
function queryOf({ query: names = [], isList }: Operation, parameters: Parameters) {
	const query = new URLSearchParams();
	for (const name of isList ? [...names, "limit", "offset"] : names)
		for (const one of [parameters[name]].flat())
			if (one !== undefined) query.append(name, `${one}`);
	return query.size > 0 ? `?${query}` : "";
}

function pathOf({ call, path }: Call, parameters: Parameters) {
	return path.replace(/\{(\w+)\}/g, (_, name: string) => {
		const value = parameters[name];
		const text = typeof value === "number" ? `${value}` : value;
		if (typeof text !== "string" || text === "")
			throw new TypeError(`${call} needs the parameter "${name}".`);
		// URL parsers resolve these segments, even escaped ones, so the request would go to the parent.
		if (text === "." || text === "..")
			throw new TypeError(`${call} can't have "${text}" as the parameter "${name}".`);
		return encodeURIComponent(text).replaceAll("%40", "@");
	});
}

/** Calls operations for a client. */
class Calls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** Returns the methods of a resource. */
	of(resource: string, operations: Record<string, Operation>) {
		return Object.fromEntries(
			Object.entries(operations).map(([method, operation]) => {
				const call = { ...operation, call: `${resource}.${method}` };
				return [method, (...args: unknown[]) => this.#call(call, args)];
			}),
		);
	}

	/**
	 * Calls an operation. `args` has its parameters and its body, if it takes them, and then the
	 * options. The only parameter in a path can be given without an object.
	 */
	#call(operation: Call, args: unknown[]) {
		const { path, hasBody, isList, query } = operation;
		const rest = [...args];
		const [name, ...others] = namesIn(path);
		const takesParameters = isList || query || name !== undefined;
		const first = takesParameters ? rest.shift() : undefined;
		const only = name !== undefined && others.length === 0 ? { [name]: first } : {};
		const parameters = isObject(first) ? first : only;
		const body = hasBody ? rest.shift() : undefined;
		const options: RequestOptions = rest[0] ?? {};
		return isList
			? this.#list(operation, parameters, options)
			: this.#one(operation, parameters, body, options);
	}

	#list(operation: Call, parameters: Parameters, options: RequestOptions) {
		const { call, verb, path: route } = operation;
		return pagesOf(async (next?: string) => {
			const path = pathOf(operation, parameters) + (next ?? queryOf(operation, parameters));
			const request = { call, verb, route, path, isRepeatable: true };
			const { value } = await this.#transport.send(request, options);
			if (!isPage(value)) throw unexpected(call);
			return value;
		});
	}

	async #one(operation: Call, parameters: Parameters, body: unknown, options: RequestOptions) {
		const { call, verb, path: route, ignoresIdempotencyKey, isFile } = operation;
		const path = pathOf(operation, parameters) + queryOf(operation, parameters);
		const known = verb === "PATCH" ? parameters[ETAG] : null;
		const ifMatch = options.ifMatch === undefined ? known : options.ifMatch;
		const isRepeatable = !ignoresIdempotencyKey;
		const request = { call, verb, route, path, body, isRepeatable, isFile };
		const { value, etag } = await this.#transport.send(
			{ ...request, mayBeDone: (error) => this.#mayBeDone(request, error, options) },
			{ ...options, ifMatch },
		);
		if (isObject(value) && !isFile) Object.assign(value, { [ETAG]: etag });
		return value;
	}

	/**
	 * Returns a result if the error shows that an earlier attempt succeeded but its response was
	 * lost: the object is gone, or has another ETag but the values that were sent.
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
		code: "unexpected_response",
		detail: `The response to ${call} isn't a page of a list. Check baseUrl.`,
	});
