import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import * as z from "zod";
import { assertThat, type Database, inList, insertEach, type Statement } from "../../db/client.ts";
import type { Entry } from "../../db/record.ts";
import { MEMBER } from "../../db/schema/levels.ts";
import { organizationUuid, projects } from "../../db/schema/organizations.ts";
import { invites, members, projectMembers } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { type ScimAccess, scimGroups, scimUsers } from "../../db/schema/scim.ts";
import { endKeys } from "../../keys/rows.ts";
import { lazy } from "../../lib/lazy.ts";
import { now } from "../../lib/time.ts";
import {
	applyAccess,
	join,
	joinProjects,
	leave,
	leaveProjects,
	rolesOf,
	setLevel,
} from "../memberships.ts";
import { reaches } from "../personal_api_keys/reach.ts";
import { adminEntry } from "../personal_api_keys/sessions.ts";

/*
 * The access of a domain's people in its organization (docs/sign-on.md#groups): `manual`, which
 * people gave them, and `granted`, which groups gave them. Their access is the higher of both. Roles of
 * groups aren't stored for a person: they follow from the groups (`rolesOf`).
 */

/** Where people are managed: a `Directory`, or an admin's request for a domain. */
export type Place = {
	readonly db: Database;
	/** SQL for the id of the organization. */
	readonly organization: SQL<number>;
	readonly domain_id: string;
};

const access = lazy(() =>
	z.object({ level: z.number(), projects: z.record(z.string(), z.number()) }),
);

/** The rows of `stateOf`. */
const people = lazy(() =>
	z.array(
		z.object({
			id: z.number(),
			/** Whether the account is active. */
			is_active: z.number(),
			level: z.number().nullable(),
			/** Whether SCIM left the user active; null if it doesn't manage the user. */
			active: z.number().nullable(),
			manual: access().nullable(),
			granted: access().nullable(),
			/** The ids of the projects in `manual` that still exist. */
			kept: z.array(z.number()),
			projects: z.array(z.tuple([z.number(), z.number(), z.string()])),
			/** The ids of the roles that others than the domain's groups gave. */
			roles: z.array(z.string()),
			/** The ids of the user's groups. */
			groups: z.array(z.string()),
			version: z.string().nullable(),
		}),
	),
);

const mapped = lazy(() =>
	z.array(
		z.tuple([
			z.string(),
			z.number().nullable(),
			z.array(z.tuple([z.number(), z.number()])),
			z.array(z.tuple([z.string(), z.string()])),
		]),
	),
);

const names = lazy(() =>
	z.array(z.tuple([z.number(), z.string(), z.string().nullable(), z.number()])),
);

type Person = z.infer<ReturnType<typeof people>>[number];

/** SQL for JSON of all that the access of these users depends on, besides the groups. */
const stateOf = ({ organization, domain_id }: Place, ids: SQL) => sql<string>`(
	select json_group_array(json_object(
		'id', u.id, 'is_active', u.is_active, 'level', m.level,
		'active', s.active, 'manual', json(s.manual), 'granted', json(s.granted), 'version', s.updated_at,
		'kept', (select json_group_array(p.id order by p.id) from json_each(s.manual, '$.projects') as k
			join projects as p on p.id = cast(k.key as integer) and p.organization_id = ${organization}),
		'projects', (select json_group_array(json_array(p.project_id, p.level, p.id) order by p.project_id)
			from project_members as p where p.organization_id = ${organization} and p.user_id = u.id),
		'roles', (select json_group_array(r.role_id order by r.role_id)
			from (${rolesOf(organization, sql`u.id`, sql`d.id <> ${domain_id}`)}) as r),
		'groups', (select json_group_array(g.group_id order by g.group_id)
			from scim_group_members as g where g.domain_id = ${domain_id} and g.user_id = u.id)
	) order by u.id)
	from users as u
	left join members as m on m.organization_id = ${organization} and m.user_id = u.id
	left join scim_users as s on s.domain_id = ${domain_id} and s.user_id = u.id
	where u.id in (${ids}) and not u.is_service_account)`;

/** SQL for JSON of the ids, addresses, memberships and numbers of keys of these users. */
const namesOf = ({ organization }: Place, ids: SQL) => sql<string>`(
	select json_group_array(json_array(u.id, u.email, m.id, (
		select count(*) from ${personalApiKeys} where ${personalApiKeys.user_id} = u.id
			and ${personalApiKeys.session} is null and ${reaches(organization)}))) from users as u
	left join members as m on m.organization_id = ${organization} and m.user_id = u.id
	where u.id in (${ids}))`;

/** SQL condition on `scim_groups as g`: the group grants something. */
export const isMapped = sql`(g.level is not null or g.projects <> '[]' or g.roles <> '[]')`;

/** SQL for JSON of what the groups of the domain grant, without projects that were deleted. */
const mappingOf = ({ organization, domain_id }: Place) => sql<string>`(
	select json_group_array(json_array(g.id, g.level, (
		select json_group_array(json_array(p.id, j.value ->> 'level') order by p.id) from json_each(g.projects) as j
		join projects as p on p.id = j.value ->> 'id' and p.organization_id = ${organization}
	), (
		select json_group_array(json_array(r.id, r.name) order by r.id) from json_each(g.roles) as j
		join roles as r on r.id = j.value
	)) order by g.id)
	from scim_groups as g where g.domain_id = ${domain_id} and ${isMapped})`;

/**
 * Selects what the access of users depends on.
 * @param ids SQL for the ids of the users
 */
export const selectState = (place: Place, ids: SQL) =>
	place.db
		.select({
			people: stateOf(place, ids).as("people"),
			names: namesOf(place, ids).as("names"),
			mapping: mappingOf(place).as("mapping"),
		})
		.from(sql`(select 1)`);

/** What a group grants: also roles, by id, with their names. */
export type Grant = ScimAccess & { roles: Record<string, string> };

/** What groups grant, by group id. */
export type Mapping = Map<string, Grant>;

export type State = {
	people: Person[];
	mapping: Mapping;
	/** The addresses of users, the ids of their memberships, and how many keys reach the organization. */
	names: Map<number, { email: string; member_id: string | null; keys: number }>;
	/** Assertions that nothing of this has changed. */
	checks: Statement[];
};

/** Reads the row of `selectState`. */
export function toState(
	place: Place,
	ids: SQL,
	[row]: Awaited<ReturnType<typeof selectState>>,
): State {
	if (!row) throw new Error("A select without a table has a row.");
	return {
		people: people().parse(JSON.parse(row.people)),
		mapping: new Map(
			mapped()
				.parse(JSON.parse(row.mapping))
				.map(([id, level, list, roles]) => [
					id,
					{
						level: level ?? 0,
						projects: Object.fromEntries(list),
						roles: Object.fromEntries(roles),
					},
				]),
		),
		names: new Map(
			names()
				.parse(JSON.parse(row.names))
				.map(([id, email, member_id, keys]) => [id, { email, member_id, keys }]),
		),
		checks: [
			assertThat(
				place.db,
				sql`${stateOf(place, ids)} is ${row.people} and ${mappingOf(place)} is ${row.mapping}`,
				"is_current",
			),
		],
	};
}

const NOTHING: ScimAccess = { level: 0, projects: {} };

/** Returns the higher of two accesses. */
function union(a: ScimAccess, b: ScimAccess): ScimAccess {
	const projects = { ...a.projects };
	for (const [id, level] of Object.entries(b.projects))
		projects[id] = Math.max(level, projects[id] ?? 0);
	return { level: Math.max(a.level, b.level), projects };
}

/** Returns the current access; undefined if the user isn't a member. */
const currentOf = ({ level, projects }: Person): ScimAccess | undefined =>
	level === null
		? undefined
		: { level, projects: Object.fromEntries(projects.map(([id, at]) => [id, at])) };

/**
 * Returns the access that people gave a user. Where it isn't what SCIM left, somebody has changed it
 * by hand since.
 */
function manualOf(person: Person): ScimAccess {
	const current = currentOf(person);
	const base = { level: MEMBER, projects: {} };
	const { manual, granted } = person;
	if (!current) {
		// Removed by hand: what they had is gone.
		if (person.active !== 0 || !manual) return base;
		const kept = person.kept.map((id) => [id, manual.projects[id] ?? MEMBER]);
		return { level: manual.level, projects: Object.fromEntries(kept) };
	}
	if (person.active !== 1 || !manual) return current;
	const left = union(manual, granted ?? NOTHING);
	const unchanged = Object.entries(current.projects).flatMap(([id, level]) => {
		const by = level === left.projects[id] ? manual.projects[id] : level;
		return by === undefined ? [] : [[id, by]];
	});
	return {
		level: current.level === left.level ? manual.level : current.level,
		projects: Object.fromEntries(unchanged),
	};
}

/** A user's state after the write. */
export type Target = { person: Person; active: boolean; groups: string[] };

/** The parts of a write. */
export type Plan = {
	changes: Statement[];
	entries: Entry[];
	/** The rows of `scim_users`. */
	rows: (typeof scimUsers.$inferInsert)[];
	/** The ids of the users whose membership ends. */
	ended: number[];
};

/** The change of one user's access. */
type Step = {
	user_id: number;
	before: ScimAccess | undefined;
	after: ScimAccess | undefined;
	/** The names of the roles that groups give, by id. */
	roles: Record<"before" | "after", Record<string, string>>;
	/** How much ends with the membership, if it does. */
	ends: { projects: number; roles: number; keys: number };
};

/** Plans the changes that bring users to the state in `targets`. */
export function plan(place: Place, state: State, targets: Target[], mapping = state.mapping): Plan {
	const steps: Step[] = [];
	const rows = targets.map(({ person, active, groups }) => {
		const manual = manualOf(person);
		const granted = groups.reduce((all, id) => union(all, mapping.get(id) ?? NOTHING), NOTHING);
		const after = active ? union(manual, granted) : undefined;
		const roles = {
			before: person.level === null ? {} : rolesIn(state.mapping, person.groups),
			after: rolesIn(mapping, groups),
		};
		const ends = {
			projects: person.projects.length,
			roles: new Set([...person.roles, ...Object.keys(roles.before)]).size,
			keys: state.names.get(person.id)?.keys ?? 0,
		};
		steps.push({ user_id: person.id, before: currentOf(person), after, roles, ends });
		return { domain_id: place.domain_id, user_id: person.id, active, manual, granted };
	});
	const ended = steps.flatMap(({ user_id, before, after }) => (before && !after ? [user_id] : []));
	const membership = planMembers(place, state, steps);
	const projects = planProjects(place, state, steps);
	const hasRoles = [...state.mapping.values(), ...mapping.values()].some(
		({ roles }) => Object.keys(roles).length > 0,
	);
	const ids = sql`select value from json_each(${JSON.stringify(steps.map(({ user_id }) => user_id))})`;
	return {
		changes: [
			...membership.changes,
			...projects.changes,
			...(hasRoles ? applyAccess(place.db, place.organization, ids) : []),
		],
		entries: [...membership.entries, ...projects.entries, ...roleEntries(state, steps)],
		rows,
		ended,
	};
}

const isOf = ({ organization }: Place, ids: number[]) =>
	and(eq(members.organization_id, organization), inList(members.user_id, ids));

type Parts = { changes: readonly Statement[]; entries: readonly Entry[] };

/** Adds, changes and removes memberships. */
function planMembers(place: Place, { names }: State, steps: Step[]) {
	const { db, organization } = place;
	const byLevel = new Map<number, number[]>();
	const parts = steps.map(({ user_id, before, after, ends }): Parts => {
		const { email: name = "", member_id } = names.get(user_id) ?? {};
		if (!before && after)
			return join(db, { organization, user_id, level: after.level, name, via: "scim" });
		const id = member_id ?? "";
		if (before && !after)
			return leave(db, { id, name, level: before.level, ...ends }, isOf(place, [user_id]));
		if (!before || !after || before.level === after.level) return { changes: [], entries: [] };
		byLevel.set(after.level, [...(byLevel.get(after.level) ?? []), user_id]);
		const [from, to] = [before.level, after.level];
		const change = { field: "level", action: "changed" as const, before: from, after: to };
		const entry = { scope: "Member", activity: "updated", item_id: id, name } as const;
		return { changes: [], entries: [{ ...entry, changes: [change] }] };
	});
	return {
		entries: parts.flatMap(({ entries }) => entries),
		changes: [
			...parts.flatMap(({ changes }) => changes),
			...Array.from(byLevel, ([level, ids]) => setLevel(db, isOf(place, ids), level)),
		],
	};
}

/** Adds and removes memberships of projects. Those of a removed member go with the membership. */
function planProjects({ db, organization }: Place, { people, names }: State, steps: Step[]) {
	const added: { id: string; user_id: number; project_id: number; level: number }[] = [];
	const removed: [number, number][] = [];
	const entries: Entry[] = [];
	const rowsOf = new Map(people.map(({ id, projects }) => [id, projects]));
	for (const { user_id, before, after } of steps) {
		if (!after) continue;
		const name = names.get(user_id)?.email ?? "";
		const about = { scope: "ProjectMember" as const, name };
		for (const [project, level, item_id] of before ? (rowsOf.get(user_id) ?? []) : []) {
			if (after.projects[project] === level) continue;
			removed.push([project, user_id]);
			entries.push({ activity: "deleted", ...about, item_id, project, values: { level } });
		}
		for (const [id, level] of Object.entries(after.projects)) {
			if (before?.projects[id] === level) continue;
			const row = { id: v7(), user_id, project_id: Number(id), level };
			added.push(row);
			entries.push({
				activity: "created",
				...about,
				item_id: row.id,
				project: row.project_id,
				values: { level },
			});
		}
	}
	const isRemoved = sql`(${projectMembers.project_id}, ${projectMembers.user_id}) in (
		select value ->> 0, value ->> 1 from json_each(${JSON.stringify(removed)}))`;
	return {
		entries,
		changes: [
			...(removed.length > 0 ? [leaveProjects(db, isRemoved)] : []),
			...joinProjects(db, added, { organization }),
		],
	};
}

const rolesIn = (mapping: Mapping, groups: string[]): Record<string, string> =>
	Object.assign({}, ...groups.map((id) => mapping.get(id)?.roles));

/**
 * Returns the entries about roles that members got or lost. Those of a removed member go with the
 * membership.
 */
function roleEntries({ people, names }: State, steps: Step[]): Entry[] {
	const others = new Map(people.map(({ id, roles }) => [id, roles]));
	return steps.flatMap(({ user_id, after, roles }) => {
		const name = names.get(user_id)?.email ?? "";
		const entriesOf = (activity: "created" | "deleted", of: object, without: object) =>
			Object.entries(of)
				.filter(([id]) => !(id in without) && !others.get(user_id)?.includes(id))
				.map(([item_id, role]): Entry => {
					return { scope: "RoleMember", activity, item_id, name, values: { role } };
				});
		return after
			? [
					...entriesOf("deleted", roles.before, roles.after),
					...entriesOf("created", roles.after, roles.before),
				]
			: [];
	});
}

/** Returns statements that take from people the roles that the groups of a domain give them. */
export const takeRoles = ({ db, organization, domain_id }: Place): Statement[] => [
	db
		.update(scimGroups)
		.set({ roles: [] })
		.where(and(eq(scimGroups.domain_id, domain_id), sql`${scimGroups.roles} <> '[]'`)),
	...applyAccess(
		db,
		organization,
		sql`select gm.user_id from scim_group_members as gm where gm.domain_id = ${domain_id}`,
	),
];

/** Writes rows of `scim_users`; those that exist keep the columns that `rows` don't have. */
export function upsert({ db }: Place, rows: (typeof scimUsers.$inferInsert)[]): Statement[] {
	const [first] = rows;
	if (!first) return [];
	const given = Object.keys(first).filter((name) => name !== "domain_id" && name !== "user_id");
	const set = Object.fromEntries(given.map((name) => [name, sql.raw(`excluded.${name}`)]));
	return [
		insertEach(db, scimUsers, { rows }).onConflictDoUpdate({
			target: [scimUsers.domain_id, scimUsers.user_id],
			set: { ...set, updated_at: now() },
		}),
	];
}

/**
 * SQL condition: a key that ends with the membership of its owner. It is a session that the domain's
 * provider started, or restricted to the organization, or its owner has no other organization.
 */
const endsWith = ({ organization, domain_id }: Place, user_id: SQL) => {
	const { scoped_organizations, scoped_projects } = personalApiKeys;
	return sql`${personalApiKeys.user_id} in (${user_id}) and (
		${personalApiKeys.session} ->> 'connection' in (${`saml:${domain_id}`}, ${`oidc:${domain_id}`})
		or ${scoped_organizations} = json_array(${organizationUuid(organization)})
		or (${scoped_projects} <> '[]' and not exists (
			select 1 from json_each(${scoped_projects}) as j join ${projects} on ${projects.id} = j.value
			where ${projects.organization_id} <> ${organization}))
		or not exists (select 1 from members as other
			where other.user_id = ${personalApiKeys.user_id} and other.organization_id <> ${organization}))`;
};

/** Selects the keys that end with the membership of a user. */
export const selectEndingKeys = (place: Place, user_id: SQL) =>
	place.db
		.select({
			id: personalApiKeys.id,
			label: personalApiKeys.label,
			scopes: personalApiKeys.scopes,
			user_id: personalApiKeys.user_id,
			session: personalApiKeys.session,
			client_id: personalApiKeys.client_id,
			created_at: personalApiKeys.created_at,
			last_used_at: personalApiKeys.last_used_at,
			expires_at: personalApiKeys.expires_at,
		})
		.from(personalApiKeys)
		.where(endsWith(place, user_id));

type EndingKey = Awaited<ReturnType<typeof selectEndingKeys>>[number];

/** Returns the entry of a key that ends: of a session, an app's access or another key. */
function endedEntry(key: EndingKey): Entry {
	const { id: item_id, label: name, scopes, client_id } = key;
	if (key.session) return adminEntry(key);
	if (client_id !== null)
		return {
			...{ scope: "OauthGrant", activity: "revoked", item_id, name },
			values: { scopes },
			trigger: { client_id },
		};
	return {
		...{ scope: "PersonalApiKey", activity: "deleted", item_id, name },
		values: { label: name, scopes },
	};
}

/** Returns the entries of keys that end, without sessions that had expired. */
export const endedEntries = (keys: EndingKey[]) =>
	keys
		.filter(({ session, expires_at }) => !session || (expires_at !== null && expires_at > now()))
		.map(endedEntry);

/** Ends everything that a user could use, or come back with: keys, sessions and open invites. */
export const endAccess = (place: Place, user_id: number, email: string): Statement[] => [
	endKeys(place.db, endsWith(place, sql`${user_id}`)),
	place.db
		.delete(invites)
		.where(and(eq(invites.organization_id, place.organization), eq(invites.target_email, email))),
];
