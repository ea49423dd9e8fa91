/** The parts of the OpenAPI document that the client is generated from. */
import { readFileSync } from "node:fs";

export type Schema = {
	$ref?: string;
	type?: string | string[];
	description?: string;
	enum?: unknown[];
	const?: unknown;
	anyOf?: Schema[];
	properties?: Record<string, Schema>;
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

type Content = Record<string, { schema: Schema }>;

export type Operation = {
	operationId: string;
	summary: string;
	description: string;
	tags: [string];
	security: Record<string, string[]>[];
	parameters: Parameter[];
	requestBody?: { required: boolean; content: Content };
	responses: Record<string, { content?: Content }>;
};

type Document = {
	tags: { name: string; description: string }[];
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, Schema> };
};

export const document: Document = JSON.parse(
	readFileSync(`${import.meta.dirname}/../../public/openapi.json`, "utf8"),
);

// The client sets the headers itself.
for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
	operation.parameters = operation.parameters.filter((parameter) => parameter.in !== "header");

/** Returns the name of the schema that a reference refers to. */
export const nameOf = ({ $ref }: Schema) => $ref?.split("/").at(-1);

/** Returns the schema that a reference refers to, or the schema itself if it isn't a reference. */
export function resolve(schema: Schema): Schema {
	const name = nameOf(schema);
	const found = name === undefined ? schema : document.components.schemas[name];
	if (!found) throw new Error(`There is no schema ${name}.`);
	return found;
}

export const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
