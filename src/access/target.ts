import { type SQL, sql } from "drizzle-orm";
import { rowId } from "../db/client.ts";
import { organizationId, organizations, projects } from "../db/schema/organizations.ts";
import type { ObjectKind } from "./controlled_objects.ts";
import type { QueryScope } from "./query_scope.ts";
import { currentOrganization, currentProject } from "./visible.ts";

/** The objects that the path of a request names. */
export type Target = {
	kind: QueryScope["kind"];
	/** A UUID, `@current`, or the id that the guard found; undefined in a list. */
	organization?: string | number | undefined;
	/** An id or `@current`. With the kind `organization`, a project of the organization. */
	project?: number | "@current" | undefined;
	/** Whether the path ends at the organization or project. */
	endsThere?: boolean;
	/** The object in the path that access controls can be about, besides a project. */
	object?: { kind: ObjectKind; id: string } | undefined;
};

/** Reads what a path names, from the values of its parameters. */
export const readTarget = ({
	organization,
	project,
	...target
}: Pick<Target, "kind" | "endsThere"> & {
	organization: string | undefined;
	project: string | undefined;
}): Target => ({
	...target,
	organization: organization?.toLowerCase(),
	project: project === undefined || project === "@current" ? project : rowId(project),
});

/** Returns the target with sample ids: everything that SQL about it depends on. */
export const formOf = ({ kind, organization, project, object }: Target): Target => ({
	kind,
	object: object && { kind: object.kind, id: "" },
	organization:
		typeof organization === "number"
			? 0
			: organization === "@current"
				? organization
				: organization && "id",
	project: typeof project === "number" ? 0 : project,
});

/** SQL for the ids in a target. */
type Ids = { organization: SQL; project: SQL<number> };

/**
 * Returns SQL for the organization and the project of a target; null if there is none.
 * @param ids the ids in the target: values, or placeholders for them
 */
export function idsOf(
	{ kind, organization, project }: Target,
	user_id: number | SQL<number>,
	ids: Ids = { organization: sql`${organization ?? null}`, project: sql`${project ?? null}` },
): Pick<QueryScope, "organization" | "isOrganization" | "project"> {
	const found = (id: SQL<number>, project: SQL<number>) => ({
		organization: id,
		isOrganization: sql`${organizations.id} = ${id}`,
		project,
	});
	if (typeof organization === "number") return found(sql`${ids.organization}`, ids.project);
	const named = project === "@current" ? currentProject(user_id) : ids.project;
	if (kind !== "organization")
		return found(
			sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${named})`,
			named,
		);
	const isCurrent = organization === "@current";
	const parent = isCurrent ? currentOrganization(user_id) : organizationId(ids.organization);
	const child =
		project === undefined
			? sql<number>`null`
			: sql<number>`(select ${projects.id} from ${projects} where ${projects.id} = ${named} and ${projects.organization_id} = ${parent})`;
	const isNamed = organization !== undefined && !isCurrent;
	return {
		...found(parent, child),
		// One row less than with the organization's id.
		...(isNamed && { isOrganization: sql`${organizations.uuid} = ${ids.organization}` }),
	};
}
