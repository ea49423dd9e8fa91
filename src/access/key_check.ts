import { type ApiError, forbidden, insufficientScope } from "../http/errors.ts";
import type { Key } from "../keys/keys.ts";
import { ANY_KEY, hasScope, type Scope } from "./scopes.ts";
import type { Target } from "./target.ts";

/**
 * Returns the error to throw if the key lacks the scope, or may not act in this organization or
 * project.
 */
export function checkKey(
	key: Key,
	scope: Scope | typeof ANY_KEY,
	{ kind, organization, project }: Target,
): ApiError | undefined {
	if (scope !== ANY_KEY && !hasScope(key.scopes, scope)) return insufficientScope(scope);
	if (kind === "organization" && key.projects.length > 0)
		return forbidden(
			"API keys with scoped projects are only supported on project-based endpoints.",
		);
	// The key couldn't access the object that it created.
	const [named, restricted] =
		kind === "project" ? [project, key.projects] : [organization, key.organizations];
	if (named === undefined && scope === `${kind}:write` && restricted.length > 0)
		return forbidden(`API keys with scoped ${kind}s can't create ${kind}s.`);
	if (
		typeof organization === "string" &&
		organization !== "@current" &&
		key.organizations.length > 0 &&
		!key.organizations.includes(organization)
	)
		return forbidden(
			`API key does not have access to the requested organization: ID ${organization}.`,
		);
	if (
		project &&
		project !== "@current" &&
		key.projects.length > 0 &&
		!key.projects.includes(project)
	)
		return forbidden(`API key does not have access to the requested project: ID ${project}.`);
	return undefined;
}
