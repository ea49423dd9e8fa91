/**
 * Writes docs/contract.txt, what clients rely on: a line for each operation and each field of the OpenAPI document. Reviews see
 * there what a change does to the API, and `npm run check` what would break clients (scripts/breaking.ts).
 */
import { CURRENT_VERSION } from "../src/http/versions.ts";
import { document, nameOf, type Operation, type Schema } from "./client/document.ts";
import { write } from "./files.ts";

/** Returns `8..64`, `8..` or `..64`, or "" without limits. */
const range = (min?: number, max?: number) =>
	min === undefined && max === undefined ? "" : `${min ?? ""}..${max ?? ""}`;

/** Returns a type with its format and limits, such as `string(uuid)` or `integer(1..100)`. */
function limited(type: string, schema: Schema) {
	const { format, minimum, maximum, minLength, maxLength } = schema;
	const limits = [format, range(minimum, maximum), range(minLength, maxLength)].filter(Boolean);
	return limits.length > 0 ? `${type}(${limits.join(",")})` : type;
}

/** Returns the type of a schema in one word. */
function typeOf(schema: Schema): string {
	const name = nameOf(schema);
	if (name !== undefined) return name;
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join("|");
	const { type, anyOf } = schema;
	if (anyOf)
		return [...new Set(anyOf.map((part) => typeOf(type ? { type, ...part } : part)))].join("|");
	if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join("|");
	if (type === "array") {
		const item = typeOf(schema.items ?? {});
		return `${item.includes("|") ? `(${item})` : item}[${range(schema.minItems, schema.maxItems)}]`;
	}
	return type === undefined ? "any" : limited(type, schema);
}

/** Returns the lines of what is inside a schema: of its fields, of an array's items, and of a record's values. */
function inside(path: string, schema: Schema): string[] {
	const { properties, required = [], additionalProperties, items, anyOf = [] } = schema;
	return [
		...Object.entries(properties ?? {}).flatMap(([name, field]) =>
			lines(`${path}.${name}`, field, required.includes(name)),
		),
		...(typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0
			? lines(`${path}.*`, additionalProperties, true)
			: []),
		...(items ? inside(`${path}[]`, items) : []),
		...anyOf.flatMap((part) => inside(path, part)),
	];
}

const lines = (path: string, schema: Schema, isRequired: boolean) => [
	`${path} ${typeOf(schema)}${isRequired ? "" : " optional"}`,
	...inside(path, schema),
];

function scopeOf({ security }: Operation) {
	const [scope] = security.flatMap(({ personal_api_key: scopes = [] }) => scopes);
	return scope === undefined ? [] : [`scope=${scope}`];
}

/** Returns the successful responses of an operation, such as `201 Invite`. */
const responsesOf = ({ responses }: Operation) =>
	Object.entries(responses)
		.filter(([status]) => status < "400")
		.flatMap(([status, { content = {} }]) => [
			status,
			...Object.entries(content).map(([media, { schema }]) =>
				media === "application/json" ? typeOf(schema) : media,
			),
		]);

function operationLines(path: string, verb: string, operation: Operation) {
	const { operationId, parameters, requestBody } = operation;
	const call = `${verb.toUpperCase()} ${path}`;
	return [
		[call, operationId, ...responsesOf(operation), ...scopeOf(operation)].join(" "),
		...parameters.flatMap(({ in: place, name, schema, required }) =>
			lines(`${call} ${place}.${name}`, schema, required === true),
		),
		...Object.entries(requestBody?.content ?? {}).flatMap(([media, { schema }]) =>
			lines(
				`${call} ${media === "application/json" ? "body" : media}`,
				schema,
				requestBody?.required === true,
			),
		),
	];
}

const contract = [
	`version ${CURRENT_VERSION}`,
	...Object.entries(document.paths).flatMap(([path, methods]) =>
		Object.entries(methods).flatMap(([verb, operation]) => operationLines(path, verb, operation)),
	),
	...Object.entries(document.components.schemas).flatMap(([name, schema]) =>
		lines(name, schema, true),
	),
];

write("docs/contract.txt", `${[...new Set(contract)].join("\n")}\n`);
