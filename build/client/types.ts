/** Writes the schemas of the OpenAPI document as TypeScript types with comments. */
import { nameOf, type Schema } from "./schema.ts";

/** Returns a documentation comment; empty without text. */
export function comment(text: string | undefined) {
	if (!text) return "";
	const lines = text.replaceAll("*/", "*\\/").split("\n");
	if (lines.length === 1) return `/** ${lines[0]} */\n`;
	return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

/** Indents all lines that aren't empty. */
export const indented = (text: string) => text.replace(/^(?=.)/gm, "\t");

const isName = (key: string) => /^[A-Za-z_$][\w$]*$/.test(key);

export function typeOf(schema: Schema): string {
	const name = nameOf(schema);
	if (name !== undefined) return name;
	if ("const" in schema) return JSON.stringify(schema.const);
	if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
	if (schema.anyOf) return union(schema.anyOf.map((part) => ({ ...withType(schema), ...part })));
	if (Array.isArray(schema.type)) return union(schema.type.map((type) => ({ ...schema, type })));
	switch (schema.type) {
		case undefined:
			return "unknown";
		case "integer":
		case "number":
			return "number";
		case "string":
		case "boolean":
		case "null":
			return schema.type;
		case "array":
			return `(${typeOf(schema.items ?? {})})[]`;
		case "object":
			return objectOf(schema);
		default:
			throw new Error(`The client's generator doesn't support the type ${schema.type}.`);
	}
}

const withType = ({ type }: Schema) => (type === undefined ? {} : { type });

const union = (parts: Schema[]) =>
	[...new Set(parts.map((part) => `(${typeOf(part)})`))].join(" | ");

function objectOf({ properties, required = [], additionalProperties }: Schema) {
	if (!properties) {
		const values = typeof additionalProperties === "object" ? additionalProperties : {};
		return `Record<string, ${typeOf(values)}>`;
	}
	if (Object.keys(properties).length === 0) return "Record<string, never>";
	return fields(
		Object.entries(properties).map(([name, schema]) => ({
			name,
			description: schema.description,
			isRequired: required.includes(name),
			type: typeOf(schema),
		})),
	);
}

type Field = {
	name: string;
	description: string | undefined;
	isRequired: boolean;
	type: string;
};

/**
 * Returns an object type. Optional fields can be `undefined`, which means that they are not sent.
 */
export const fields = (all: Field[]) =>
	`{\n${indented(
		all
			.map(({ name, description, isRequired, type }) => {
				const key = isName(name) ? name : JSON.stringify(name);
				return `${comment(description)}${key}${isRequired ? `: ${type}` : `?: (${type}) | undefined`};`;
			})
			.join("\n"),
	)}\n}`;
