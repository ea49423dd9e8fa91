import { sql } from "drizzle-orm";
import { insertEach } from "../../../../db/client.ts";
import { scimGroupMembers } from "../../../../db/schema/scim.ts";
import * as people from "../../people.ts";
import type { Directory } from "../directory.ts";
import type { Problem } from "../problems.ts";
import { quoted } from "../resource.ts";

/** The maximum number of members of a group: a change reads them all. */
export const MAX_MEMBERS = 2_000;

/** SQL for the ids of those of the domain's users who have these uuids. */
export const idsOf = ({ domain_id, organization }: Directory, uuids: string[]) => sql`
	select u.id from users as u where u.uuid in (select value from json_each(${JSON.stringify(uuids)}))
		and not u.is_service_account and (
			exists (select 1 from scim_users as s where s.domain_id = ${domain_id} and s.user_id = u.id)
			or exists (select 1 from members as m join domains as d on d.organization_id = m.organization_id
				where m.organization_id = ${organization} and m.user_id = u.id and d.id = ${domain_id}
					and substr(u.email, instr(u.email, '@') + 1) = d.domain))`;

/** Selects the users who can be members of groups, by their uuids. */
export const selectNamed = (directory: Directory, uuids: string[]) =>
	directory.db
		.select({ id: sql<number>`u.id`.as("id"), uuid: sql<string>`u.uuid`.as("uuid") })
		.from(sql`users as u`)
		.where(sql`u.id in (${idsOf(directory, uuids)})`);

/** How many unknown members a message names. */
const MAX_NAMED = 10;

/** Returns the ids of new members, none if they are too many. Unknown users can't be any. */
export function toIds(
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

export const add = ({ db, domain_id }: Directory, group_id: string, ids: number[]) =>
	ids.length === 0
		? []
		: [
				insertEach(db, scimGroupMembers, {
					rows: ids.map((user_id) => ({ domain_id, group_id, user_id })),
				}).onConflictDoNothing(),
			];

/** SQL for the ids of a group's members, if the group grants anything. */
export const affected = ({ domain_id }: Directory, id: string) => sql`
	select gm.user_id from scim_group_members as gm
	join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
	where gm.domain_id = ${domain_id} and gm.group_id = ${id.toLowerCase()}
		and ${people.isMapped}`;

/** Returns the access of those who joined or left the group. */
export const planOf = (
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
