import type { Caller } from "./caller.ts";
import { isRead, type Operation } from "./operations.ts";

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path of names in a JSON document. */
const at = (value: unknown, ...names: string[]): unknown =>
	names.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);

/** A copy of a schema with the schemas that it refers to, except where one contains itself. */
function inline(document: unknown, value: unknown, inside: string[] = []): unknown {
	if (Array.isArray(value)) return value.map((item) => inline(document, item, inside));
	if (!isObject(value)) return value;
	const { $ref } = value;
	if (typeof $ref === "string" && !inside.includes($ref))
		return inline(document, at(document, ...$ref.split("/").slice(1)), [...inside, $ref]);
	return Object.fromEntries(
		Object.entries(value).map(([name, inner]) => [name, inline(document, inner, inside)]),
	);
}

/** Examples of strings, by their format. */
const STRINGS: Record<string, string> = {
	uuid: "018f2c5e-7a1b-7c3d-9e4f-5a6b7c8d9e0f",
	email: "ada@example.org",
	"date-time": "2026-01-31T00:00:00Z",
	uri: "https://example.org",
};

function exampleOfString({ format }: Json) {
	return STRINGS[String(format)] ?? "text";
}

/** A value that a schema allows: its own example, else one that is made up. */
export function exampleOf(schema: unknown): unknown {
	if (!isObject(schema)) return null;
	const { examples, example, const: constant, enum: choices, default: standard } = schema;
	const given = [examples, [example], [constant], choices, [standard]]
		.flatMap((values) => (Array.isArray(values) ? values : []))
		.find((value) => value !== undefined);
	if (given !== undefined) return given;
	const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
	if (variants) return exampleOf({ ...schema, anyOf: undefined, oneOf: undefined, ...variants[0] });
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	if (type === "object") return exampleOfObject(schema);
	if (type === "array") return [exampleOf(schema.items)];
	if (type === "string") return exampleOfString(schema);
	if (type === "boolean") return true;
	return type === "integer" || type === "number" ? 1 : null;
}

/** An object with the required fields; with all if none is required. */
function exampleOfObject({ properties, required }: Json) {
	const fields = Object.entries(isObject(properties) ? properties : {});
	const needed = fields.filter(([name]) => Array.isArray(required) && required.includes(name));
	return Object.fromEntries(
		(needed.length > 0 ? needed : fields).map(([name, field]) => [name, exampleOf(field)]),
	);
}

/** What a model needs to know to call an operation, from the OpenAPI document. */
export async function describe(caller: Caller, operation: Operation) {
	const { operationId, summary, method, path, scope } = operation;
	const document = await caller.asset("/openapi.json");
	const documented = at(document, "paths", path, method.toLowerCase());
	const parameters = at(documented, "parameters");
	const json = at(documented, "requestBody", "content", "application/json");
	const body = json && inline(document, at(json, "schema"));
	return {
		operationId,
		summary,
		description: at(documented, "description"),
		method,
		path,
		changes: !isRead(operation),
		scope,
		parameters: (Array.isArray(parameters) ? parameters : []).filter((parameter) =>
			["path", "query"].includes(String(at(parameter, "in"))),
		),
		...(isObject(body) && { body, example: at(json, "example") ?? exampleOf(body) }),
	};
}
