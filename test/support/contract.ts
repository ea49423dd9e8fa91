import { Validator } from "@cfworker/json-schema";
import document from "../../public/openapi.json" with { type: "json" };

/** The parts of a body's JSON Schema that tests look at. */
export type Schema = {
	$ref?: string;
	type?: string | string[];
	enum?: unknown[];
	const?: unknown;
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
	parameters: { name: string; in: string; description?: string; schema: Schema }[];
	requestBody?: {
		required?: boolean;
		content: { "application/json"?: { schema: Schema } };
	};
	responses: Record<
		string,
		{
			/** Every code that an error may have. */
			"x-codes"?: string[];
			content?: {
				"application/json"?: { schema: object };
			};
		}
	>;
};

/**
 * Every operation of the OpenAPI document, with its method, its path, and a pattern for the paths
 * that it matches.
 */
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
	Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
		method: method.toUpperCase(),
		path,
		operation,
		scopes: operation.security.flatMap(Object.values).join(),
		pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`),
	})),
);

const components: Record<string, Schema> = JSON.parse(JSON.stringify(document.components.schemas));

/** The schema that `schema` refers to, or itself. */
export const resolved = (schema: Schema): Schema =>
	components[schema.$ref?.split("/").at(-1) ?? ""] ?? schema;

const problem = document.components.schemas.Error;

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
	const schema =
		described === undefined ? problem : described.content?.["application/json"]?.schema;
	if (request.method === "HEAD") return;
	if (!schema && !described?.content) {
		if (text !== "") throw new Error(`The document has no body for ${what}`);
		return;
	}
	const [media = ""] = response.headers.get("content-type")?.split(";") ?? [];
	if (media.startsWith("text/")) {
		if (!described?.content || !(media in described.content))
			throw new Error(`The document has no text for ${what}`);
		return;
	}
	if (!response.headers.get("content-type")?.startsWith("application/json"))
		throw new Error(`Not JSON: ${what}`);
	const body = JSON.parse(text);
	const codes = described?.["x-codes"];
	if (codes && !codes.includes(body.code))
		throw new Error(`The document has no such code of an error: ${what}`);
	const { valid, errors } = new Validator(
		{ ...(schema ?? problem), components: document.components },
		"2020-12",
		false,
	).validate(body);
	if (!valid)
		throw new Error(
			`Not as documented: ${what}\n${errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).join("\n")}`,
		);
}
