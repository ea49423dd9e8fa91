import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import * as z from "zod";
import { retry } from "../../../access/retry.ts";
import { assertThat } from "../../../db/assertion.ts";
import { changes as changesOf } from "../../../db/changes.ts";
import { inList, insertEach } from "../../../db/client.ts";
import { now } from "../../../db/now.ts";
import { scimGroupMembers, scimGroups } from "../../../db/schema/scim.ts";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { rawText } from "../../../http/fields.ts";
import { ScimError } from "../../../http/scim_errors.ts";
import { lazy } from "../../../lib/lazy.ts";
import * as people from "../people.ts";
import type { Directory } from "./directory.ts";
import { type Attributes, ofExactText, ofId, ofText, toCondition } from "./filter.ts";
import { apply, type Operation, readOperations } from "./patch.ts";
import {
	canonical,
	checkMatch,
	type Names,
	optionalText,
	type pageOf,
	parseAs,
	type Resource,
	versioned,
} from "./resource.ts";

/** The attributes of a group that providers can set. */
const NAMES: Names = { displayName: [], externalId: [], members: ["value"] };

/** The most members of a group, and groups of a domain: a change reads them all. */
export const MAX_MEMBERS = 2_000;
const MAX_GROUPS = 1_000;

const body = lazy(() =>
	z.object({
		displayName: rawText(255).min(1),
		externalId: optionalText(),
		members: z
			.array(z.object({ value: z.string().toLowerCase() }))
			.nullish()
			.transform((list) => [...new Set((list ?? []).map(({ value }) => value))]),
	}),
);

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

const hasMember = (uuid: string) => sql`exists (
	select 1 from scim_group_members as gm join users as u on u.id = gm.user_id
	where gm.domain_id = ${scimGroups.domain_id} and gm.group_id = ${scimGroups.id} and u.uuid = ${uuid})`;

const attributes: Attributes = {
	id: ofId((id) => eq(scimGroups.id, id)),
	displayname: ofText(scimGroups.display_name),
	externalid: ofExactText(scimGroups.external_id),
	members: ofId(hasMember),
	"members.value": ofId(hasMember),
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

/** Returns the ids of members. Throws 400 for those that don't exist. */
function toIds(uuids: string[], found: { id: number; uuid: string }[]) {
	if (uuids.length > MAX_MEMBERS)
		throw new ScimError(400, "tooMany", `A group can have ${MAX_MEMBERS} members.`);
	const ids = new Map(found.map(({ id, uuid }) => [uuid, id]));
	return uuids.map((uuid) => {
		const id = ids.get(uuid);
		if (id === undefined)
			throw new ScimError(400, "invalidValue", `members: this directory has no user ${uuid}.`);
		return id;
	});
}

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
export async function insert(directory: Directory, value: Record<string, unknown>) {
	const { db, domain_id } = directory;
	const group = parseAs(body(), canonical(value, NAMES));
	const [found] = await directory.read(selectNamed(directory, group.members));
	const ids = toIds(group.members, found);
	const id = v7();
	const hasRoom = sql`(select count(*) from ${scimGroups} where ${scimGroups.domain_id} = ${domain_id}) < ${MAX_GROUPS}`;
	const { rows } = await directory.write({
		checks: [assertThat(db, hasRoom, "has_room")],
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
}

/** SQL for the ids of a group's members, if the group grants anything. */
const affected = ({ domain_id }: Directory, id: string) => sql`
	select gm.user_id from scim_group_members as gm
	join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
	where gm.domain_id = ${domain_id} and gm.group_id = ${id.toLowerCase()}
		and (g.level is not null or g.projects <> '[]')`;

/** Reads a group to change, of the version that `If-Match` names, and who is affected. */
async function readForChange(c: Context<App>, id: string, uuids: string[]) {
	const { directory } = c.var;
	const ids = sql`${affected(directory, id)} union ${idsOf(directory, uuids)}`;
	const [[found], named, state] = await directory.read(
		select(directory).where(byId(directory, id)),
		selectNamed(directory, uuids),
		people.selectState(directory, ids),
	);
	const row = orNotFound(found);
	checkMatch(c, await toResource(directory, row));
	return { row, named, state: people.toState(directory, ids, state) };
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

/**
 * Changes a group.
 * @param uuids the users that the change names
 * @param after returns the attributes afterwards from those before
 */
const change = (
	c: Context<App>,
	id: string,
	uuids: string[],
	after: (before: Record<string, unknown>) => unknown,
) =>
	retry(async () => {
		const { directory } = c.var;
		const { row, named, state } = await readForChange(c, id, uuids);
		const members = readMembers(row);
		const before = {
			displayName: row.display_name,
			...(row.external_id !== null && { externalId: row.external_id }),
			members: members.map(([, value]) => ({ value })),
		};
		const group = parseAs(body(), canonical(after(before), NAMES));
		const known = [...members.map(([id, uuid]) => ({ id, uuid })), ...named];
		const wanted = new Set(toIds(group.members, known));
		const current = new Set(members.map(([id]) => id));
		return save(directory, row, state, {
			external_id: group.externalId ?? null,
			display_name: group.displayName,
			joined: [...wanted.difference(current)],
			left: [...current.difference(wanted)],
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
	const { rows } = await directory.write({
		checks: [assertThat(db, isUnchanged(directory, row), "is_current"), ...state.checks],
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

export async function replace(c: Context<App>, id: string, value: Record<string, unknown>) {
	const { members } = parseAs(body(), canonical(value, NAMES));
	return change(c, id, members, () => value);
}

const uuids = lazy(() => z.array(z.object({ value: z.string().toLowerCase() })).catch([]));

/** The users that an operation names. */
const namedBy = ({ value }: Operation) =>
	uuids()
		.parse([value].flat())
		.map(({ value }) => value);

export async function patch(c: Context<App>, id: string, value: Record<string, unknown>) {
	const operations = readOperations(value, NAMES);
	return change(c, id, operations.flatMap(namedBy), (before) => apply(before, operations));
}

/** Deletes a group. Its members lose what only it gave them. */
export const remove = (c: Context<App>, id: string) =>
	retry(async () => {
		const { directory } = c.var;
		const { db, domain_id } = directory;
		const { row, state } = await readForChange(c, id, []);
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
