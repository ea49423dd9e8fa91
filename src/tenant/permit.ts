import type { Key } from "../auth/keys.ts";
import { type ApiError, forbidden } from "../http/errors.ts";
import { grants, type Scope } from "./scopes.ts";

/** Where a request wants to go, as far as it is known. */
export type PathTenant = {
	kind: "caller" | "organization" | "project";
	/** Its path names one of the kind; a list's doesn't. */
	named: boolean;
	/** Its path names a project of the organization, too. */
	child?: boolean;
	organization?: string | null;
	project?: number | null;
};

/** The refusal of a `key` that lacks `scope`, or is restricted away from `place` (docs/keys.md#how-a-key-is-checked). */
export function checkKey(
	key: Key,
	scope: Scope,
	{ kind, named, organization, project }: PathTenant,
): ApiError | undefined {
	if (!grants(key.scopes, scope)) return forbidden(`API key missing required scope '${scope}'`);
	if (kind === "organization" && key.projects.length > 0)
		return forbidden(
			"API keys with scoped projects are only supported on project-based endpoints.",
		);
	// What it made would be out of its reach.
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
