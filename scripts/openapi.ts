/** Writes public/openapi.json, made of the family table and of the zod objects that serve the requests. */
import { writeFileSync } from "node:fs";
import type { RouterRoute } from "hono/types";
import * as z from "zod";
import about from "../package.json" with { type: "json" };
import { families, open } from "../src/app.ts";
import { needed, type ScopeObject } from "../src/auth/scopes.ts";
import { Problem } from "../src/http/errors.ts";
import { described, type Operation } from "../src/http/router.ts";

type Json = Record<string, unknown>;

const schemas: Json = {};

const refer = (schema: unknown): Json =>
	JSON.parse(
		JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/"),
	);

/** The JSON Schema of `shape`; what has a name of its own goes to the components. */
function schemaOf(shape: z.ZodType): Json {
	const { $defs, properties } = z.toJSONSchema(z.object({ shape }), {
		// The format says it; the pattern is only how zod checks it.
		override: ({ jsonSchema }) => {
			if (jsonSchema.format) delete jsonSchema.pattern;
		},
	});
	Object.assign(schemas, refer($defs ?? {}));
	return refer(properties?.shape);
}

/** Bodies may carry more than is read. */
const bodySchema = (shape: z.ZodType) => {
	const schema = schemaOf(shape);
	return schema.type === "object"
		? { ...schema, additionalProperties: true }
		: schema;
};

const content = (schema: Json) => ({
	content: { "application/json": { schema } },
});

const requestBody = (shape: z.ZodType, lines = false) => {
	const { content: json } = content(bodySchema(shape));
	return {
		content: { ...json, ...(lines && text("application/x-ndjson").content) },
	};
};

const problem = content(schemaOf(Problem));

const text = (media: string) => ({
	content: { [media]: { schema: { type: "string" } } },
});

const REFUSALS: Record<number, string> = {
	400: "The request is wrong",
	401: "The key is missing or bad",
	403: "The key or its owner may not do this",
	404: "There is no such object",
	409: "Other requests are changing the object at the same time",
	410: "The object is no longer to be had",
	413: "The body is too large",
	415: "The body is not JSON",
	429: "Too many requests",
};

/** Every refusal that a route can answer with, but for those of its own. */
function refusals(
	method: string,
	path: string,
	{ body, query, media }: Operation,
	open: boolean,
) {
	const names = path.includes("{");
	const page = media === "text/html";
	const statuses = [
		...(method !== "GET" || query ? [400] : []),
		...(names || !open ? [401, 429] : []),
		...(open ? [] : [403]),
		...(names ? [404] : []),
		...(names && !open && method !== "GET" ? [409] : []),
		...(page ? [410, 413] : []),
		...(body ? [413, 415] : []),
	];
	return Object.fromEntries(
		statuses.map((status) => [
			status,
			{ description: REFUSALS[status], ...(page ? text(media) : problem) },
		]),
	);
}

const operation = (
	tag: string,
	method: string,
	path: string,
	says: Operation,
	object?: ScopeObject,
): Json => ({
	summary: says.summary,
	operationId: [method.toLowerCase(), ...(path.match(/\w+/g) ?? [])].join("_"),
	tags: [tag],
	security: object ? [{ personal_api_key: [needed(object, method)] }] : [],
	parameters: [
		...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
			name,
			in: "path",
			required: true,
			schema: { type: "string" },
		})),
		...Object.entries(says.query?.shape ?? {}).map(([name, shape]) => ({
			name,
			in: "query",
			schema: schemaOf(shape),
		})),
	],
	...(says.body && { requestBody: requestBody(says.body, says.lines) }),
	responses: {
		[says.status ?? 200]: {
			description: "Done",
			...(says.answer && content(schemaOf(says.answer))),
			...(says.media && text(says.media)),
		},
		...Object.fromEntries(
			Object.entries(says.also ?? {}).map(([status, answer]) => [
				status,
				{ description: "Not as it should be", ...content(schemaOf(answer)) },
			]),
		),
		...refusals(method, path, says, object === undefined),
	},
});

const paths: Record<string, Json> = {};

const mounts: [string, ScopeObject | undefined, { routes: RouterRoute[] }][] = [
	...open.map(([path, routes]): (typeof mounts)[number] => [
		path,
		undefined,
		routes,
	]),
	...families.map(([path, object, , routes]): (typeof mounts)[number] => [
		path,
		object,
		routes,
	]),
];

for (const [mount, object, { routes }] of mounts) {
	const operations = Map.groupBy(
		routes.filter(({ method }) => method !== "ALL"),
		({ method, path }) =>
			`${method} ${`${mount}${path}`.replace(/\/+/g, "/").replace(/(.)\/$/, "$1")}`,
	);
	for (const [route, handlers] of operations) {
		const [method = "", at = ""] = route.split(" ");
		const path = at.replace(/:(\w+)/g, "{$1}");
		const parts = handlers.map(({ handler }) => described(handler));
		const query = z.object(
			Object.assign({}, ...parts.map((part) => part.query?.shape)),
		);
		const says: Operation = Object.assign(
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
				says,
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
