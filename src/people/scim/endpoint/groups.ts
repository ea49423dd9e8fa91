import { and, eq, ne, or, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import * as z from "zod";
import { retry } from "../../../access/unit_of_work.ts";
import { changes as changesOf } from "../../../db/changes.ts";
import { assertNone, assertThat, inList, insertEach } from "../../../db/client.ts";
import { equals } from "../../../db/contains.ts";
import { users } from "../../../db/schema/people.ts";
import { scimGroupMembers, scimGroups } from "../../../db/schema/scim.ts";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { rawText } from "../../../http/fields.ts";
import { lazy } from "../../../lib/lazy.ts";
import { now } from "../../../lib/time.ts";
import * as people from "../people.ts";
import type { Directory } from "./directory.ts";
import {
	type Attribute,
	type Attributes,
	ofExactText,
	ofId,
	ofMoment,
	ofText,
	toCondition,
} from "./filter.ts";
import { apply, readPatch } from "./patch.ts";
import { type Effect, type Problem, settle } from "./problems.ts";
import {
	canonical,
	checkMatch,
	idsIn,
	MAX_TEXT_LENGTH,
	type Names,
	optionalText,
	type pageOf,
	quoted,
	type Resource,
	take,
	takeShown,
	unknownIn,
	untilWritten,
	versioned,
} from "./resource.ts";

/** The attributes of a group that providers can set. */
const NAMES: Names = { displayName: [], externalId: [], members: ["value"] };

/** The most members of a group, and groups of a domain: a change reads them all. */
const MAX_MEMBERS = 2_000;
const MAX_GROUPS = 1_000;

const values = lazy(() => ({
	displayName: rawText(MAX_TEXT_LENGTH).min(1),
	externalId: optionalText(),
}));

/** The attributes of a group. */
type Body = {
	displayName: string;
	externalId: string | null | undefined;
	/** The ids of the members. */
	members: Set<string>;
};

/** The state of a new group before the request. */
const NOTHING: Body = { displayName: "", externalId: null, members: new Set() };

/** Reads the attributes of a group. Those that aren't valid stay as they were before. */
function readAttributes(sent: Record<string, unknown>, before: Body, problems: Problem[]): Body {
	const { displayName, externalId } = values();
	const given = <N extends "displayName" | "externalId">(name: N, value = sent[name]) => ({
		name,
		value,
		before: before[name],
	});
	const name =
		typeof sent.displayName === "string"
			? takeShown(given("displayName"), problems)
			: sent.displayName;
	const members = sent.members ?? [];
	return {
		displayName: take(given("displayName", name), displayName, problems),
		externalId: take(given("externalId"), externalId, problems),
		members:
			(members instanceof Set ? members : idsIn("members", members, problems)) ?? before.members,
	};
}

/** SQL for JSON of the members. (Drizzle would leave out the name of the only table.) */
const membersOf = ({ domain_id }: Directory) => sql<string>`(
	select json_group_array(json_array(u.id, u.uuid) order by u.id)
	from scim_group_members as gm join users as u on u.id = gm.user_id
	where gm.domain_id = ${domain_id} and gm.group_id = scim_groups.id)`;

/** @param withMembers whether the members are read */
const select = (directory: Directory, withMembers = true) =>
	directory.db
		.select({
			id: scimGroups.id,
			external_id: scimGroups.external_id,
			display_name: scimGroups.display_name,
			created_at: scimGroups.created_at,
			updated_at: scimGroups.updated_at,
			members: (withMembers ? membersOf(directory) : sql<string>`'[]'`).as("members"),
		})
		.from(scimGroups)
		.$dynamic();

type Row = Awaited<ReturnType<typeof select>>[number];

const membership = lazy(() => z.array(z.tuple([z.number(), z.string()])));

const readMembers = ({ members }: Row) => membership().parse(JSON.parse(members));

const toResource = (directory: Directory, row: Row): Promise<Resource> =>
	versioned({
		schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"],
		id: row.id,
		...(row.external_id !== null && { externalId: row.external_id }),
		displayName: row.display_name,
		members: readMembers(row).map(([, value]) => ({
			value,
			type: "User",
			$ref: `${directory.url}/Users/${value}`,
		})),
		meta: {
			resourceType: "Group",
			created: row.created_at,
			lastModified: row.updated_at,
			location: `${directory.url}/Groups/${row.id}`,
		},
	});

/** SQL condition: a member's id matches. */
const hasMember = (condition: SQL) => sql`exists (
	select 1 from scim_group_members as gm join users on users.id = gm.user_id
	where gm.domain_id = ${scimGroups.domain_id} and gm.group_id = ${scimGroups.id} and ${condition})`;

const ofMembers: Attribute = {
	isPresent: hasMember(sql`true`),
	compare: (op, value) => {
		const condition = ofId(users.uuid).compare(op, value);
		return condition && hasMember(condition);
	},
};

const attributes: Attributes = {
	id: ofId(scimGroups.id),
	displayname: ofText(scimGroups.display_name),
	externalid: ofExactText(scimGroups.external_id),
	members: ofMembers,
	"members.value": ofMembers,
	"meta.created": ofMoment(scimGroups.created_at),
	"meta.lastmodified": ofMoment(scimGroups.updated_at),
};

/** Lists groups by their age. Returns the page, and their number. */
export async function list(
	directory: Directory,
	{ start, count, filter }: ReturnType<typeof pageOf>,
	withMembers: boolean,
) {
	const where = and(
		eq(scimGroups.domain_id, directory.domain_id),
		filter === undefined ? undefined : toCondition(filter, attributes),
	);
	const [rows, [counted]] = await directory.read(
		select(directory, withMembers)
			.where(where)
			.orderBy(scimGroups.id)
			.limit(count)
			.offset(start - 1),
		directory.db
			.select({ total: sql<number>`count(*)`.as("total") })
			.from(scimGroups)
			.where(where),
	);
	const resources = await Promise.all(rows.map((row) => toResource(directory, row)));
	return { resources, total: counted?.total ?? 0 };
}

const byId = ({ domain_id }: Directory, id: string) =>
	and(eq(scimGroups.domain_id, domain_id), eq(scimGroups.id, id.toLowerCase()));

export async function find(directory: Directory, id: string, withMembers: boolean) {
	const [[row]] = await directory.read(select(directory, withMembers).where(byId(directory, id)));
	return toResource(directory, orNotFound(row));
}

/** SQL for the ids of those of the domain's users who have these uuids. */
const idsOf = ({ domain_id, organization }: Directory, uuids: string[]) => sql`
	select u.id from users as u where u.uuid in (select value from json_each(${JSON.stringify(uuids)}))
		and not u.is_service_account and (
			exists (select 1 from scim_users as s where s.domain_id = ${domain_id} and s.user_id = u.id)
			or exists (select 1 from members as m join domains as d on d.organization_id = m.organization_id
				where m.organization_id = ${organization} and m.user_id = u.id and d.id = ${domain_id}
					and substr(u.email, instr(u.email, '@') + 1) = d.domain))`;

/** Selects the users who can be members of groups, by their uuids. */
const selectNamed = (directory: Directory, uuids: string[]) =>
	directory.db
		.select({ id: sql<number>`u.id`.as("id"), uuid: sql<string>`u.uuid`.as("uuid") })
		.from(sql`users as u`)
		.where(sql`u.id in (${idsOf(directory, uuids)})`);

/** How many unknown members a message names. */
const MAX_NAMED = 10;

/** Returns the ids of new members, none if they are too many. Unknown users can't be any. */
function toIds(
	uuids: Set<string>,
	{ known, room }: { known: { id: number; uuid: string }[]; room: number },
	problems: Problem[],
) {
	const ids = new Map(known.map(({ id, uuid }) => [uuid, id]));
	const unknown = [...uuids].filter((uuid) => !ids.has(uuid));
	if (unknown.length > 0) {
		const named = unknown.slice(0, MAX_NAMED).map(quoted).join(", ");
		const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} others` : "";
		const detail = `members: This directory has no user ${named}${more}.`;
		problems.push({ rejects: "value", detail });
	}
	if (uuids.size <= room) return [...uuids].flatMap((uuid) => ids.get(uuid) ?? []);
	const detail = `members: A group can have ${MAX_MEMBERS} members.`;
	problems.unshift({ rejects: "value", scim_type: "tooMany", detail });
	return [];
}

/** SQL condition: another group of the domain that has the name. */
const isNamesake = ({ domain_id }: Directory, name: string, id = "") =>
	and(
		eq(scimGroups.domain_id, domain_id),
		ne(scimGroups.id, id.toLowerCase()),
		// `equals` folds the case of 50 different letters.
		or(eq(scimGroups.display_name, name), equals(scimGroups.display_name, name)),
	);

const selectNamesakes = (directory: Directory, name: string, id?: string) =>
	directory.db
		.select({ id: scimGroups.id })
		.from(scimGroups)
		.where(isNamesake(directory, name, id))
		.limit(1);

const nameTaken: Problem = {
	rejects: "request",
	status: 409,
	scim_type: "uniqueness",
	detail: "displayName: There is a group with this name already.",
};

const add = ({ db, domain_id }: Directory, group_id: string, ids: number[]) =>
	ids.length === 0
		? []
		: [
				insertEach(
					db,
					scimGroupMembers,
					ids.map((user_id) => ({ domain_id, group_id, user_id })),
					sql`true`,
				).onConflictDoNothing(),
			];

/** Creates a group. It grants nothing until an admin says what. */
export async function insert(c: Context<App>, value: Record<string, unknown>) {
	const { directory } = c.var;
	const { db, domain_id } = directory;
	const known = unknownIn(value, NAMES);
	const group = readAttributes(canonical(value, NAMES), NOTHING, known);
	return retry(async () => {
		const problems = [...known];
		const [found, namesakes] = await directory.read(
			selectNamed(directory, [...group.members]),
			selectNamesakes(directory, group.displayName),
		);
		const ids = toIds(group.members, { known: found, room: MAX_MEMBERS }, problems);
		if (namesakes.length > 0) problems.push(nameTaken);
		settle(c, "gives", problems);
		const id = v7();
		const hasRoom = sql`(select count(*) from ${scimGroups} where ${scimGroups.domain_id} = ${domain_id}) < ${MAX_GROUPS}`;
		const { rows } = await directory.write({
			checks: [
				assertThat(db, hasRoom, "has_room"),
				assertNone(db, scimGroups, isNamesake(directory, group.displayName)),
			],
			changes: [
				db.insert(scimGroups).values({
					domain_id,
					id,
					external_id: group.externalId ?? null,
					display_name: group.displayName,
				}),
				...add(directory, id, ids),
			],
			entries: [{ scope: "ScimGroup", activity: "created", item_id: id, name: group.displayName }],
			answers: { rows: select(directory).where(byId(directory, id)) },
		});
		return toResource(directory, orNotFound(rows[0]));
	});
}

/** SQL for the ids of a group's members, if the group grants anything. */
const affected = ({ domain_id }: Directory, id: string) => sql`
	select gm.user_id from scim_group_members as gm
	join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
	where gm.domain_id = ${domain_id} and gm.group_id = ${id.toLowerCase()}
		and (g.level is not null or g.projects <> '[]')`;

/** Reads a group to change, of the version that `If-Match` names, and who is affected. */
async function readForChange(c: Context<App>, id: string, { members, displayName }: Body) {
	const { directory } = c.var;
	const uuids = [...members];
	const ids = sql`${affected(directory, id)} union ${idsOf(directory, uuids)}`;
	const [[found], named, namesakes, state] = await directory.read(
		select(directory).where(byId(directory, id)),
		selectNamed(directory, uuids),
		selectNamesakes(directory, displayName, id),
		people.selectState(directory, ids),
	);
	const row = orNotFound(found);
	checkMatch(c, await toResource(directory, row));
	return {
		row,
		named,
		isTaken: namesakes.length > 0,
		state: people.toState(directory, ids, state),
	};
}

/** SQL condition: the group is as it was read. */
const isUnchanged = (directory: Directory, row: Row) => sql`exists (
	select 1 from ${scimGroups} where ${and(
		byId(directory, row.id),
		eq(scimGroups.display_name, row.display_name),
		sql`${scimGroups.external_id} is ${row.external_id}`,
		sql`${membersOf(directory)} is ${row.members}`,
	)})`;

/** Returns the access of those who joined or left the group. */
const planOf = (
	directory: Directory,
	state: people.State,
	id: string,
	moved: Map<number, boolean>,
) =>
	people.plan(
		directory,
		state,
		state.people
			.filter((person) => moved.has(person.id) && state.mapping.has(id) && person.level !== null)
			.map((person) => ({
				person,
				active: true,
				groups: [
					...person.groups.filter((group) => group !== id),
					...(moved.get(person.id) ? [id] : []),
				],
			})),
	);

type Sent = {
	/** Returns the attributes afterwards from those before. */
	after: (before: Body) => Record<string, unknown>;
	/** The parts of the request that can't be carried out, whatever there was before. */
	problems: Problem[];
};

/** Changes a group. Whatever else the request holds, the membership of those who leave ends. */
const change = (c: Context<App>, id: string, sent: Sent) =>
	untilWritten(async () => {
		const { directory } = c.var;
		const asked = readAttributes(sent.after(NOTHING), NOTHING, []);
		const { row, named, isTaken, state } = await readForChange(c, id, asked);
		const current = new Map(readMembers(row).map(([id, uuid]) => [uuid, id]));
		const before = {
			displayName: row.display_name,
			externalId: row.external_id,
			members: new Set(current.keys()),
		};
		const problems = [...sent.problems];
		const { members, ...group } = readAttributes(sent.after(before), before, problems);
		const left = [...current].flatMap(([uuid, id]) => (members.has(uuid) ? [] : [id]));
		const added = members.difference(before.members);
		const room = MAX_MEMBERS - current.size + left.length;
		const joined = toIds(added, { known: named, room }, problems);
		const isRenamed = group.displayName !== row.display_name;
		if (isRenamed && isTaken) problems.push(nameTaken);
		const effect: Effect = left.length > 0 ? "ends" : added.size > 0 ? "gives" : "keeps";
		settle(c, effect, problems);
		return save(directory, row, state, {
			external_id: group.externalId ?? null,
			display_name: isTaken ? row.display_name : group.displayName,
			joined,
			left,
		});
	});

type Change = {
	external_id: string | null;
	display_name: string;
	joined: number[];
	left: number[];
};

async function save(directory: Directory, row: Row, state: people.State, change: Change) {
	const { db, domain_id } = directory;
	const { joined, left, ...set } = change;
	const size = readMembers(row).length;
	const changed = changesOf(
		{ ...row, members: size },
		{ ...set, members: size + joined.length - left.length },
	);
	if (changed.length === 0 && joined.length + left.length === 0) return toResource(directory, row);
	const moved = new Map([
		...left.map((id) => [id, false] as const),
		...joined.map((id) => [id, true] as const),
	]);
	const plan = planOf(directory, state, row.id, moved);
	const isLeft = and(
		eq(scimGroupMembers.domain_id, domain_id),
		eq(scimGroupMembers.group_id, row.id),
		inList(scimGroupMembers.user_id, left),
	);
	const isRenamed = set.display_name !== row.display_name;
	const isOther = isNamesake(directory, set.display_name, row.id);
	const { rows } = await directory.write({
		checks: [
			assertThat(db, isUnchanged(directory, row), "is_current"),
			...(isRenamed ? [assertNone(db, scimGroups, isOther)] : []),
			...state.checks,
		],
		changes: [
			db
				.update(scimGroups)
				.set({ ...set, updated_at: now() })
				.where(byId(directory, row.id)),
			...(left.length > 0 ? [db.delete(scimGroupMembers).where(isLeft)] : []),
			...add(directory, row.id, joined),
			...plan.changes,
			...people.upsert(directory, plan.rows),
		],
		entries: [
			{
				scope: "ScimGroup",
				activity: "updated",
				item_id: row.id,
				name: set.display_name,
				changes: changed,
			},
			...plan.entries,
		],
		answers: { rows: select(directory).where(byId(directory, row.id)) },
	});
	return toResource(directory, orNotFound(rows[0]));
}

export function replace(c: Context<App>, id: string, value: Record<string, unknown>) {
	const body = canonical(value, NAMES);
	return change(c, id, { after: () => body, problems: unknownIn(value, NAMES) });
}

export async function patch(c: Context<App>, id: string, value: Record<string, unknown>) {
	const patch = readPatch(value, NAMES);
	return change(c, id, {
		after: (before) => apply(before, patch),
		problems: patch.problems,
	});
}

/** Deletes a group. Its members lose what only it gave them. */
export const remove = (c: Context<App>, id: string) =>
	untilWritten(async () => {
		const { directory } = c.var;
		const { db, domain_id } = directory;
		const { row, state } = await readForChange(c, id, NOTHING);
		const moved = new Map(readMembers(row).map(([id]) => [id, false] as const));
		const plan = planOf(directory, state, row.id, moved);
		const isMember = and(
			eq(scimGroupMembers.domain_id, domain_id),
			eq(scimGroupMembers.group_id, row.id),
		);
		await directory.write({
			checks: [assertThat(db, isUnchanged(directory, row), "is_current"), ...state.checks],
			changes: [
				db.delete(scimGroupMembers).where(isMember),
				db.delete(scimGroups).where(byId(directory, row.id)),
				...plan.changes,
				...people.upsert(directory, plan.rows),
			],
			entries: [
				{ scope: "ScimGroup", activity: "deleted", item_id: row.id, name: row.display_name },
				...plan.entries,
			],
		});
	});
