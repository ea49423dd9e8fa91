import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import { retry } from "../../../../access/unit_of_work.ts";
import { changes as changesOf } from "../../../../db/changes.ts";
import { assertNone, assertThat, inList } from "../../../../db/client.ts";
import { scimGroupMembers, scimGroups } from "../../../../db/schema/scim.ts";
import type { App } from "../../../../env.ts";
import { orNotFound } from "../../../../http/errors.ts";
import { now } from "../../../../lib/time.ts";
import * as people from "../../people.ts";
import type { Directory } from "../directory.ts";
import { apply, readPatch } from "../patch.ts";
import { type Effect, type Problem, settle } from "../problems.ts";
import { canonical, checkMatch, unknownIn, untilWritten } from "../resource.ts";
import {
	type Body,
	byId,
	isNamesake,
	membersOf,
	NAMES,
	NOTHING,
	nameTaken,
	type Row,
	readAttributes,
	readMembers,
	select,
	selectNamesakes,
	toResource,
} from "./group.ts";
import { add, affected, idsOf, MAX_MEMBERS, planOf, selectNamed, toIds } from "./members.ts";

/** The maximum number of groups of a domain: a change reads them all. */
const MAX_GROUPS = 1_000;

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
			entries: [
				{
					scope: "ScimGroup",
					activity: "created",
					item_id: id,
					name: group.displayName,
					values: { displayName: group.displayName, externalId: group.externalId },
				},
			],
			answers: { rows: select(directory).where(byId(directory, id)) },
		});
		return toResource(directory, orNotFound(rows[0]));
	});
}

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
				{
					scope: "ScimGroup",
					activity: "deleted",
					item_id: row.id,
					name: row.display_name,
					values: { displayName: row.display_name, externalId: row.external_id },
				},
				...plan.entries,
			],
		});
	});
