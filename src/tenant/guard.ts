import { and, type Column, eq, gte, or, type SQL, sql } from "drizzle-orm";
import { isExpired, type Key } from "../auth/keys.ts";
import type { Database } from "../db/client.ts";
import { ADMIN, insufficientLevel } from "../db/levels.ts";
import {
	assertions,
	members,
	organizations,
	personalApiKeys,
	projectMembers,
	projects,
	users,
} from "../db/schema.ts";
import { badCredentials, forbidden, notFound } from "../http/errors.ts";
import { checkKey, type PathTenant } from "./permit.ts";
import type { Scope } from "./scopes.ts";
import { visibleTo } from "./visible.ts";

/** What the guard asks for: the key by its digest, and the tenant by its id or by SQL that yields it. */
type Asked = { hash: string; organization: SQL<string>; project: SQL<number> };

/** A column of a row that may not be there. */
const left = <C extends Column, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"] | null>`${column}`.as(name);

/** The statement that rides with a request's own: always one row, of what the checks need. */
export const guard = (db: Database, { hash, organization, project }: Asked) =>
	db
		.select({
			key_id: left(personalApiKeys.id, "key_id"),
			user_id: personalApiKeys.user_id,
			scopes: personalApiKeys.scopes,
			organizations: personalApiKeys.scoped_organizations,
			projects: personalApiKeys.scoped_projects,
			expires_at: personalApiKeys.expires_at,
			last_used_at: personalApiKeys.last_used_at,
			is_active: users.is_active,
			organization_id: left(organizations.id, "organization_id"),
			plugins_access_level: organizations.plugins_access_level,
			project_id: left(projects.id, "project_id"),
			access_control: projects.access_control,
			level: members.level,
			project_level: left(projectMembers.level, "project_level"),
		})
		.from(sql`(select 1)`)
		.leftJoin(personalApiKeys, eq(personalApiKeys.hash, hash))
		.leftJoin(users, eq(users.id, personalApiKeys.user_id))
		.leftJoin(projects, eq(projects.id, project))
		.leftJoin(organizations, eq(organizations.id, organization))
		.leftJoin(
			members,
			and(eq(members.organization_id, organizations.id), eq(members.user_id, users.id)),
		)
		.leftJoin(
			projectMembers,
			and(eq(projectMembers.project_id, projects.id), eq(projectMembers.user_id, users.id)),
		);

type Found = Awaited<ReturnType<typeof guard>>[number];

/** Who asks, as D1 knows it. */
export type Caller = {
	key: Key;
	last_used_at: string | null;
	/** The higher of the two below; 0 where no organization is asked for. */
	level: number;
	organization_id: string | null;
	member_level: number | null;
	plugins_access_level: number;
	project_id: number | null;
	project_level: number | null;
};

/** What a route asks of its caller; `itself`: its path is the tenant's own, not one below it. */
export type Requirements = {
	place: PathTenant;
	itself: boolean;
	scope: Scope;
	level: number;
	/** Of its organization, `plugins_access_level`. */
	plugins: number;
};

/**
 * The checks that need D1, in the order of docs/api.md#order-of-checks. Restrictions of the key are held against what the path says,
 * and against what was found only where that is the caller's own: a stranger learns nothing from them.
 * @throws the refusal of the first that fails
 */
export function authorize(
	row: Found | undefined,
	{ place, itself, scope, level: least, plugins }: Requirements,
): Caller {
	const key = row && toKey(row);
	if (!key) throw badCredentials();
	const { organization_id, project_id, level: member_level } = row;
	const own = member_level !== null;
	const denied = checkKey(key, scope, {
		...place,
		organization: place.organization ?? (own ? organization_id : null),
		project: place.project ?? (own ? project_id : null),
	});
	if (denied) throw denied;
	const level = Math.max(member_level ?? 0, row.project_level ?? 0);
	const isHidden = !own || (row.access_control && level < ADMIN && !row.project_level);
	if (place.named && place.kind === "organization") {
		if (!organization_id) throw notFound(itself ? undefined : "Organization not found.");
		if (!own) throw itself ? notFound() : forbidden();
	}
	if (place.named && place.kind === "project") {
		if (!project_id || (isHidden && itself)) throw notFound("Project not found.");
		if (isHidden) throw forbidden("You don't have access to the project.");
	}
	if (place.child && (!project_id || isHidden)) throw notFound("Project not found.");
	if (level < least) throw insufficientLevel();
	const { last_used_at, project_level, plugins_access_level } = row;
	if ((plugins_access_level ?? 0) < plugins)
		throw forbidden("Your organization's plugin access level is insufficient.");
	return {
		key,
		last_used_at,
		level,
		organization_id,
		member_level,
		plugins_access_level: plugins_access_level ?? 0,
		project_id,
		project_level,
	};
}

/** The key, if it exists, has not expired, and its owner is active. */
export function toKey({
	key_id: id,
	user_id,
	scopes,
	organizations,
	projects,
	expires_at,
	is_active,
}: Found): Key | undefined {
	if (!(id && user_id && scopes && organizations && projects && is_active)) return undefined;
	const key = { id, user_id, scopes, organizations, projects, expires_at };
	return isExpired(key) ? undefined : key;
}

/** In a statement: the key still exists and may do what it could, and its owner is active. */
export function keyStillWorks(
	hash: string,
	{ scopes, organizations: scopedTo, projects: scoped }: Key,
) {
	const theKey = and(
		eq(personalApiKeys.hash, hash),
		eq(personalApiKeys.scopes, scopes),
		eq(personalApiKeys.scoped_organizations, scopedTo),
		eq(personalApiKeys.scoped_projects, scoped),
		eq(users.is_active, true),
	);
	return sql`exists (select 1 from ${personalApiKeys} join ${users} on ${users.id} = ${personalApiKeys.user_id} where ${theKey})`;
}

/**
 * The statement that fails, and the rest of its batch with it, unless the caller is still as it was admitted.
 * @param orGone also let it pass where the organization or the project itself is gone: a removal then answers 404
 */
export function assertStillAllowed(
	db: Database,
	hash: string,
	caller: Caller,
	{ orGone = false } = {},
) {
	const { key, organization_id, member_level, project_id, project_level } = caller;
	const { user_id } = key;
	const theMember = and(
		eq(members.organization_id, organization_id ?? ""),
		eq(members.user_id, user_id),
		gte(members.level, member_level ?? 0),
	);
	const theProject = and(eq(projects.id, project_id ?? 0), visibleTo(user_id));
	const theProjectMember = and(
		eq(projectMembers.project_id, project_id ?? 0),
		eq(projectMembers.user_id, user_id),
		gte(projectMembers.level, project_level ?? 0),
	);
	const still = and(
		keyStillWorks(hash, key),
		member_level === null ? undefined : sql`exists (select 1 from ${members} where ${theMember})`,
		project_id === null ? undefined : sql`exists (select 1 from ${projects} where ${theProject})`,
		project_level === null
			? undefined
			: sql`exists (select 1 from ${projectMembers} where ${theProjectMember})`,
	);
	const gone = or(
		organization_id === null
			? undefined
			: sql`not exists (select 1 from ${organizations} where ${organizations.id} = ${organization_id})`,
		project_id === null
			? undefined
			: sql`not exists (select 1 from ${projects} where ${projects.id} = ${project_id})`,
	);
	const holds = orGone ? or(still, gone) : still;
	return db.insert(assertions).select(sql`select 0 where not (${holds})`);
}
