/** The parameters of operations. */
import * as z from "zod";
import { uuidOr } from "../../src/http/fields.ts";
import { organizationId } from "../../src/organizations/organizations/shape.ts";
import { projectId } from "../../src/organizations/projects/shape.ts";
import { parameterExample } from "./examples.ts";
import { requestHeadersOf } from "./headers.ts";
import type { Route } from "./route.ts";
import { schemaOf } from "./schemas.ts";

/** The parameters in the paths of families. A malformed id returns 404, like an unknown id. */
const MOUNTED: Record<string, z.ZodType> = {
	organization_id: organizationId,
	project_id: projectId,
	domain_id: z.guid().describe("The domain's id."),
	service_account_id: z.guid().describe("The service account's id."),
	uuid: uuidOr("@me").describe("Your user's uuid, or `@me`."),
	user__uuid: uuidOr("@me").describe("The uuid of the member's user, or `@me` for yourself."),
};

/** Returns the description and the schema of a parameter. Those in a path aren't validated. */
function described(name: string, shape: z.ZodType | undefined, route: Route, isValidated: boolean) {
	const { description, ...schema } = shape ? schemaOf(shape, isValidated) : {};
	if (!description) throw new Error(`${route.id}: the parameter ${name} has no description.`);
	return { description, schema };
}

function pathParameter(name: string, route: Route) {
	const shape = route.section.parameters?.[name] ?? MOUNTED[name];
	return { name, in: "path", required: true, ...described(name, shape, route, false) };
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
