/**
 * Writes docs/contract.txt, what clients rely on: a line for each operation and each field of the
 * OpenAPI document. Reviews see there what a change does to the API, and `npm run check` what would
 * break clients (build/breaking.ts).
 */
import { CURRENT_VERSION } from "../src/http/versions.ts";
import { fieldsOf, type Operation, readDocument, type Schema, typeText } from "./client/schema.ts";
import { write } from "./files.ts";

const line = (path: string, schema: Schema, isRequired: boolean) =>
	`${path} ${typeText(schema)}${isRequired ? "" : " optional"}`;

/** Returns the line of a parameter, a body or a schema, and of all fields in it. */
const lines = (path: string, schema: Schema, isRequired: boolean) => [
	line(path, schema, isRequired),
	...fieldsOf(schema).map((field) => line(path + field.path, field.schema, field.isRequired)),
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
				media === "application/json" ? typeText(schema) : media,
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

const document = readDocument();

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
