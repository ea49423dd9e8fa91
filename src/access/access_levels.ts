import { type Column, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import {
	ACCESS_LEVELS,
	type AccessLevel,
	ADMIN,
	BY_DEFAULT,
	type Resource,
} from "../db/schema/levels.ts";
import type { QueryScope } from "./query_scope.ts";

/*
 * What a member may do below the levels (docs/access.md#which-access-control-decides): each rule as a
 * function of what the guard has read, with the condition in SQL for lists beside it.
 */

/**
 * Levels of access, as `members.access` has them for one member and `organizations.access` for
 * everyone: by `batch_export` for a resource, by `batch_export:<id>` for an object, and by `*` for
 * all that auditors may view.
 */
export type Levels = Readonly<Record<string, number>>;

/** The access controls that apply to a member. */
export type Controls = {
	/** Those of the member and of the member's roles; of an admin, `ADMIN_LEVELS`. */
	own: Levels;
	everyone: Levels;
};

/** The key for everything. Who has it is not subject to the access controls for everyone. */
export const EVERYTHING = "*";

export const ADMIN_LEVELS: Levels = { [EVERYTHING]: ACCESS_LEVELS.manager };

const keyOf = (resource: Resource, id: string | null) =>
	id === null ? resource : `${resource}:${id}`;

/** Webhooks get the events of the whole organization, so that a member has to be given them. */
const implied = (resource: Resource) => (resource === "webhook" ? ACCESS_LEVELS.none : BY_DEFAULT);

/** What a project's privacy says about a member. */
type Privacy = { isPrivate: boolean; isProjectMember: boolean };

/**
 * Returns the level of access to a resource, or to one of its objects.
 * @param privacy of the project, if it is one
 */
export function levelOf(
	{ own, everyone }: Controls,
	{ resource, id, privacy }: { resource: Resource; id: string | null; privacy?: Privacy },
): number {
	const object = keyOf(resource, id);
	const all = own[EVERYTHING];
	if (all !== undefined) return Math.max(all, own[object] ?? own[resource] ?? 0);
	const open = privacy?.isProjectMember ? BY_DEFAULT : undefined;
	const closed = privacy?.isPrivate ? ACCESS_LEVELS.none : undefined;
	return (
		own[object] ??
		open ??
		closed ??
		everyone[object] ??
		own[resource] ??
		everyone[resource] ??
		implied(resource)
	);
}

/** Limits the level of access to something in a project by that to the project. */
export const within = (project: number, level: number) =>
	project === BY_DEFAULT ? level : Math.min(project, level);

/**
 * Whether own access controls give a level that the membership's doesn't: to view what otherwise
 * only admins can, and webhooks also to change.
 */
export function isOpened(
	{ own }: Controls,
	{ resource, id, need }: { resource: Resource; id: string | null; need: number },
): boolean {
	if (need > ACCESS_LEVELS.viewer && resource !== "webhook") return false;
	const given = (key: string) => (own[key] ?? 0) >= need;
	const isListed = id === null && need === ACCESS_LEVELS.viewer;
	return (
		given(EVERYTHING) ||
		given(keyOf(resource, id)) ||
		(own[keyOf(resource, id)] === undefined && given(resource)) ||
		(isListed && Object.keys(own).some((key) => key.startsWith(`${resource}:`) && given(key)))
	);
}

/** Whether own access controls let a member view everything, as those of auditors do. */
export const mayViewAll = ({ own }: Controls) => (own[EVERYTHING] ?? 0) >= ACCESS_LEVELS.viewer;

/** Parses `members.access` or `organizations.access`. */
export const parseLevels = (text: string | null): Levels => (text === null ? {} : JSON.parse(text));

/** Numbers are literals, because D1 allows 100 parameters in a statement. */
const literal = (level: number) => sql.raw(String(level));
export const ADMIN_LEVEL = literal(ADMIN);
const ALL = sql.raw(`'${EVERYTHING}'`);

/** SQL for a level in `Levels`, by its key: a column, or a part of `CALLER`. */
type LevelsIn = SQLWrapper | ((key: SQL) => SQL);

const at = (levels: LevelsIn, key: SQL) =>
	typeof levels === "function" ? levels(key) : sql`${levels} ->> ${key}`;

/** What a level in SQL depends on. */
type Terms = Record<keyof Controls, LevelsIn> & {
	resource: Resource;
	/** The column with the object's id. */
	id: SQLWrapper;
	privacy?: Record<keyof Privacy, SQLWrapper>;
};

/** SQL for the key of an object. */
const objectKey = (resource: Resource, id: SQLWrapper) => sql`('${sql.raw(resource)}:' || ${id})`;

/** SQL for the level that the first access control gives, in the order of `levelOf`. */
function firstLevel({ own, everyone, resource, id, privacy }: Terms, before = sql``) {
	const name = sql.raw(`'${resource}'`);
	const object = objectKey(resource, id);
	const byPrivacy = privacy
		? sql`case when ${privacy.isProjectMember} then ${literal(BY_DEFAULT)} when ${privacy.isPrivate} then 0 end,`
		: sql``;
	return sql`coalesce(${before} ${at(own, object)}, ${byPrivacy} ${at(everyone, object)},
		${at(own, sql`${name}`)}, ${at(everyone, sql`${name}`)}, ${literal(implied(resource))})`;
}

/** `levelOf` in SQL. */
export function levelIn(terms: Terms) {
	const { own, resource, id } = terms;
	const all = at(own, sql`${ALL}`);
	const given = sql`coalesce(${at(own, objectKey(resource, id))}, ${at(own, sql`'${sql.raw(resource)}'`)}, 0)`;
	return sql<number>`iif(${all} is not null, max(${all}, ${given}), ${firstLevel(terms)})`;
}

/**
 * SQL condition: `levelIn` is at least a viewer's, or `need`. It is flat, because SQLite allows a
 * depth of 100.
 * @param others other reasons to view it: SQL for levels or null
 */
export const mayView = (terms: Terms, others = sql``, need: AccessLevel = "viewer") =>
	sql`${firstLevel(terms, sql`${others} ${at(terms.own, sql`${ALL}`)},`)} >= ${literal(ACCESS_LEVELS[need])}`;

/** SQL for `organizations.access` of an organization. */
export const everyoneIn = (organization: SQL) =>
	sql`(select o.access from organizations as o where o.id = ${organization})`;

/** The `Controls` of the caller in a condition of `forCaller`. */
export const CALLER = {
	own: (key: SQL) => sql`given ->> ('$.own."' || ${key} || '"')`,
	everyone: (key: SQL) => sql`given ->> ('$.everyone."' || ${key} || '"')`,
	/** SQL condition: the organization uses no access controls. */
	isWithout: sql`given ->> '$.everyone' is null`,
};

const json = (levels: Levels) => sql.raw(`'${JSON.stringify(levels)}'`);

/**
 * SQL for a condition on what access controls give the caller (`CALLER`), which is false for
 * somebody who isn't a member. Whatever the number of rows that it is about, a statement reads the
 * rows of the organization and of the caller once: SQLite evaluates the inner subquery, which depends
 * on nothing, only once. Both limit and condition prevent that it is copied to each use of `given`.
 * @param without the caller's own levels where the organization uses no access controls. If given,
 * the row of the caller isn't read then.
 */
export function forCaller(
	{ kind, key, isOrganization, project }: QueryScope,
	condition: SQL,
	without?: Levels,
) {
	const isOfProject = kind === "project";
	// Flat, because `@current` is many levels of a condition deep.
	const [place, where] = isOfProject
		? [
				sql`projects as p join organizations on organizations.id = p.organization_id`,
				sql`p.id = ${project}`,
			]
		: [sql`organizations`, isOrganization];
	const ofProject = sql`left join project_members as pm on pm.project_id = p.id and pm.user_id = m.user_id`;
	const level = isOfProject ? sql`max(m.level, coalesce(pm.level, 0))` : sql`m.level`;
	const own = sql`case ${without ? sql`when organizations.access is null then ${json(without)}` : sql``}
		when ${level} >= ${ADMIN_LEVEL} then ${json(ADMIN_LEVELS)} else coalesce(m.access, '{}') end`;
	const user = without ? sql`iif(organizations.access is null, null, ${key.user_id})` : key.user_id;
	const given = sql`select json_object('own', json(${own}), 'everyone', json(organizations.access))
		from ${place} ${sql.raw(without ? "left join" : "join")} members as m
			on m.organization_id = organizations.id and m.user_id = ${user}
		${isOfProject ? ofProject : sql``} where ${where}`;
	return sql`(select ${condition} from (select (${given}) as given limit 1) where given is not null)`;
}

/**
 * SQL condition for a list: the caller may view the object.
 * @param id the column with the object's id
 */
export const viewable = (tenant: QueryScope, resource: Resource, id: Column | SQL) =>
	forCaller(tenant, mayView({ ...CALLER, resource, id }), ADMIN_LEVELS);
