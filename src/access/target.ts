import { type SQL, sql } from "drizzle-orm";
import { rowId } from "../db/client.ts";
import { organizationId, projects } from "../db/schema/organizations.ts";
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
 * Returns SQL for the ids of the organization and the project of a target; null if there is none.
 * @param ids the ids in the target: values, or placeholders for them
 */
export function idsOf(
	{ kind, organization, project }: Target,
	user_id: number | SQL<number>,
	ids: Ids = { organization: sql`${organization ?? null}`, project: sql`${project ?? null}` },
): { organization: SQL<number>; project: SQL<number> } {
	if (typeof organization === "number")
		return { organization: sql`${ids.organization}`, project: ids.project };
	const named = project === "@current" ? currentProject(user_id) : ids.project;
	if (kind !== "organization")
		return {
			organization: sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${named})`,
			project: named,
		};
	const parent =
		organization === "@current" ? currentOrganization(user_id) : organizationId(ids.organization);
	return {
		organization: parent,
		project:
			project === undefined
				? sql`null`
				: sql`(select ${projects.id} from ${projects} where ${projects.id} = ${named} and ${projects.organization_id} = ${parent})`,
	};
}
