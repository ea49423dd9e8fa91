/**
 * Builds packages/client/src/generated.ts from public/openapi.json: a table of the operations, and
 * the types of the client's methods, with the document's descriptions as comments.
 */
import type { Operation as Known } from "../packages/client/src/operation.ts";
import { CURRENT_VERSION } from "../src/http/versions.ts";
import { capital, document } from "./client/document.ts";
import { type Call, calls, isFile, parameterName } from "./client/operations.ts";
import { nameOf, type Parameter, type Schema } from "./client/schema.ts";
import { comment, fields, indented, typeOf } from "./client/types.ts";
import { write } from "./files.ts";

const all = calls();
const resources = Map.groupBy(all, ({ resource }) => resource);

/**
 * Returns the type of an id in a path. Numbers can also be strings. Editors suggest the aliases.
 */
function pathType({ schema }: Parameter) {
	const alias =
		schema.anyOf?.find((part) => part.const !== undefined)?.const ??
		/@\w+/.exec(schema.pattern ?? "")?.[0];
	const isNumber = schema.type === "integer" || schema.pattern?.includes("\\d");
	const type = alias === undefined ? "string" : `Alias<${JSON.stringify(alias)}>`;
	return isNumber ? `number | ${type}` : type;
}

/**
 * Returns the fields of a call's first argument, without `cursor`, which is only for links to
 * pages.
 */
const parametersOf = ({ operation }: Call) =>
	operation.parameters
		.filter(({ name }) => name !== "cursor")
		.map((parameter) => ({
			name: parameter.in === "path" ? parameterName(parameter.name) : parameter.name,
			description: parameter.description,
			isRequired: parameter.in === "path",
			type: parameter.in === "path" ? pathType(parameter) : queryType(parameter),
		}));

/**
 * Returns the type of a query parameter. For a repeatable choice, a single value is also accepted.
 */
const queryType = ({ schema }: Parameter) =>
	schema.type === "array" ? `${typeOf(schema)} | ${typeOf(schema.items ?? {})}` : typeOf(schema);

const resourceType = (resource: string) => `${capital(resource)}Calls`;

const titleOf = ({ operation }: Call) => capital(operation.operationId);

/** Returns the declaration of a type, an interface if it is an object. */
const declaration = (about: string | undefined, name: string, type: string) =>
	`${comment(about)}export ${type.startsWith("{") ? `interface ${name} ${type}` : `type ${name} = ${type};`}\n`;

/** Returns the declarations of the types of a call's arguments. */
function argumentTypes(call: Call) {
	const parameters = parametersOf(call);
	const { resource, method, body, operation } = call;
	return [
		...(parameters.length > 0
			? [
					declaration(
						`The parameters of \`${resource}.${method}\`.`,
						`${titleOf(call)}Parameters`,
						fields(parameters),
					),
				]
			: []),
		...(body
			? [
					declaration(
						`The body of \`${operation.operationId}\`.`,
						`${titleOf(call)}Body`,
						typeOf(body),
					),
				]
			: []),
	];
}

/** Returns the type of a call's first argument: an object, or the only id in the path. */
function parametersType(call: Call) {
	const ids = parametersOf(call).filter(({ isRequired }) => isRequired);
	const object = `${titleOf(call)}Parameters`;
	return ids.length === 1 ? `${object} | ${ids[0]?.type}` : object;
}

function argumentsOf(call: Call) {
	const parameters = parametersOf(call);
	const isOptional = parameters.every(({ isRequired }) => !isRequired);
	const needsBody = call.operation.requestBody?.required || call.verb === "PATCH";
	return [
		parameters.length > 0 && `parameters${isOptional ? "?" : ""}: ${parametersType(call)}`,
		call.body && `body${needsBody ? "" : "?"}: ${titleOf(call)}Body`,
		"options?: RequestOptions",
	]
		.filter(Boolean)
		.join(", ");
}

function responseOf(call: Call) {
	const { response, receipt, media, item } = call;
	if (isFile(call)) return "Promise<Response>";
	if (receipt) return `Promise<${typeOf(receipt)} | undefined>`;
	if (!response) return "Promise<void>";
	if (media !== "application/json") return "Promise<string>";
	const type = typeOf(response);
	if (!item) return `Promise<${type}>`;
	const isPlain = nameOf(response) === `${nameOf(item)}Page`;
	return `Pages<${typeOf(item)}${isPlain ? "" : `, ${type}`}>`;
}

function methodOf(call: Call) {
	const { summary, description } = call.operation;
	return `${comment(`${summary}.\n\n${description}`)}${call.method}(${argumentsOf(call)}): ${responseOf(call)};`;
}

/** Returns a resource's description, which is the description of its tag. */
const about = ([call]: Call[]) =>
	document.tags.find(({ name }) => name === call?.operation.tags[0])?.description;

/** Returns what the client knows of a call (packages/client/src/operation.ts). */
const recordOf = (call: Call): Known => {
	const { verb, path, item, body, operation } = call;
	return {
		verb,
		path,
		...(body && { hasBody: true }),
		...(item && { isList: true }),
		...(isFile(call) && { isFile: true }),
		...queryOf(call),
		...(verb === "POST" &&
			!operation.security.every((way) => "personal_api_key" in way) && {
				ignoresIdempotencyKey: true,
			}),
	};
};

/** The parameters of all lists, which the client knows (packages/client/src/client.ts). */
const PAGING = ["limit", "offset", "cursor"];

/** Returns the query parameters of a call, of a list without those of all lists. */
function queryOf({ item, operation }: Call) {
	const names = operation.parameters.flatMap(({ in: place, name }) =>
		place === "query" && !(item && PAGING.includes(name)) ? [name] : [],
	);
	return names.length > 0 ? { query: names } : {};
}

const table = Object.fromEntries(
	[...resources].map(([resource, list]) => [
		resource,
		Object.fromEntries(list.map((call) => [call.method, recordOf(call)])),
	]),
);

/** Whether a schema is a page without other fields, for which the client has the type `Page`. */
const isPlainPage = (name: string, { properties = {} }: Schema) =>
	name.endsWith("Page") && Object.keys(properties).join() === "count,next,previous,results";

const text = `// Built by build/client.ts from public/openapi.json. Don't edit it.
import type { Operation } from "./operation.ts";
import type { Alias, Pages, RequestOptions } from "./types.ts";

/** The version of the API that these types describe. */
export const VERSION = ${JSON.stringify(CURRENT_VERSION)};

/** The operations, by resource and method. */
export const OPERATIONS: Record<string, Record<string, Operation>> = ${JSON.stringify(table, null, "\t")};

/** The calls of the API, by resource. */
export abstract class Resources {
${indented([...resources].map(([name, list]) => `${comment(about(list))}declare readonly ${name}: ${resourceType(name)};`).join("\n"))}
}

${[...resources].map(([name, list]) => `${comment(about(list))}export interface ${resourceType(name)} {\n${indented(list.map(methodOf).join("\n\n"))}\n}\n`).join("\n")}
${all.flatMap(argumentTypes).join("\n")}
${Object.entries(document.components.schemas)
	.filter(([name, schema]) => !isPlainPage(name, schema))
	.map(([name, schema]) => declaration(schema.description, name, typeOf(schema)))
	.join("\n")}`;

write("packages/client/src/generated.ts", text);
