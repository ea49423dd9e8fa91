/** The parts of the OpenAPI document that scripts read. */
import { readFileSync } from "node:fs";

export type Schema = {
	$ref?: string;
	type?: string | string[];
	description?: string;
	enum?: unknown[];
	const?: unknown;
	anyOf?: Schema[];
	properties?: Record<string, Schema>;
	readOnly?: boolean;
	required?: string[];
	additionalProperties?: boolean | Schema;
	items?: Schema;
	pattern?: string;
	format?: string;
	minimum?: number;
	maximum?: number;
	minLength?: number;
	maxLength?: number;
	minItems?: number;
	maxItems?: number;
};

export type Parameter = {
	name: string;
	in: "path" | "query" | "header";
	description: string;
	required?: boolean;
	schema: Schema;
};

type Content = Record<string, { schema: Schema; example?: unknown }>;

type Response = { $ref?: string; description?: string; content?: Content };

export type Operation = {
	operationId: string;
	summary: string;
	description: string;
	tags: [string];
	security: Record<string, string[]>[];
	/** The level and the access that the operation requires. */
	"x-access"?: { level?: number; resource?: string; access_level?: string };
	parameters: Parameter[];
	requestBody?: { required: boolean; content: Content };
	responses: Record<string, Response>;
};

export type Document = {
	tags: { name: string; description: string }[];
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
};

/** Returns a body's schema without the fields that the operation ignores; undefined if none is left. */
function applied(schema: Schema): Schema | undefined {
	const fields = Object.entries(schema.properties ?? {});
	const rest = fields.filter(([, { readOnly }]) => !readOnly);
	if (rest.length === fields.length) return schema;
	return rest.length > 0 ? { ...schema, properties: Object.fromEntries(rest) } : undefined;
}

/** Returns the document without the fields of bodies that operations ignore, and without such bodies. */
export function withoutIgnored(document: Document): Document {
	for (const operation of Object.values(document.paths).flatMap(Object.values<Operation>)) {
		const json = operation.requestBody?.content["application/json"];
		if (!json) continue;
		const schema = applied(json.schema);
		if (schema) json.schema = schema;
		else delete operation.requestBody;
	}
	return document;
}

/**
 * Reads public/openapi.json. Parameters in headers are left out: they are the same for many
 * operations (docs/api.md#headers).
 */
export function readDocument(): Document {
	const document: Document = JSON.parse(
		readFileSync(`${import.meta.dirname}/../../public/openapi.json`, "utf8"),
	);
	for (const methods of Object.values(document.paths))
		for (const operation of Object.values(methods))
			operation.parameters = operation.parameters.filter((parameter) => parameter.in !== "header");
	return document;
}

/** Returns the name of the schema or response that a reference refers to. */
export const nameOf = ({ $ref }: { $ref?: string }) => $ref?.split("/").at(-1);

/** Returns `8..64`, `8..` or `..64`, or "" without limits. */
const range = (min?: number, max?: number) =>
	min === undefined && max === undefined ? "" : `${min ?? ""}..${max ?? ""}`;

/** Returns a type with its format and limits, such as `string(uuid)` or `integer(1..100)`. */
function limited(type: string, schema: Schema) {
	const { format, minimum, maximum, minLength, maxLength } = schema;
	const limits = [format, range(minimum, maximum), range(minLength, maxLength)].filter(Boolean);
	return limits.length > 0 ? `${type}(${limits.join(",")})` : type;
}

/**
 * Returns the type of a schema in one word, such as `Invite[]`, `"hour"|"day"` or
 * `string(uuid)|null`.
 */
export function typeText(schema: Schema): string {
	const name = nameOf(schema);
	if (name !== undefined) return name;
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join("|");
	const { type, anyOf } = schema;
	if (anyOf)
		return [...new Set(anyOf.map((part) => typeText(type ? { type, ...part } : part)))].join("|");
	if (Array.isArray(type)) return type.map((one) => typeText({ ...schema, type: one })).join("|");
	if (type === "array") {
		const item = typeText(schema.items ?? {});
		return `${item.includes("|") ? `(${item})` : item}[${range(schema.minItems, schema.maxItems)}]`;
	}
	return type === undefined ? "any" : limited(type, schema);
}

/** A field in a schema. `path` is below the schema, such as `.destination.type` or `[].id`. */
export type Field = { path: string; schema: Schema; isRequired: boolean };

/**
 * Returns the fields of a schema, of an array's items and of a record's values, in all depths.
 * References aren't followed.
 */
export function fieldsOf(schema: Schema, path = ""): Field[] {
	const { properties, required = [], additionalProperties: values, items, anyOf = [] } = schema;
	const withInner = (field: Field) => [field, ...fieldsOf(field.schema, field.path)];
	return [
		...Object.entries(properties ?? {}).flatMap(([name, field]) =>
			withInner({ path: `${path}.${name}`, schema: field, isRequired: required.includes(name) }),
		),
		...(typeof values === "object" && Object.keys(values).length > 0
			? withInner({ path: `${path}.*`, schema: values, isRequired: true })
			: []),
		...(items ? fieldsOf(items, `${path}[]`) : []),
		...anyOf.flatMap((part) => fieldsOf(part, path)),
	];
}
