import { Validator } from "@cfworker/json-schema";
import document from "../../public/openapi.json" with { type: "json" };

/** Of a body, as far as it is asked what it holds. */
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
	security: Record<string, string[]>[];
	parameters: { name: string; in: string; schema: Schema }[];
	requestBody?: {
		required?: boolean;
		content: { "application/json"?: { schema: Schema } };
	};
	responses: Record<
		string,
		{
			content?: {
				"application/json"?: { schema: object };
			};
		}
	>;
};

/** Every operation of the document: its method, its path, and the pattern of addresses that it answers. */
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

/** Throws unless the document promises this answer to this request. */
export async function hold(request: Request, answer: Response) {
	const { pathname } = new URL(request.url);
	const method = request.method === "HEAD" ? "GET" : request.method;
	const there = operations.filter(({ pattern }) => pattern.test(pathname));
	// A path that says itself what it is goes before one with a parameter in its place.
	const parameters = ({ path }: { path: string }) => path.split("{").length;
	const fewest = Math.min(...there.map(parameters));
	const matches = there.filter((one) => one.method === method && parameters(one) === fewest);
	const bytes = await answer.clone().arrayBuffer();
	const text = request.method === "HEAD" ? "" : new TextDecoder().decode(bytes);
	const what = `${request.method} ${pathname} → ${answer.status} ${text.slice(0, 2000)}`;
	if (!/\bd1_trips;desc="\d+"/.test(answer.headers.get("server-timing") ?? ""))
		throw new Error(`No cost in ${what}`);
	if (!answer.headers.get("x-request-id")) throw new Error(`No request id in ${what}`);
	const described = matches
		.map(({ operation }) => operation.responses[answer.status])
		.find((response) => response !== undefined);
	if (matches.length > 0 && !described) throw new Error(`Not in the document: ${what}`);
	const schema =
		described === undefined ? problem : described.content?.["application/json"]?.schema;
	if (request.method === "HEAD") return;
	if (!schema && !described?.content) {
		if (text !== "") throw new Error(`A body where none is promised: ${what}`);
		return;
	}
	const [media = ""] = answer.headers.get("content-type")?.split(";") ?? [];
	if (media.startsWith("text/")) {
		if (!described?.content || !(media in described.content))
			throw new Error(`A text where none is promised: ${what}`);
		return;
	}
	if (!answer.headers.get("content-type")?.startsWith("application/json"))
		throw new Error(`Not JSON: ${what}`);
	const { valid, errors } = new Validator(
		{ ...(schema ?? problem), components: document.components },
		"2020-12",
		false,
	).validate(JSON.parse(text));
	if (!valid)
		throw new Error(
			`Not as promised: ${what}\n${errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).join("\n")}`,
		);
}
