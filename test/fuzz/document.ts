/** The OpenAPI document as Schemathesis is given it: the one that is served, with ids that exist and what is lenient. */
import type { World } from "./world.ts";

type Json = { [key: string]: unknown };

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
	xql_query: [
		null,
		"SELECT event, toString(properties.$browser) AS browser FROM events",
	],
});

const BOOLEANS = ["true", "false", "1", "0", "yes", "no", "on", "off"];

/**
 * The document names the type that a client should send. The service takes more (behaviour 1.3): booleans and
 * integers as text. Paging and the order of members fall back to a default whatever they hold (behaviour 1.5 and 6).
 */
function lenient(schema: Json): Json {
	const types = [schema.type].flat();
	if (types.includes("boolean"))
		return {
			anyOf: [
				schema,
				{ type: "string", pattern: `^\\s*(?i:${BOOLEANS.join("|")})\\s*$` },
			],
		};
	if (types.includes("integer"))
		return {
			anyOf: [schema, { type: "string", pattern: "^\\s*[+-]?\\d+\\s*$" }],
		};
	return schema;
}

const NEVER_REFUSED = ["limit", "offset", "cursor", "order"];

/** What is asked for, where the document leaves a choice among ids; what is sent, as the service takes it. */
export function judged(document: Json, world: World): Json {
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
	const parameter = (ids: Json) => (given: unknown) => {
		if (!isObject(given)) return given;
		const name = String(given.name);
		if (given.in === "path" && Array.isArray(ids[name]) && ids[name].length > 0)
			return { ...given, schema: { enum: ids[name] } };
		return NEVER_REFUSED.includes(name)
			? { ...given, schema: { anyOf: [given.schema, { type: "string" }] } }
			: given;
	};
	const paths = isObject(document.paths) ? document.paths : {};
	return {
		...document,
		paths: Object.fromEntries(
			Object.entries(paths).map(([path, methods]) => [
				path,
				Object.fromEntries(
					Object.entries(isObject(methods) ? methods : {}).map(
						([method, operation]) => {
							if (!isObject(operation)) return [method, operation];
							const { parameters = [], requestBody } = operation;
							return [
								method,
								{
									...operation,
									parameters: [parameters]
										.flat()
										.map(parameter(idsOf(world, method, path))),
									...(requestBody !== undefined && {
										requestBody: map(requestBody, known),
									}),
								},
							];
						},
					),
				),
			]),
		),
	};
}
