import { type SQL, sql } from "drizzle-orm";
import { projects } from "../db/schema.ts";
import type { PathTenant } from "./permit.ts";
import { currentOrganization, currentProject } from "./visible.ts";

/** How a path names an object. A path without it, such as a list's, has the id null. */
export type Naming = "id" | "@current";

/** How a path names its tenant, which is what the SQL of the tenant's ids depends on. */
export type PathForm = {
	kind: PathTenant["kind"];
	organization: Naming;
	/** `none`: the path isn't one of projects. */
	project: Naming | "none";
};

/** The ids that a path names, and who asks: values, or SQL for them. */
type PathIds = {
	user_id: number | SQL<number>;
	organization: SQL<string>;
	project: SQL<number>;
};

/** SQL for the id of a path's organization; null if there is none. */
export function organizationOf(form: PathForm, ids: PathIds): SQL<string> {
	if (form.kind !== "organization")
		return sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${projectOf(form, ids)})`;
	return form.organization === "@current" ? currentOrganization(ids.user_id) : ids.organization;
}

/** SQL for the id of a path's project; null if there is none. */
export function projectOf(form: PathForm, ids: PathIds): SQL<number> {
	if (form.project === "none") return sql`null`;
	const project = form.project === "@current" ? currentProject(ids.user_id) : ids.project;
	if (form.kind === "project") return project;
	return sql`(select ${projects.id} from ${projects} where ${projects.id} = ${project} and ${projects.organization_id} = ${organizationOf(form, ids)})`;
}
