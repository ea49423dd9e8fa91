/** The parameters of operations. */
import * as z from "zod";
import { descriptionOfField } from "../../src/http/openapi.ts";
import type { Operation } from "../../src/http/router.ts";
import { parameterExample } from "./examples.ts";
import { requestHeadersOf } from "./headers.ts";
import type { Route } from "./route.ts";
import { type Json, paging, schemaOf } from "./schemas.ts";

const UUID = { type: "string", format: "uuid" };
const uuidOr = (alias: string) => ({
	type: "string",
	anyOf: [{ format: "uuid" }, { const: alias }],
});
const PROJECT = { type: "string", pattern: "^(\\d{1,15}|@current)$" };

/** The parameters in paths. A malformed id returns 404, like an unknown id. */
const PARAMETERS: Record<string, [schema: Json, description: string]> = {
	organization_id: [
		uuidOr("@current"),
		"The organization's id, or `@current` for your current one.",
	],
	project_id: [PROJECT, "The project's id, or `@current` for your current one."],
	domain_id: [UUID, "The domain's id."],
	service_account_id: [UUID, "The service account's id."],
	uuid: [uuidOr("@me"), "Your user's uuid, or `@me`."],
	user__uuid: [uuidOr("@me"), "The uuid of the member's user, or `@me` for yourself."],
};

/** The parameter `{id}` by the last segment of the family's path. */
const IDS: Record<string, [schema: Json, description: string]> = {
	organizations: [uuidOr("@current"), "The organization's id, or `@current` for your current one."],
	projects: [PROJECT, "The project's id, or `@current` for your current one."],
	personal_api_keys: [uuidOr("@current"), "The key's id, or `@current` for the one in use."],
	trusted_issuers: [UUID, "The trusted issuer's id."],
};

/** Returns the description and the schema of a parameter. Those in a path aren't validated. */
function described(name: string, shape: z.ZodType, route: Route, isValidated: boolean) {
	const { description, ...schema } = schemaOf(shape, isValidated);
	const old = route.operation.query && descriptionOfField(name, route.operation.query);
	if (!description && !old) throw new Error(`${route.id}: the parameter ${name} has no text.`);
	return { description: description ?? old, schema };
}

function pathParameter(name: string, route: Route) {
	const parameter = { name, in: "path", required: true };
	const shape = route.section.parameters?.[name];
	if (shape) return { ...parameter, ...described(name, shape, route, false) };
	const known = name === "id" ? IDS[route.mount.split("/").at(-1) ?? ""] : PARAMETERS[name];
	if (!known) throw new Error(`${route.id}: the parameter ${name} has no text.`);
	const [schema, description] = known;
	return { ...parameter, description, schema };
}

/** Returns the query parameters of an operation: those of a page, then its own. */
export function queryOf({ query, page, feed }: Operation): z.ZodObject | undefined {
	if (page) return z.object({ ...paging.shape, ...query?.shape });
	return feed ? z.object({ limit: paging.shape.limit, ...query?.shape }) : query;
}

/** Returns the parameters of an operation in the path, the query and the headers. */
export function parametersOf(route: Route) {
	const ofPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) =>
		pathParameter(name, route),
	);
	const ofQuery = Object.entries<z.ZodType>(route.operation.query?.shape ?? {}).map(
		([name, shape]) => ({ name, in: "query", ...described(name, shape, route, true) }),
	);
	return [
		...[...ofPath, ...ofQuery].map((parameter) => ({
			...parameter,
			...parameterExample(route.id, parameter),
		})),
		...requestHeadersOf(route),
	];
}
