import { and, type Column, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { CachedStatement, cacheByForm } from "../db/cached_statements.ts";
import type { Database } from "../db/client.ts";
import { ACCESS_LEVELS } from "../db/schema/levels.ts";
import { isMoving, organizations, projects } from "../db/schema/organizations.ts";
import { members, projectMembers, users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import type { App } from "../env.ts";
import { badCredentials, forbidden, moving, notFound } from "../http/errors.ts";
import { isRead } from "../http/methods.ts";
import { addressOf, checkAddress } from "../keys/addresses.ts";
import { hasValue, recordColumns, toKey } from "../keys/keys.ts";
import { accessOf, checkAccess, isPrivate } from "./check_access.ts";
import { lookUp } from "./controlled_objects.ts";
import { checkKey } from "./key_check.ts";
import { keyParams, targetParams } from "./query_scope.ts";
import { idsOf, type Target } from "./target.ts";
import { allowsApp } from "./visible.ts";

/**
 * The key's digest, the condition on the tenant's organization, and SQL for the project's id and for
 * the object in the path.
 */
type GuardInput = {
	hash: string | SQL<string>;
	isOrganization: SQL;
	project: SQL<number>;
	object?: SQL<string | null>;
};

/** Returns a column of a left join under another name; null if there is no row. */
const nullableColumn = <C extends Column, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"] | null>`${column}`.as(name);

/**
 * Returns the guard: a statement that runs in the same batch as a request's queries. It always
 * returns one row, which contains everything that the checks need.
 */
export const guard = (
	db: Database,
	{ hash, isOrganization, project, object = sql`null` }: GuardInput,
) =>
	db
		.select({
			key_id: nullableColumn(personalApiKeys.id, "key_id"),
			...recordColumns(hash),
			last_used_at: personalApiKeys.last_used_at,
			key_label: nullableColumn(personalApiKeys.label, "key_label"),
			/** Whether the key was created by signing in (docs/keys.md#signing-in). */
			is_session: sql`(${personalApiKeys.session} is not null)`.mapWith(Boolean).as("is_session"),
			/** The app that the key was granted to (docs/oauth.md); null for other keys. */
			client_id: nullableColumn(personalApiKeys.client_id, "client_id"),
			is_app_allowed: allowsApp(personalApiKeys.client_id).mapWith(Boolean).as("is_app_allowed"),
			is_active: users.is_active,
			user_uuid: nullableColumn(users.uuid, "user_uuid"),
			is_service_account: users.is_service_account,
			organization_id: nullableColumn(organizations.id, "organization_id"),
			organization_uuid: nullableColumn(organizations.uuid, "organization_uuid"),
			plugins_access_level: organizations.plugins_access_level,
			is_moving: isMoving,
			project_id: nullableColumn(projects.id, "project_id"),
			access_control: projects.access_control,
			level: members.level,
			project_level: nullableColumn(projectMembers.level, "project_level"),
			own_access: nullableColumn(members.access, "own_access"),
			everyone_access: nullableColumn(organizations.access, "everyone_access"),
			object: object.as("object"),
		})
		.from(sql`(select 1)`)
		.leftJoin(personalApiKeys, hasValue(hash))
		.leftJoin(users, eq(users.id, personalApiKeys.user_id))
		.leftJoin(projects, eq(projects.id, project))
		.leftJoin(organizations, isOrganization)
		.leftJoin(
			members,
			and(eq(members.organization_id, organizations.id), eq(members.user_id, users.id)),
		)
		.leftJoin(
			projectMembers,
			and(eq(projectMembers.project_id, projects.id), eq(projectMembers.user_id, users.id)),
		);

export type GuardRow = Awaited<ReturnType<typeof guard>>[number];

/** The guard's statement for all targets of a form (`formOf`). */
export const cachedGuard = cacheByForm((db, target: Target) => {
	const { isOrganization, project } = idsOf(target, keyParams.user_id, targetParams);
	const { kind } = target;
	const object = target.object && {
		object: lookUp(target.object.kind, targetParams.object, kind === "project"),
	};
	return new CachedStatement(
		guard(db, { hash: keyParams.hash, isOrganization, project, ...object }),
	);
});

/**
 * Runs the checks that need D1, in the order of docs/api.md#order-of-checks. The key's restrictions
 * are compared with the ids in the path. They are compared with ids from the database only if the
 * caller is a member, because others must not learn these ids.
 * @throws the error of the first check that fails
 */
export async function authorize(c: Context<App>, row: GuardRow, target: Target) {
	const key = toKey(row);
	if (!key) throw badCredentials();
	const { organization_id, organization_uuid, project_id, level: member_level } = row;
	const isMember = member_level !== null;
	const denied =
		(await checkAddress(key, addressOf(c))) ??
		checkKey(key, c.get("scope"), {
			...target,
			...(isMember && {
				organization: organization_uuid ?? undefined,
				project: project_id ?? undefined,
			}),
		});
	if (denied) throw denied;
	if (isMember && !row.is_app_allowed) throw forbidden("The organization doesn't allow this app.");
	const level = Math.max(member_level ?? 0, row.project_level ?? 0);
	const access = accessOf(row, level);
	const isHidden = !isMember || access.project === ACCESS_LEVELS.none;
	const { kind, organization, project, endsThere: isEnd } = target;
	if (organization !== undefined) {
		if (!organization_id) throw notFound(isEnd ? undefined : "Organization not found.");
		if (!isMember) throw isEnd ? notFound() : forbidden();
	}
	if (project !== undefined) {
		// Whoever may not view a project because of an access control isn't told that it exists.
		const isTold = kind === "project" && !isEnd && (!isMember || isPrivate(row, access));
		if (!project_id || (isHidden && !isTold)) throw notFound("Project not found.");
		if (isHidden) throw forbidden("You don't have access to the project.");
	}
	const { resource } = c.get("controlled");
	const route = {
		resource: isMember ? resource : undefined,
		need: c.get("need"),
		level: c.get("level") ?? 0,
	};
	const refused = checkAccess(route, row, {
		...access,
		level,
		isNamed: target.object !== undefined,
	});
	if (refused) throw refused;
	if (row.is_moving && !isRead(c.req.method)) throw moving();
	const plugins_access_level = row.plugins_access_level ?? 0;
	if (plugins_access_level < (c.get("plugins") ?? 0))
		throw forbidden("Your organization's plugin access level is insufficient.");
	return {
		...row,
		key,
		is_service_account: row.is_service_account ?? false,
		/** The higher of `member_level` and `project_level`; 0 without an organization. */
		level,
		member_level,
		plugins_access_level,
		access,
	};
}

/** The caller of a request, read from D1. */
export type Caller = Awaited<ReturnType<typeof authorize>>;
