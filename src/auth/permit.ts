import { forbidden, type Refusal } from "../http/errors.ts";
import type { Key } from "./keys.ts";
import { grants, type Scope } from "./scopes.ts";

/** Where a request wants to go, as far as it is known. */
export type Place = {
	kind: "caller" | "organization" | "project";
	organization?: string | null;
	project?: number | null;
};

/** The refusal of a `key` that lacks `scope`, or is restricted away from `place` (behaviour 2). */
export function denial(
	key: Key,
	scope: Scope,
	{ kind, organization, project }: Place,
): Refusal | undefined {
	if (!grants(key.scopes, scope))
		return forbidden(`API key missing required scope '${scope}'`);
	if (kind === "organization" && key.projects.length > 0)
		return forbidden(
			"API keys with scoped projects are only supported on project-based endpoints.",
		);
	if (
		organization &&
		key.organizations.length > 0 &&
		!key.organizations.includes(organization)
	)
		return forbidden(
			`API key does not have access to the requested organization: ID ${organization}.`,
		);
	if (project && key.projects.length > 0 && !key.projects.includes(project))
		return forbidden(
			`API key does not have access to the requested project: ID ${project}.`,
		);
}
