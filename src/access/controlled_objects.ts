import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { ADMIN, type Resource } from "../db/schema/levels.ts";
import { organizations, projects } from "../db/schema/organizations.ts";
import { members, projectMembers, users } from "../db/schema/people.ts";
import { levelIn } from "./access_levels.ts";

const isProjectMember = sql`exists (select 1 from ${projectMembers}
	where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${users.id})`;

/**
 * SQL for the caller's access to the project of an object, in a statement with `projects`, `members`,
 * `organizations` and `users`.
 */
export const projectLevel = levelIn({
	own: members.access,
	everyone: organizations.access,
	resource: "project",
	id: projects.id,
	privacy: { isPrivate: projects.access_control, isProjectMember },
});

/**
 * SQL for FROM and WHERE: an object of the organization, or of the project in the path, with this id
 * as text.
 */
type Find = (organization: SQLWrapper, id: SQLWrapper, isInProject?: boolean) => SQL;

/**
 * How the guard finds the objects that access controls can be about: `id`, as access controls have
 * it, and `project`, the access to the object's project. Without the tables' definitions, which a
 * new isolate would evaluate.
 */
const OBJECTS = {
	batch_export: {
		id: sql`e.uuid`,
		project: sql`(select ${projectLevel} from ${projects} where ${projects.id} = e.project_id)`,
		find: (organization, id, isInProject = false) =>
			sql`from batch_exports as e where e.organization_id = ${organization} and e.uuid = ${id} and not e.deleted
				${isInProject ? sql`and e.project_id = ${projects.id}` : sql``}`,
	},
	plugin: {
		id: sql`cast(p.id as text)`,
		find: (organization, id) =>
			sql`from plugins as p where p.id = cast(${id} as integer) and (p.organization_id = ${organization} or p.is_global or exists (
				select 1 from plugin_configs as c where c.plugin_id = p.id and c.organization_id = ${organization} and not c.deleted))`,
	},
	plugin_config: {
		id: sql`cast(c.plugin_id as text)`,
		find: (_, id) =>
			sql`from plugin_configs as c where c.id = cast(${id} as integer) and c.project_id = ${projects.id}`,
	},
	webhook: {
		id: sql`w.id`,
		find: (organization, id) =>
			sql`from webhooks as w where w.organization_id = ${organization} and w.id = ${id}`,
	},
	domain: {
		id: sql`d.id`,
		find: (organization, id) =>
			sql`from domains as d where d.organization_id = ${organization} and d.id = ${id}`,
	},
} satisfies Record<string, { id: SQL; project?: SQL; find: Find }>;

export type ObjectKind = keyof typeof OBJECTS;

/** Whether the guard looks up the objects of a resource. */
export const isLookedUp = (resource: Resource): resource is Resource & ObjectKind =>
	resource in OBJECTS;

/**
 * SQL for JSON of the id and the access to the project of the object in the path of a request, for
 * the guard. Null if there is none, or if access controls don't apply to the caller.
 * @param isInProject whether the path names the object's project
 */
export function lookUp(kind: ObjectKind, named: SQL, isInProject: boolean) {
	const { id, find, ...object } = OBJECTS[kind];
	// The guard knows the access to the project in the path.
	const project = "project" in object && !isInProject ? object.project : sql`null`;
	const found = sql`(select json_array(${id}, ${project}) ${find(organizations.id, named, isInProject)})`;
	return sql<
		string | null
	>`iif(${organizations.access} is null or ${members.level} >= ${ADMIN}, null, ${found})`;
}

/** SQL condition: the organization has the object with this id, as access controls have it. */
export const isObject = (
	resource: Resource & (ObjectKind | "project"),
	organization: SQL,
	id: string,
) =>
	resource === "project"
		? sql`exists (select 1 from ${projects} where ${projects.organization_id} = ${organization} and ${projects.id} = cast(${id} as integer) and cast(${projects.id} as text) = ${id})`
		: sql`exists (select 1 ${OBJECTS[resource].find(organization, sql`${id}`)} and ${OBJECTS[resource].id} = ${id})`;
