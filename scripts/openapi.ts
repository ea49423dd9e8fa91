/**
 * Generates public/openapi.json from the family table and the zod objects that validate requests
 * and responses.
 */
import { writeFileSync } from "node:fs";
import type { RouterRoute } from "hono/types";
import * as z from "zod";
import about from "../package.json" with { type: "json" };
import { families, publicRoutes } from "../src/app.ts";
import { ErrorBody } from "../src/http/errors.ts";
import { descriptionOf, documentedAs, type Operation } from "../src/http/router.ts";
import { VERSIONS } from "../src/http/versions.ts";
import { type ScopeObject, scopeFor } from "../src/tenant/scopes.ts";

type Json = Record<string, unknown>;

const schemas: Json = {};

const toReferences = (schema: unknown): Json =>
	JSON.parse(JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/"));

const isInteger = (value: unknown) => Number.isInteger(value);

/**
 * Marks integers as such, removes the bounds that every safe integer has, and marks 32-bit
 * integers. Strings, which requests accept for integers and booleans (docs/api.md#requests), are
 * left out: a client should send the number.
 */
function describeInteger(schema: z.core.JSONSchema.BaseSchema) {
	const types = [schema.type].flat();
	if (types.includes("integer") && types.includes("string")) {
		schema.type = "integer";
		if (schema.enum) schema.enum = schema.enum.filter(isInteger);
		delete schema.pattern;
	}
	if (types.includes("number") && schema.enum?.every(isInteger)) schema.type = "integer";
	if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
	if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
	if (schema.minimum === -(2 ** 31) && schema.maximum === 2 ** 31 - 1) schema.format = "int32";
}

/**
 * The JSON Schema of `shape`. Shapes with an id go to the components. In a request, objects that
 * aren't strict may have additional fields, and text that can't be blank must have a character that
 * isn't white space.
 */
function schemaOf(shape: z.ZodType, request = false): Json {
	const { $defs, properties } = z.toJSONSchema(z.object({ shape }), {
		override: ({ zodSchema, jsonSchema }) => {
			const as = documentedAs(zodSchema);
			if (as) {
				for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
				Object.assign(jsonSchema, schemaOf(as, request));
			}
			describeInteger(jsonSchema);
			// The format implies zod's pattern. Only for email addresses, zod's pattern accepts less
			// than the format.
			if (jsonSchema.format && !(request && jsonSchema.format === "email"))
				delete jsonSchema.pattern;
			if (Object.keys(jsonSchema.propertyNames ?? {}).join() === "type")
				delete jsonSchema.propertyNames;
			if (!request) return;
			const { def } = zodSchema._zod;
			if (def.type === "object" && !("catchall" in def)) delete jsonSchema.additionalProperties;
			if (jsonSchema.minLength === 1 && !jsonSchema.format) jsonSchema.pattern ??= "\\S";
		},
	});
	Object.assign(schemas, toReferences($defs ?? {}));
	return toReferences(properties?.shape);
}

const content = (schema: Json, media = "application/json") => ({
	content: { [media]: { schema } },
});

const text = (media: string) => content({ type: "string" }, media);

/** An empty body counts as `{}`, so a body is required only if `{}` is invalid. */
function requestBody({ body, lines, form }: Operation) {
	if (body)
		return {
			required: !(documentedAs(body) ?? body).safeParse({}).success,
			content: {
				...content(schemaOf(body, true)).content,
				...(lines && text("application/x-ndjson").content),
			},
		};
	return form && content(schemaOf(form, true), "application/x-www-form-urlencoded");
}

const problem = content(schemaOf(ErrorBody));

const DESCRIPTIONS: Record<number, string> = {
	200: "OK",
	201: "Created",
	204: "Deleted",
	304: "Not modified",
	400: "The request is wrong",
	401: "The key is missing or invalid",
	403: "The key or its owner may not do this",
	404: "Not found",
	409: "Another request is changing the object, or has the same Idempotency-Key",
	410: "The invite has expired",
	412: "The object is not as If-Match says",
	413: "The body is too large",
	415: "The body is not JSON",
	429: "Too many requests",
	503: "Unavailable",
};

/** Whether a route changes one object, so that it takes `If-Match`. */
const changesObject = (method: string, path: string) =>
	method !== "GET" &&
	path.startsWith("/api/") &&
	/\{(?!organization_id|project_id|token)\w+\}(\/\w+)?$/.test(path);

/** Whether a route answers with an `ETag`. */
const hasTag = (method: string, path: string, { answer, media }: Operation) =>
	method === "GET" && path.startsWith("/api/") && (answer ?? media) !== undefined;

const header = (name: string, schema: Json, description: string) => ({
	name,
	in: "header",
	schema,
	description,
});

/** The headers of a request (docs/api.md#headers). */
const headersOf = (method: string, path: string, metadata: Operation) => [
	...(path.startsWith("/api/")
		? [
				header(
					"Tenantry-Version",
					{ type: "string", enum: VERSIONS.map(({ date }) => date) },
					"The version of the API; by default that of the key",
				),
			]
		: []),
	...(path.startsWith("/api/") && method === "POST"
		? [
				header(
					"Idempotency-Key",
					{ type: "string", minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
					"Sent again with the same request, it gets the first response, and nothing is done twice",
				),
			]
		: []),
	...(hasTag(method, path, metadata)
		? [header("If-None-Match", { type: "string" }, "A 304 if the response still has this ETag")]
		: []),
	...(changesObject(method, path)
		? [header("If-Match", { type: "string" }, "A 412 unless the object has this ETag")]
		: []),
];

/** The error responses of a route, as far as its method, path and metadata determine them. */
function errorResponses(
	method: string,
	path: string,
	{ body, form, media }: Operation,
	open: boolean,
) {
	const hasParameters = path.includes("{");
	const page = media === "text/html";
	const statuses = [
		...(path.startsWith("/api/") || method !== "GET" ? [400] : []),
		...(open && (page || !hasParameters) ? [] : [401]),
		...(open && !hasParameters ? [] : [429]),
		...(open ? [] : [403]),
		...(hasParameters ? [404] : []),
		...(path.startsWith("/api/") && (method === "POST" || (hasParameters && method !== "GET"))
			? [409]
			: []),
		...(changesObject(method, path) ? [412] : []),
		...(page ? [410] : []),
		...(body || form ? [413] : []),
		...(body ? [415] : []),
	];
	return Object.fromEntries(
		statuses.map((status) => [
			status,
			{
				description: DESCRIPTIONS[status],
				...(page ? text(media) : problem),
			},
		]),
	);
}

const UUID = { type: "string", format: "uuid" };
const uuidOr = (alias: string) => ({
	type: "string",
	anyOf: [{ format: "uuid" }, { const: alias }],
});
const PROJECT = { type: "string", pattern: "^(\\d{1,15}|@current)$" };

/** The schemas of path parameters. A malformed id is a 404, like an unknown one. */
const PARAMETERS: Record<string, Json> = {
	organization_id: uuidOr("@current"),
	project_id: PROJECT,
	plugin_config_id: { type: "string", pattern: "^\\d{1,15}$" },
	run_id: UUID,
	backfill_id: UUID,
	uuid: uuidOr("@me"),
	user__uuid: uuidOr("@me"),
	user_uuid: UUID,
	token: { type: "string", minLength: 1 },
};

/**
 * The schema of `{id}`, from the `id` in the family's responses. Organizations, projects and keys
 * also accept `@current`.
 */
function idOf(mount: string, answers: z.ZodType[]): Json {
	const [id] = answers.flatMap((answer) => {
		if (!(answer instanceof z.ZodObject)) return [];
		const { id, results } = answer.shape;
		const item = results instanceof z.ZodArray ? results.element : undefined;
		return id ?? (item instanceof z.ZodObject ? item.shape.id : []) ?? [];
	});
	const integer = id instanceof z.ZodNumber;
	if (mount.endsWith("/projects")) return PROJECT;
	if (/\/(organizations|personal_api_keys)$/.test(mount)) return uuidOr("@current");
	return integer ? { type: "integer", minimum: 1 } : UUID;
}

const parameterOf = (name: string, id: Json) => {
	const schema = name === "id" ? id : PARAMETERS[name];
	if (!schema) throw new Error(`PARAMETERS has no schema for {${name}}.`);
	return { name, in: "path", required: true, schema };
};

/**
 * A route of a family requires a key; a public route below /api/ accepts one; the others take none.
 */
function security(path: string, method: string, object?: ScopeObject) {
	if (object) return [{ personal_api_key: [scopeFor(object, method)] }];
	return path.startsWith("/api/") ? [{}, { personal_api_key: [] }] : [];
}

const operation = (
	tag: string,
	method: string,
	path: string,
	metadata: Operation,
	id: Json,
	object?: ScopeObject,
): Json => ({
	summary: metadata.summary,
	operationId: [method.toLowerCase(), ...(path.match(/\w+/g) ?? [])].join("_"),
	tags: [tag],
	security: security(path, method, object),
	parameters: [
		...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => parameterOf(name, id)),
		...Object.entries(metadata.query?.shape ?? {}).map(([name, shape]) => ({
			name,
			in: "query",
			schema: schemaOf(shape, true),
		})),
		...headersOf(method, path, metadata),
	],
	requestBody: requestBody(metadata),
	responses: {
		[metadata.status ?? 200]: {
			description: DESCRIPTIONS[metadata.status ?? 200],
			...(metadata.answer && content(schemaOf(metadata.answer))),
			...(metadata.media && text(metadata.media)),
		},
		...(hasTag(method, path, metadata) && { 304: { description: DESCRIPTIONS[304] } }),
		...Object.fromEntries(
			Object.entries(metadata.also ?? {}).map(([status, answer]) => [
				status,
				{
					description: DESCRIPTIONS[Number(status)],
					...(answer instanceof z.ZodVoid ? {} : content(schemaOf(answer))),
				},
			]),
		),
		...errorResponses(method, path, metadata, object === undefined),
	},
});

const paths: Record<string, Json> = {};

const mounts: [string, ScopeObject | undefined, { routes: RouterRoute[] }][] = [
	...publicRoutes.map(([path, routes]): (typeof mounts)[number] => [path, undefined, routes]),
	...families.map(([path, object, , routes]): (typeof mounts)[number] => [path, object, routes]),
];

for (const [mount, object, { routes }] of mounts) {
	const operations = Map.groupBy(
		routes.filter(({ method }) => method !== "ALL"),
		({ method, path }) =>
			`${method} ${`${mount}${path}`.replace(/\/+/g, "/").replace(/(.)\/$/, "$1")}`,
	);
	const id = idOf(
		mount,
		routes.flatMap(({ handler }) => descriptionOf(handler).answer ?? []),
	);
	for (const [route, handlers] of operations) {
		const [method = "", at = ""] = route.split(" ");
		const path = at.replace(/:(\w+)/g, "{$1}");
		const parts = handlers.map(({ handler }) => descriptionOf(handler));
		const query = z.object(Object.assign({}, ...parts.map((part) => part.query?.shape)));
		const metadata: Operation = Object.assign(
			{},
			...parts,
			Object.keys(query.shape).length > 0 && { query },
		);
		paths[path] = {
			...paths[path],
			[method.toLowerCase()]: operation(
				mount.split("/").at(-1) || "service",
				method,
				path,
				metadata,
				id,
				object,
			),
		};
	}
}

const document = {
	openapi: "3.1.0",
	info: {
		title: "Tenantry",
		version: about.version,
		description: about.description,
	},
	servers: [{ url: "/" }],
	paths,
	components: {
		schemas,
		securitySchemes: {
			personal_api_key: {
				type: "http",
				scheme: "bearer",
				description: "A personal API key with the scopes named",
			},
		},
	},
};

writeFileSync(
	`${import.meta.dirname}/../public/openapi.json`,
	`${JSON.stringify(document, null, 2)}\n`,
);
