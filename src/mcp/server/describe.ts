import type { Caller } from "./caller.ts";
import { isRead, type Operation } from "./operations.ts";

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value at a path of names in a JSON document. */
const at = (value: unknown, ...names: string[]): unknown =>
	names.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);

/** Returns a schema without references, except where a schema contains itself. */
function inline(document: unknown, value: unknown, inside: string[] = []): unknown {
	if (Array.isArray(value)) return value.map((item) => inline(document, item, inside));
	if (!isObject(value)) return value;
	const { $ref, ...more } = value;
	if (typeof $ref === "string" && !inside.includes($ref)) {
		const schema = inline(document, at(document, ...$ref.split("/").slice(1)), [...inside, $ref]);
		return isObject(schema) ? { ...schema, ...more } : schema;
	}
	return Object.fromEntries(
		Object.entries(value).map(([name, inner]) => [name, inline(document, inner, inside)]),
	);
}

/** Returns a body's schema without the fields that the operation ignores. */
const applied = ({ properties, ...schema }: Json): Json => ({
	...schema,
	...(isObject(properties) && {
		properties: Object.fromEntries(
			Object.entries(properties).filter(([, field]) => at(field, "readOnly") !== true),
		),
	}),
});

/** Describes what a model needs to call an operation, from the OpenAPI document. */
export async function describe(caller: Caller, operation: Operation) {
	const { operationId, summary, method, path, scope } = operation;
	const document = await caller.asset("/openapi.json");
	const documented = at(document, "paths", path, method.toLowerCase());
	const parameters = at(documented, "parameters");
	const json = operation.body && at(documented, "requestBody", "content", "application/json");
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
		...(isObject(body) && { body: applied(body), example: at(json, "example") }),
	};
}
