import { dereference, validate } from "@cfworker/json-schema";
import document from "../../public/openapi.json" with { type: "json" };
import type { AccessLevel, Resource } from "../../src/db/schema/levels.ts";

/** The parts of a body's JSON Schema that tests use. */
export type Schema = {
	$ref?: string;
	type?: string | string[];
	enum?: unknown[];
	const?: unknown;
	readOnly?: boolean;
	properties?: Record<string, Schema>;
	required?: string[];
	additionalProperties?: boolean | Schema;
	items?: Schema;
	anyOf?: Schema[];
};

type Operation = {
	operationId: string;
	summary: string;
	description: string;
	tags: string[];
	security: Record<string, string[]>[];
	"x-access"?: { level?: number; resource?: Resource; access_level?: AccessLevel };
	parameters: {
		name: string;
		in: string;
		description?: string;
		schema: Schema;
		example?: unknown;
	}[];
	requestBody?: {
		required?: boolean;
		content: { "application/json"?: { schema: Schema; example?: unknown } };
	};
	responses: Record<string, Documented>;
};

type Documented = {
	/** All codes that an error can have. */
	"x-codes"?: string[];
	headers: Record<string, { $ref?: string }>;
	content?: {
		"application/json"?: { schema: object; example?: unknown };
	};
};

const common: Record<string, Documented> = JSON.parse(
	JSON.stringify(document.components.responses),
);

const last = (reference = "") => reference.split("/").at(-1) ?? "";

/** Returns the operation with the responses that it refers to. */
const complete = (operation: Operation): Operation => ({
	...operation,
	responses: Object.fromEntries(
		Object.entries<Documented & { $ref?: string }>(operation.responses).map(
			([status, response]) => [status, common[last(response.$ref)] ?? response],
		),
	),
});

/**
 * All operations of the OpenAPI document, with their methods, paths, and patterns for the paths
 * that they match.
 */
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
	Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
		method: method.toUpperCase(),
		path,
		operation: complete(operation),
		scopes: operation.security.flatMap(Object.values).join(),
		pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`),
	})),
);

/** Returns the operations with these titles, like "GET /api/projects". */
export const operationsOf = (...titles: string[]) =>
	titles.map((title) => {
		const found = operations.find(({ method, path }) => `${method} ${path}` === title);
		if (!found) throw new Error(`There is no operation ${title}.`);
		return found;
	});

const components: Record<string, Schema> = JSON.parse(JSON.stringify(document.components.schemas));

/** Returns the schema that `schema` refers to, or `schema` itself. */
export const resolved = (schema: Schema): Schema => components[last(schema.$ref)] ?? schema;

const problem = document.components.schemas.Error;

const headers: Record<string, { description: string; required?: boolean }> =
	document.components.headers;

/**
 * Returns the headers that the document doesn't list for this response, and required headers that
 * are missing.
 */
const wrongHeaders = (documented: Documented, response: Response) =>
	Object.entries(headers).flatMap(([name, { required }]) => {
		const listed = documented.headers[name];
		if (response.headers.has(name)) return listed ? [] : [`${name} is not documented`];
		return listed?.$ref && required ? [`${name} is missing`] : [];
	});

/** The schemas by their addresses. Resolving all of them once takes as long as for one response. */
const lookup = dereference({
	components: document.components,
	bodies: {
		...operations.flatMap(({ operation }) =>
			Object.values(operation.responses).flatMap(
				({ content }) => content?.["application/json"]?.schema ?? [],
			),
		),
	},
});

/** Throws unless the OpenAPI document allows this response to this request. */
export async function assertDocumented(request: Request, response: Response) {
	const { pathname } = new URL(request.url);
	const method = request.method === "HEAD" ? "GET" : request.method;
	const candidates = operations.filter(({ pattern }) => pattern.test(pathname));
	// A path with fewer parameters takes precedence.
	const parameters = ({ path }: { path: string }) => path.split("{").length;
	const fewest = Math.min(...candidates.map(parameters));
	const matches = candidates.filter(
		(operation) => operation.method === method && parameters(operation) === fewest,
	);
	const bytes = await response.clone().arrayBuffer();
	const text = request.method === "HEAD" ? "" : new TextDecoder().decode(bytes);
	const what = `${request.method} ${pathname} → ${response.status} ${text.slice(0, 2000)}`;
	if (!/\bd1_trips;desc="\d+"/.test(response.headers.get("server-timing") ?? ""))
		throw new Error(`No Server-Timing in ${what}`);
	if (!response.headers.get("x-request-id")) throw new Error(`No request id in ${what}`);
	const described = matches
		.map(({ operation }) => operation.responses[response.status])
		.find((documented) => documented !== undefined);
	if (matches.length > 0 && !described)
		throw new Error(`The document has no such response: ${what}`);
	const wrong = described ? wrongHeaders(described, response) : [];
	if (wrong.length > 0) throw new Error(`${wrong.join(", ")}: ${what}`);
	const schema =
		described === undefined ? problem : described.content?.["application/json"]?.schema;
	if (request.method === "HEAD") return;
	if (!schema && !described?.content) {
		if (text !== "") throw new Error(`The document has no body for ${what}`);
		return;
	}
	const [media = ""] = response.headers.get("content-type")?.split(";") ?? [];
	if (media !== "application/json") {
		if (!described?.content || !(media in described.content))
			throw new Error(`The document has no ${media} for ${what}`);
		return;
	}
	const body = JSON.parse(text);
	const codes = described?.["x-codes"];
	if (codes && !codes.includes(body.code))
		throw new Error(`The document has no such code of an error: ${what}`);
	const { valid, errors } = validate(body, schema ?? problem, "2020-12", lookup, false);
	if (!valid)
		throw new Error(
			`Not as documented: ${what}\n${errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).join("\n")}`,
		);
}
