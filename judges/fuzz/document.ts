/**
 * Adapts the OpenAPI document for Schemathesis: adds ids that exist, and the other forms of values
 * that requests accept.
 */
import * as z from "zod";
import type { World } from "./world.ts";

type Json = { [key: string]: unknown };

const JsonObject = z.record(z.string(), z.unknown());

const Document = z.looseObject({
	paths: z.record(
		z.string(),
		z.record(
			z.string(),
			z.looseObject({
				parameters: z.array(JsonObject),
				requestBody: JsonObject.optional(),
			}),
		),
	),
	components: z.looseObject({ schemas: z.record(z.string(), JsonObject) }),
});

const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Applies `change` to each object in `value`, innermost first. */
function map(value: unknown, change: (object: Json) => Json): unknown {
	if (Array.isArray(value)) return value.map((item) => map(item, change));
	if (!isObject(value)) return value;
	return change(
		Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, map(inner, change)])),
	);
}

/**
 * The ids to use for an operation's path. Operations that delete or disable an object get spare
 * ones.
 */
function idsOf(world: World, method: string, path: string): { [name: string]: unknown[] } {
	const isDestructive =
		method === "delete" ||
		path.endsWith("/roll") ||
		// Changing a plugin's type would make other operations on it fail.
		(method === "patch" && /\/pipeline_\w+\/\{id\}$/.test(path));
	// The last part of the path that has objects.
	const endOf = (part: string) => path.lastIndexOf(`${part}/`) + part.length;
	const parts = Object.keys(world.objects).filter((part) => path.includes(`${part}/`));
	const part = parts.sort((a, b) => endOf(a) - endOf(b)).at(-1) ?? "";
	const { used = [], spare = [] } = world.objects[part] ?? {};
	const [pending, accepted, ...onThePage] = world.tokens;
	return {
		id: isDestructive ? spare : used,
		organization_id: [world.organization, "@current", world.strangers],
		project_id: [String(world.project), "@current"],
		plugin_config_id: world.configs.map(String),
		service_account_id: [world.account],
		domain_id: world.objects["/domains"]?.used ?? [],
		token_id: [crypto.randomUUID()],
		group_id: [crypto.randomUUID()],
		run_id: world.runs,
		backfill_id: [world.backfill],
		uuid: ["@me"],
		user__uuid: isDestructive ? world.spareMembers : [world.member, "@me"],
		user_uuid: [world.member],
		token: {
			get: [pending],
			post: path.startsWith("/api/") ? [accepted] : onThePage,
		}[method] ?? [pending],
	};
}

const oneOf = (...values: unknown[]): Json => ({ enum: values });
const listOf = (...values: unknown[]): Json => ({
	type: "array",
	items: { enum: values },
	maxItems: 100,
});

/** A few destinations, for operations that ignore them: all combinations would be too many. */
const SOME_DESTINATION = oneOf({}, { type: "NoOp" });

/** Schemas, by name, for fields that refer to existing objects or are parsed. */
const fieldsOf = (world: World, path: string): { [name: string]: Json } => ({
	plugin: oneOf(...Object.values(world.plugins)),
	user_uuid: oneOf(world.member, ...world.spareMembers),
	recipients: oneOf("admins", [], [world.member]),
	organization: oneOf(world.organization, world.second),
	project: oneOf(world.project),
	scoped_organizations: listOf(world.organization, world.second),
	scoped_projects: listOf(world.project),
	projects: listOf(world.project),
	allowed_ips: {
		...listOf("203.0.113.0/24", "2001:db8::/32", "::ffff:192.0.2.7"),
		maxItems: 50,
	},
	timezone: oneOf("UTC", "Europe/Berlin", "america/new_york"),
	// So that backfills have a few windows, not millions.
	start_at: oneOf(null, world.since),
	last_paused_at: oneOf(null, world.since),
	xql_query: oneOf(null, "SELECT event, toString(properties.$browser) AS browser FROM events"),
	...(path.endsWith("/job") && { type: oneOf("go") }),
	...(/\/(backfill|pause|unpause)$/.test(path) && {
		destination: SOME_DESTINATION,
	}),
});

const BOOLEAN = "^\\s*(?i:true|false|1|0|yes|no|on|off)\\s*$";

/**
 * Adds the forms that requests accept beyond the documented type (docs/api.md#requests): booleans
 * and integers as text.
 */
function lenient(schema: Json): Json {
	const types = [schema.type].flat();
	const orText = (text: Json) => ({
		anyOf: [schema, { type: "string", ...text }],
	});
	if (types.includes("string")) return schema;
	if (types.includes("boolean")) return orText({ pattern: BOOLEAN });
	if (!types.includes("integer")) return schema;
	if (Array.isArray(schema.enum)) return orText({ enum: schema.enum.map(String) });
	const least = Number(schema.minimum);
	const more = least > 1 ? String(least).length : 0;
	return orText({ pattern: least > 0 ? `^[1-9]\\d{${more},3}$` : "^-?\\d{1,4}$" });
}

/** Parameters whose invalid values get a default (docs/api.md#pages). */
const NEVER_REFUSED = ["limit", "offset", "cursor", "order"];

/** Replaces the schemas of `fields` in a request, and adds the other forms of values. */
const inRequest = (value: unknown, fields: { [name: string]: Json }) =>
	map(value, (schema) => {
		const { $ref, properties } = schema;
		if (typeof $ref === "string") return { $ref: `${$ref}Request` };
		if (!isObject(properties)) return lenient(schema);
		const named = Object.entries(properties).map(([name, field]) => [name, fields[name] ?? field]);
		return { ...schema, properties: Object.fromEntries(named) };
	});

/**
 * Sets the fields in an example that refer to objects, or depend on the time, to those of `fields`.
 */
const exampleFor = (example: unknown, fields: { [name: string]: Json }) =>
	map(example, (object) =>
		mapValues(object, (value, name) => {
			const choices = fields[name]?.enum;
			return Array.isArray(choices) ? (choices[0] ?? value) : value;
		}),
	);

/** The body of a request: its schemas and examples. */
const requestOf = (body: Json, fields: { [name: string]: Json }) => ({
	...body,
	content: mapValues(JsonObject.parse(body.content), (media, type) => {
		const { schema, example } = JsonObject.parse(media);
		return {
			schema: inRequest(schema, fields),
			...(type === "application/json" && { example: exampleFor(example, fields) }),
		};
	}),
});

/** Responses without examples, whose ids don't exist here. */
const withoutExamples = (responses: unknown) => map(responses, ({ example: _, ...rest }) => rest);

const mapValues = <T, R>(
	object: { [key: string]: T },
	change: (value: T, key: string) => R,
): { [key: string]: R } =>
	Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

/**
 * The document for Schemathesis. Requests refer to copies of the components' schemas, so that
 * responses stay strict.
 */
export function judged(document: unknown, world: World): Json {
	const { paths, components, ...rest } = Document.parse(document);
	const requestSchemas = Object.entries(components.schemas).map(([name, schema]) => [
		`${name}Request`,
		inRequest(schema, {}),
	]);
	return {
		...rest,
		components: {
			...components,
			schemas: { ...components.schemas, ...Object.fromEntries(requestSchemas) },
		},
		paths: mapValues(paths, (methods, path) =>
			mapValues(methods, ({ requestBody, ...operation }, method) => ({
				...operation,
				// A key would have to belong to the invited user.
				...(path.endsWith("/accept") && { security: [] }),
				parameters: operation.parameters.map(({ example, ...parameter }) => {
					const name = String(parameter.name);
					const ids = idsOf(world, method, path)[name] ?? [];
					if (parameter.in === "path" && ids.length > 0)
						return { ...parameter, schema: { enum: ids }, example: ids[0] };
					// Other ETags don't match, and the request would do nothing.
					if (name === "If-Match") return { ...parameter, schema: { enum: ["*"] } };
					if (parameter.in === "header") return parameter;
					const anything = { anyOf: [parameter.schema, { type: "string" }] };
					const schema = NEVER_REFUSED.includes(name) ? anything : parameter.schema;
					return { ...parameter, schema, ...(example !== undefined && { example }) };
				}),
				...(requestBody && {
					requestBody: requestOf(requestBody, fieldsOf(world, path)),
				}),
				responses: withoutExamples(operation.responses),
			})),
		),
	};
}
