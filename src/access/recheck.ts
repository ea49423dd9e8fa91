import { and, eq, gte, type SQLWrapper, sql } from "drizzle-orm";
import { CachedStatement, cacheByForm, placeholder } from "../db/cached_statements.ts";
import { assertThat, type Connected } from "../db/client.ts";
import { ADMIN } from "../db/schema/levels.ts";
import { notMoving, organizations, projects } from "../db/schema/organizations.ts";
import { members, projectMembers, users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { hasValue, type Key } from "../keys/keys.ts";
import type { Caller } from "./guard.ts";
import type { Target } from "./target.ts";
import { allowsApp, visibleTo } from "./visible.ts";

/** The properties of a key that a request has seen: values, or SQL for them. */
type KeyTerms = {
	[K in "scopes" | "organizations" | "projects" | "allowed_ips"]: Key[K] | SQLWrapper;
};

/** SQL condition: the key still has its scopes and restrictions, and an active owner. */
export function keyStillWorks(
	hash: string | SQLWrapper,
	{ scopes, organizations: scopedOrganizations, projects: scopedProjects, allowed_ips }: KeyTerms,
) {
	const isCallerKey = and(
		hasValue(hash),
		eq(personalApiKeys.scopes, scopes),
		eq(personalApiKeys.scoped_organizations, scopedOrganizations),
		eq(personalApiKeys.scoped_projects, scopedProjects),
		eq(personalApiKeys.allowed_ips, allowed_ips),
		eq(users.is_active, true),
	);
	return sql`exists (select 1 from ${personalApiKeys} join ${users} on ${users.id} = ${personalApiKeys.user_id} where ${isCallerKey})`;
}

/** The checks of `assertStillAllowed`, in addition to the key. */
type AccessForm = {
	/** Whether the request is about a project. */
	project: boolean;
	/** Whether the caller is a member of the organization, and of the project. */
	member: boolean;
	projectMember: boolean;
	/** Whether the key is an app's. */
	app: boolean;
	/** Whether the path names an export without its project. */
	exportAlone: boolean;
	/** Whether access controls apply to the caller, as to those who aren't admins. */
	controlled: boolean;
};

const assertion = cacheByForm((db, form: AccessForm) => {
	const user_id = placeholder<number>("user_id");
	const organization_id = placeholder<number>("organization_id");
	const project_id = placeholder<number>("project_id");
	const isMember = and(
		eq(members.organization_id, organization_id),
		eq(members.user_id, user_id),
		gte(members.level, placeholder("member_level")),
		form.controlled ? sql`${members.access} is ${placeholder("access")}` : undefined,
	);
	const isControlled = and(
		eq(organizations.id, organization_id),
		sql`${organizations.access} is ${placeholder("everyone")}`,
	);
	const isProject = and(eq(projects.id, project_id), visibleTo(user_id));
	const isProjectMember = and(
		eq(projectMembers.project_id, project_id),
		eq(projectMembers.user_id, user_id),
		gte(projectMembers.level, placeholder("project_level")),
	);
	const isProjectOpen = visibleTo(user_id, "editor");
	const isAppAllowed = and(
		eq(organizations.id, organization_id),
		eq(personalApiKeys.hash, placeholder("hash")),
		allowsApp(personalApiKeys.client_id),
	);
	const hasAccess = sql`${and(
		notMoving(sql`coalesce(${organization_id}, 0)`),
		keyStillWorks(placeholder("hash"), {
			scopes: placeholder("scopes"),
			organizations: placeholder("organizations"),
			projects: placeholder("projects"),
			allowed_ips: placeholder("allowed_ips"),
		}),
		form.member ? sql`exists (select 1 from ${members} where ${isMember})` : undefined,
		form.controlled
			? sql`exists (select 1 from ${organizations} where ${isControlled})`
			: undefined,
		form.member && form.app
			? sql`exists (select 1 from ${organizations}, ${personalApiKeys} where ${isAppAllowed})`
			: undefined,
		form.project ? sql`exists (select 1 from ${projects} where ${isProject})` : undefined,
		form.exportAlone
			? sql`exists (select 1 from batch_exports as e join ${projects} on ${projects.id} = e.project_id
				where e.organization_id = ${organization_id} and e.uuid = ${placeholder("object")} and ${isProjectOpen})`
			: undefined,
		form.projectMember
			? sql`exists (select 1 from ${projectMembers} where ${isProjectMember})`
			: undefined,
	)}`;
	return new CachedStatement(assertThat(db, hasAccess, "has_access"));
});

/**
 * Returns a statement that makes its batch fail if the caller has lost the access that `authorize`
 * found.
 */
export function assertStillAllowed(
	env: Env,
	db: Connected,
	caller: Caller,
	{ hash, object }: { hash: string; object: Target["object"] },
) {
	const { key, client_id, organization_id, level, member_level, project_id, project_level } =
		caller;
	const controlled = member_level !== null && level < ADMIN;
	const form = {
		project: project_id !== null,
		member: member_level !== null,
		projectMember: project_level !== null,
		app: client_id !== null,
		exportAlone: controlled && project_id === null && object?.kind === "batch_export",
		controlled,
	};
	const { user_id, scopes, organizations, projects, allowed_ips } = key;
	return assertion(env, form).bind(db, {
		hash,
		user_id,
		scopes: JSON.stringify(scopes),
		organizations: JSON.stringify(organizations),
		projects: JSON.stringify(projects),
		allowed_ips: JSON.stringify(allowed_ips),
		organization_id,
		member_level,
		project_id,
		project_level,
		access: caller.own_access,
		everyone: caller.everyone_access,
		object: object?.id ?? null,
	});
}
