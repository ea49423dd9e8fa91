import { and, eq, type SQL, sql } from "drizzle-orm";
import { users } from "../../../../db/schema/people.ts";
import { scimGroups } from "../../../../db/schema/scim.ts";
import { orNotFound } from "../../../../http/errors.ts";
import type { Directory } from "../directory.ts";
import {
	type Attribute,
	type Attributes,
	ofExactText,
	ofId,
	ofMoment,
	ofText,
	toCondition,
} from "../filter.ts";
import type { pageOf } from "../resource.ts";
import { byId, select, toResource } from "./group.ts";

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

export async function find(directory: Directory, id: string, withMembers: boolean) {
	const [[row]] = await directory.read(select(directory, withMembers).where(byId(directory, id)));
	return toResource(directory, orNotFound(row));
}
