import { eq, type SQL, sql } from "drizzle-orm";
import { rowId } from "../db/client.ts";
import { organizationId } from "../db/organization_ids.ts";
import { organizations } from "../db/schema/organizations.ts";
import { projects } from "../db/schema/projects.ts";
import type { Caller } from "./guard.ts";
import type { PathTenant } from "./permit.ts";
import { currentOrganization, currentProject } from "./visible.ts";

/**
 * Where the path contains the tenant's id. `itself`: the path ends at the tenant. `child`: the parameter with the id of a project
 * of the organization.
 */
export type Where = {
	kind: PathTenant["kind"];
	parameter?: string;
	itself?: boolean;
	child?: string;
};

const toUuid = (text: string) => text.toLowerCase();

/**
 * How a path identifies an object. If the path doesn't contain it, as in lists, the id is null. `found`: the guard has run, and
 * found the id or that there is none.
 */
type Naming = "id" | "@current" | "found";

/** How a path identifies its tenant. The SQL of the tenant's ids depends on it. */
export type PathForm = {
	kind: PathTenant["kind"];
	organization: Naming;
	/** `none`: the path isn't about projects. */
	project: Naming | "none";
};

/** A tenant as the path identifies it, with the organization's UUID, or as the guard has found it, with the organization's id. */
export type Place = {
	form: PathForm;
	organization: string | number | null;
	project: number | null;
};

const naming = (text: string | undefined): Naming => (text === "@current" ? text : "id");

/**
 * Reads a path.
 * @param named the tenant's id; undefined if the path has none
 * @param child the id of a project of the organization; undefined if the path has none
 */
export function readPath(
	kind: PathTenant["kind"],
	named: string | undefined,
	child: string | undefined,
): Place {
	const organization = kind === "organization" ? named : undefined;
	const project = kind === "project" ? named : child;
	const hasProject = kind === "project" || child !== undefined;
	const form: PathForm = {
		kind,
		organization: naming(organization),
		project: hasProject ? naming(project) : "none",
	};
	return {
		form,
		organization: organization === undefined ? null : toUuid(organization),
		project: project === undefined ? null : rowId(project),
	};
}

/**
 * Returns the tenant in a path. `@current` isn't resolved.
 * @param named the tenant's id; undefined if the path has none
 * @param child the id of a project of the organization; undefined if the path has none
 */
export function tenantIn(
	kind: PathTenant["kind"],
	named: string | undefined,
	child: string | undefined,
): PathTenant {
	const literal = named === "@current" ? undefined : named;
	return {
		kind,
		named: named !== undefined,
		child: child !== undefined,
		organization: kind === "organization" && literal ? toUuid(literal) : null,
		project: kind === "project" && literal ? rowId(literal) : null,
	};
}

/** Returns the place that the guard has found. */
export const foundPlace = (
	kind: PathTenant["kind"],
	{ organization_id, project_id }: Pick<Caller, "organization_id" | "project_id">,
): Place => ({
	form: { kind, organization: "found", project: "found" },
	organization: organization_id,
	project: project_id,
});

/** The ids in a path (`Place`) and the caller's id: values, or SQL for them. */
type PathIds = {
	user_id: number | SQL<number>;
	organization: SQL;
	project: SQL<number>;
};

/** Returns SQL for the id of a path's organization, null if there is none. */
export function organizationOf(form: PathForm, ids: PathIds): SQL<number> {
	if (form.organization === "found") return sql`${ids.organization}`;
	if (form.kind !== "organization")
		return sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${projectOf(form, ids)})`;
	return form.organization === "@current"
		? currentOrganization(ids.user_id)
		: organizationId(ids.organization);
}

/** Returns the SQL condition on `organizations`: it is a path's organization. */
export const isOrganizationOf = (form: PathForm, ids: PathIds) =>
	form.kind === "organization" && form.organization === "id"
		? eq(organizations.uuid, ids.organization)
		: eq(organizations.id, organizationOf(form, ids));

/** Returns SQL for the id of a path's project, null if there is none. */
export function projectOf(form: PathForm, ids: PathIds): SQL<number> {
	if (form.project === "found") return ids.project;
	if (form.project === "none") return sql`null`;
	const project = form.project === "@current" ? currentProject(ids.user_id) : ids.project;
	if (form.kind === "project") return project;
	return sql`(select ${projects.id} from ${projects} where ${projects.id} = ${project} and ${projects.organization_id} = ${organizationOf(form, ids)})`;
}
