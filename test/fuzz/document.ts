/** The OpenAPI document as Schemathesis is given it: the one that is served, with ids that exist and what is lenient. */
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

/** `value` with `change` made to each object in it, from the inside out. */
function map(value: unknown, change: (object: Json) => Json): unknown {
	if (Array.isArray(value)) return value.map((item) => map(item, change));
	if (!isObject(value)) return value;
	return change(
		Object.fromEntries(
			Object.entries(value).map(([key, inner]) => [key, map(inner, change)]),
		),
	);
}

/** The ids that an operation may be asked for. What deletes, or ends a key, takes those that nothing else needs. */
function idsOf(world: World, method: string, path: string): Json {
	const ends = method === "delete" || path.endsWith("/roll");
	const below = path.replace(
		/^\/api\/(organizations|projects)\/\{\w+_id\}/,
		"",
	);
	const ids: [prefix: string, used: unknown[], spare: unknown[]][] = [
		[
			"/api/organizations",
			[world.organization, "@current", world.strangers],
			world.organizations,
		],
		[
			"/api/projects",
			[String(world.project), "@current"],
			world.projects.map(String),
		],
		[
			"/api/personal_api_keys",
			method === "get" ? [world.current, "@current"] : world.keys,
			world.keys,
		],
		["/batch_exports", world.exports, world.spareExports],
		["/domains", world.domains.slice(0, 1), world.domains.slice(1)],
		["/invites", [], world.invites.map(({ id }) => id)],
		...Object.entries(world.plugins).map(
			([family, id]): (typeof ids)[number] => [`/${family}`, [id], []],
		),
		["/plugin_configs", world.configs, []],
	];
	const [, used = [], spare = []] =
		ids.find(([prefix]) => below.startsWith(`${prefix}/`)) ?? [];
	const [pending, ...spareTokens] = world.invites.map(({ token }) => token);
	return {
		id: ends ? spare : used,
		organization_id: [world.organization, "@current", world.strangers],
		project_id: [String(world.project), "@current"],
		plugin_config_id: world.configs.map(String),
		run_id: world.runs,
		backfill_id: [world.backfill],
		uuid: ["@me"],
		user__uuid: ends ? world.spareMembers : [world.member, "@me"],
		user_uuid: [world.member],
		token: method === "get" ? [pending] : spareTokens,
	};
}

/** Values of fields that are checked against what is there, or read as a language. */
const valuesOf = (world: World): Json => ({
	plugin: Object.values(world.plugins),
	user_uuid: [world.member, ...world.spareMembers],
	organization: [world.organization, world.second],
	project: [world.project],
	timezone: ["UTC", "Europe/Berlin", "america/new_york"],
	// Backfills begin there: of a few windows, not of millions.
	start_at: [null, world.since],
	last_paused_at: [null, world.since],
	xql_query: [
		null,
		"SELECT event, toString(properties.$browser) AS browser FROM events",
	],
});

const BOOLEAN = "^\\s*(?i:true|false|1|0|yes|no|on|off)\\s*$";

/**
 * The document names the type that a client should send. The service takes more (behaviour 1.3): booleans and
 * integers as text.
 */
function lenient(schema: Json): Json {
	const types = [schema.type].flat();
	const orText = (text: Json) => ({
		anyOf: [schema, { type: "string", ...text }],
	});
	if (types.includes("string")) return schema;
	if (types.includes("boolean")) return orText({ pattern: BOOLEAN });
	if (!types.includes("integer")) return schema;
	if (Array.isArray(schema.enum))
		return orText({ enum: schema.enum.map(String) });
	return orText({
		pattern: Number(schema.minimum) > 0 ? "^[1-9]\\d{0,3}$" : "^-?\\d{1,4}$",
	});
}

/** Parameters that fall back to a default, whatever they hold (behaviour 1.5 and 6). */
const NEVER_REFUSED = ["limit", "offset", "cursor", "order"];

/** What is asked for, where the document leaves a choice among ids; what is sent, as the service takes it. */
export function judged(document: unknown, world: World): Json {
	const values = valuesOf(world);
	const known = (schema: Json): Json => {
		const { properties } = schema;
		if (!isObject(properties)) return lenient(schema);
		return {
			...schema,
			properties: Object.fromEntries(
				Object.entries(properties).map(([name, field]) => [
					name,
					values[name] ? { enum: values[name] } : field,
				]),
			),
		};
	};
	const requests = (value: unknown) =>
		map(value, (schema) =>
			typeof schema.$ref === "string"
				? { $ref: `${schema.$ref}Request` }
				: known(schema),
		);
	const parameter = (ids: Json) => (given: Json) => {
		const name = String(given.name);
		if (given.in === "path" && Array.isArray(ids[name]) && ids[name].length > 0)
			return { ...given, schema: { enum: ids[name] } };
		return NEVER_REFUSED.includes(name)
			? { ...given, schema: { anyOf: [given.schema, { type: "string" }] } }
			: given;
	};
	const { paths, components, ...rest } = Document.parse(document);
	const { schemas } = components;
	return {
		...rest,
		components: {
			...components,
			schemas: {
				...schemas,
				...Object.fromEntries(
					Object.entries(schemas).map(([name, schema]) => [
						`${name}Request`,
						requests(schema),
					]),
				),
			},
		},
		paths: Object.fromEntries(
			Object.entries(paths).map(([path, methods]) => [
				path,
				Object.fromEntries(
					Object.entries(methods).map(([method, operation]) => {
						const { parameters, requestBody } = operation;
						const ids = idsOf(world, method, path);
						return [
							method,
							{
								...operation,
								parameters: parameters.map(parameter(ids)),
								...(requestBody && { requestBody: requests(requestBody) }),
							},
						];
					}),
				),
			]),
		),
	};
}
