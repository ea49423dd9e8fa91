/**
 * Builds public/openapi.json from the table of families, and the zod schemas and descriptions of
 * their routes. Also builds public/operations.json, the index of operations that the worker reads
 * (src/mcp/server/operations.ts).
 */
import type { RouterRoute } from "hono/types";
import about from "../package.json" with { type: "json" };
import { needOf } from "../src/access/middleware.ts";
import { type ScopeObject, scopeFor } from "../src/access/scopes.ts";
import { families, publicRoutes } from "../src/app.ts";
import { SERVER } from "../src/docs/service.ts";
import {
	type Operation,
	operationOf,
	queryOf,
	type Section,
	sectionOf,
} from "../src/http/router.ts";
import { loadRoutes, type Row } from "../src/mount.ts";
import { write } from "./files.ts";
import { headers } from "./openapi/headers.ts";
import { parametersOf } from "./openapi/parameters.ts";
import { requestBody, responses, responsesOf } from "./openapi/responses.ts";
import { needsKey, takesKey } from "./openapi/route.ts";
import { type Json, schemas, undescribed } from "./openapi/schemas.ts";
import { fail } from "./run.ts";

const rows: Row[] = [...families, ...publicRoutes];

const all = await Promise.all(
	rows.map(async (row) => {
		const router = await loadRoutes(row);
		const section = sectionOf(router);
		if (!section) throw new Error(`The router of ${row.path} has no description.`);
		/** The object of the scopes, such as `project`; undefined for routes that need no key. */
		const object = "object" in row ? row.object : undefined;
		const access = "access" in row ? row.access : undefined;
		return { mount: row.path, object, access, routes: router.routes, section };
	}),
);

type Family = (typeof all)[number];

/**
 * Returns the security of a route. Routes of families require a key. For others, it is optional or
 * not accepted.
 */
function security(
	path: string,
	method: string,
	object: ScopeObject | undefined,
	own: Operation["scope"],
) {
	if (object) return [{ personal_api_key: [scopeFor(object, method, own)] }];
	if (!takesKey({ open: true, path })) return [];
	return [...(needsKey(path) ? [] : [{}]), { personal_api_key: [] }];
}

/** Returns the level and the access that a route requires, unless it accepts any key. */
function accessOf({ access, routes }: Family, method: string, handlers: RouterRoute[]) {
	const shared = routes.filter((route) => route.method === "ALL");
	const own = (name: "level" | "need") =>
		[...shared, ...handlers].flatMap(({ handler }) =>
			name in handler ? [Reflect.get(handler, name)] : [],
		);
	const level = own("level").at(-1);
	const resource = access?.resource;
	if (level === undefined && resource === undefined) return undefined;
	return { level, resource, access_level: resource && (own("need").at(-1) ?? needOf(method)) };
}

function merge(handlers: RouterRoute[]): Operation {
	const operation = operationOf(handlers);
	const query = queryOf(operation);
	return { ...operation, ...(query && { query }) };
}

function documentedOperation(
	family: Family,
	method: string,
	below: string,
	handlers: RouterRoute[],
) {
	const { mount, object, section } = family;
	const path = pathOf(family, below);
	const operation = merge(handlers);
	const { id, summary, description, errors } = operation;
	if (id === undefined) throw new Error(`${method} ${path} has no description.`);
	const open = object === undefined;
	const route = { id, method, section, mount, below, path, operation, open };
	return {
		operationId: id,
		summary,
		description,
		tags: [section.name],
		security: security(path, method, object, operation.scope),
		"x-access": accessOf(family, method, handlers),
		parameters: parametersOf(route),
		requestBody: requestBody(route),
		responses: responsesOf(route, errors),
	};
}

/** Returns the path of a route in the form of the document. */
const pathOf = ({ mount }: Family, below: string) =>
	`${mount}${below}`
		.replace(/\/+/g, "/")
		.replace(/(.)\/$/, "$1")
		.replace(/:(\w+)/g, "{$1}");

const paths: Record<string, Json> = {};

/** The index: operations that accept a key. */
const index: object[] = [];

/**
 * Returns the names of the fields of a schema, with dots between nested ones: `projects.level` also
 * is the level of each item of a list.
 */
function fieldsOf(schema: unknown, path: string[] = []): string[] {
	if (!(schema instanceof Object)) return [];
	if ("items" in schema) return fieldsOf(schema.items, path);
	const fields = "properties" in schema ? Object.entries<object>(Object(schema.properties)) : [];
	return fields.flatMap(([name, field]) => {
		if ("readOnly" in field) return [];
		const names = [...path, name];
		return [names.join("."), ...fieldsOf(field, names)];
	});
}

function entryOf(method: string, path: string, scope: string, operation: Documented) {
	const { operationId, summary, description, tags, parameters, requestBody } = operation;
	const schema = requestBody?.content["application/json"]?.schema;
	const fields = fieldsOf(schema);
	const isIgnored = fields.length === 0 && schema !== undefined && "properties" in schema;
	const names = (place: string) =>
		parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
	return {
		operationId,
		summary,
		description,
		tag: tags[0],
		method,
		path,
		scope,
		query: names("query"),
		body: requestBody !== undefined && !isIgnored,
		fields,
	};
}

type Documented = ReturnType<typeof documentedOperation>;

for (const family of all) {
	const operations = Map.groupBy(
		family.routes.filter(({ method }) => method !== "ALL"),
		({ method, path }) => `${method} ${path}`,
	);
	for (const [route, handlers] of operations) {
		const [method = "", below = ""] = route.split(" ");
		const path = pathOf(family, below);
		const operation = documentedOperation(family, method, below, handlers);
		paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
		const { object } = family;
		// A model has no use for the bytes of a file.
		if (object && !merge(handlers).file)
			index.push(entryOf(method, path, scopeFor(object, method, merge(handlers).scope), operation));
	}
}

const tagOf = ({ name, description }: Section) => ({ name, description });

const document = {
	openapi: "3.1.0",
	info: {
		title: "Tenantry",
		version: about.version,
		description: about.description,
		contact: { name: "Tenantry's documentation", url: "/docs" },
		license: { name: about.license, identifier: about.license },
	},
	servers: [{ url: SERVER }],
	tags: [...new Map(all.map(({ section }) => [section.name, tagOf(section)])).values()],
	paths,
	components: {
		schemas,
		responses,
		headers,
		securitySchemes: {
			personal_api_key: {
				type: "http",
				scheme: "bearer",
				description: "A personal API key with the scopes named",
			},
		},
	},
};

const lacking = [
	...Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name)),
	...Object.entries(paths).flatMap(([path, methods]) => undescribed(methods, path)),
];
if (lacking.length > 0) fail(`These fields have no description:\n${lacking.join("\n")}`);

write("public/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
write(
	"public/operations.json",
	`[\n${index.map((entry) => JSON.stringify(entry)).join(",\n")}\n]\n`,
);
