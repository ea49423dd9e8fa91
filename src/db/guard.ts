import { and, type Column, eq, type SQL, sql } from "drizzle-orm";
import { expired, type Key } from "../auth/keys.ts";
import { ADMIN } from "../auth/levels.ts";
import { denial, type Place } from "../auth/permit.ts";
import type { Scope } from "../auth/scopes.ts";
import {
	badCredentials,
	forbidden,
	insufficient,
	notFound,
} from "../http/errors.ts";
import type { Database } from "./client.ts";
import {
	members,
	organizations,
	personalApiKeys,
	projectMembers,
	projects,
	users,
} from "./schema.ts";

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
			and(
				eq(members.organization_id, organizations.id),
				eq(members.user_id, users.id),
			),
		)
		.leftJoin(
			projectMembers,
			and(
				eq(projectMembers.project_id, projects.id),
				eq(projectMembers.user_id, users.id),
			),
		);

type Found = Awaited<ReturnType<typeof guard>>[number];

/** Who asks, as D1 knows it. `level` is 0 where no organization is asked for. */
export type Caller = {
	key: Key;
	last_used_at: string | null;
	level: number;
	organization_id: string | null;
	project_id: number | null;
};

/**
 * What a route asks of its caller. `named`: its path names a tenant of `kind`; `itself`: it is that tenant's own path,
 * not one below it.
 */
export type Demand = {
	kind: Place["kind"];
	named: boolean;
	itself: boolean;
	scope: Scope;
	level: number;
};

/**
 * The checks that need D1, in the order of behaviour 1.4.
 * @throws the refusal of the first that fails
 */
export function admit(
	row: Found | undefined,
	{ kind, named, itself, scope, level: least }: Demand,
): Caller {
	const key = row && keyOf(row);
	if (!key || expired(key)) throw badCredentials();
	const { organization_id, project_id, last_used_at } = row;
	const denied = denial(key, scope, {
		kind,
		organization: organization_id,
		project: project_id,
	});
	if (denied) throw denied;
	const level = Math.max(row.level ?? 0, row.project_level ?? 0);
	if (named && kind === "organization") {
		if (!organization_id)
			throw notFound(itself ? undefined : "Organization not found.");
		if (!row.level) throw itself ? notFound() : forbidden();
	}
	if (named && kind === "project") {
		const hidden =
			!row.level || (row.access_control && level < ADMIN && !row.project_level);
		if (!project_id || (hidden && itself)) throw notFound("Project not found.");
		if (hidden) throw forbidden("You don't have access to the project.");
	}
	if (level < least) throw insufficient();
	return { key, last_used_at, level, organization_id, project_id };
}

/** The key of an active user, or nothing. */
function keyOf({
	key_id: id,
	user_id,
	scopes,
	organizations,
	projects,
	expires_at,
	is_active,
}: Found): Key | undefined {
	if (id && user_id && scopes && organizations && projects && is_active)
		return { id, user_id, scopes, organizations, projects, expires_at };
}
