/** Writes public/openapi.json, made of the family table and of the zod objects that serve the requests. */
import { writeFileSync } from "node:fs";
import * as z from "zod";
import about from "../package.json" with { type: "json" };
import { families } from "../src/app.ts";
import { needed, type ScopeObject } from "../src/auth/scopes.ts";
import { Problem } from "../src/http/errors.ts";
import { described, type Operation } from "../src/http/router.ts";
import service from "../src/service.ts";

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
const bodySchema = (shape: z.ZodType) => ({
	...schemaOf(shape),
	additionalProperties: true,
});

const content = (schema: Json) => ({
	content: { "application/json": { schema } },
});

const problem = content(schemaOf(Problem));

/** Every refusal that a route can answer with. */
const refusals = (
	method: string,
	path: string,
	{ body, query }: Operation,
	open: boolean,
) =>
	Object.fromEntries(
		[
			{
				status: 400,
				description: "The request is wrong",
				may: method !== "GET" || query !== undefined,
			},
			{ status: 401, description: "The key is missing or bad", may: !open },
			{
				status: 403,
				description: "The key or its owner may not do this",
				may: !open,
			},
			{
				status: 404,
				description: "There is no such object",
				may: path.includes("{"),
			},
			{
				status: 413,
				description: "The body is too large",
				may: method !== "GET",
			},
			{
				status: 415,
				description: "The body is not JSON",
				may: body !== undefined,
			},
			{ status: 429, description: "Too many requests", may: !open },
		].flatMap(({ status, description, may }) =>
			may ? [[status, { description, ...problem }]] : [],
		),
	);

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
	...(says.body && { requestBody: content(bodySchema(says.body)) }),
	responses: {
		[says.status ?? 200]: {
			description: "Done",
			...(says.answer && content(schemaOf(says.answer))),
		},
		...refusals(method, path, says, object === undefined),
	},
});

const paths: Record<string, Json> = {};

for (const [mount, object, , { routes }] of [
	["", undefined, undefined, service] as const,
	...families,
]) {
	const operations = Map.groupBy(
		routes.filter(({ method }) => method !== "ALL"),
		({ method, path }) =>
			`${method} ${mount}${path === "/" && mount ? "" : path}`,
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
