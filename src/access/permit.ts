import type { Key } from "../auth/keys.ts";
import { type ApiError, forbidden } from "../http/errors.ts";
import { ANY_KEY, grants, type Scope } from "./scopes.ts";

/** The tenant of a request, as given in its path. */
export type PathTenant = {
	kind: "caller" | "organization" | "project";
	/** Whether the path contains an id of this kind. The path of a list doesn't. */
	named: boolean;
	/** Whether the path also contains the id of a project of the organization. */
	child?: boolean;
	organization?: string | null;
	project?: number | null;
};

/**
 * Returns the error if `key` lacks `scope`, or if its restrictions exclude the tenant
 * (docs/keys.md#how-a-key-is-checked).
 */
export function checkKey(
	key: Key,
	scope: Scope | typeof ANY_KEY,
	{ kind, named, organization, project }: PathTenant,
): ApiError | undefined {
	if (scope !== ANY_KEY && !grants(key.scopes, scope))
		return forbidden(`API key missing required scope '${scope}'`);
	if (kind === "organization" && key.projects.length > 0)
		return forbidden(
			"API keys with scoped projects are only supported on project-based endpoints.",
		);
	// The key couldn't access the object that it created.
	const restricted = kind === "project" ? key.projects : key.organizations;
	if (!named && scope === `${kind}:write` && restricted.length > 0)
		return forbidden(`API keys with scoped ${kind}s can't create ${kind}s.`);
	if (organization && key.organizations.length > 0 && !key.organizations.includes(organization))
		return forbidden(
			`API key does not have access to the requested organization: ID ${organization}.`,
		);
	if (project && key.projects.length > 0 && !key.projects.includes(project))
		return forbidden(`API key does not have access to the requested project: ID ${project}.`);
	return undefined;
}
