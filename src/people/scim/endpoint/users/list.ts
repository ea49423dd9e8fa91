import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { members, users } from "../../../../db/schema/people.ts";
import { scimUsers } from "../../../../db/schema/scim.ts";
import { orNotFound } from "../../../../http/errors.ts";
import { normalizeAddress } from "../../../../http/fields.ts";
import type { Directory } from "../directory.ts";
import {
	type Attribute,
	type Attributes,
	isPinned,
	ofBoolean,
	ofExactText,
	ofId,
	ofMoment,
	ofText,
	toCondition,
} from "../filter.ts";
import type { pageOf } from "../resource.ts";
import { isVisible, joins, select, toResource } from "./user.ts";

const ofEmail = ofText(users.email);

const ofAddress: Attribute = {
	...ofEmail,
	compare: (op, value) =>
		op === "eq" && typeof value === "string"
			? eq(users.email, normalizeAddress(value))
			: ofEmail.compare(op, value),
};

/** The name that the provider sent, or else what it is for the account. */
const ofName = (path: string, ofAccount: SQL | SQLiteColumn) =>
	ofText(
		sql`iif(${scimUsers.names} is null, ${ofAccount}, ${scimUsers.names} ->> ${sql.raw(`'${path}'`)})`,
	);

const attributes: Attributes = {
	id: ofId(users.uuid),
	username: ofAddress,
	emails: ofAddress,
	"emails.value": ofAddress,
	// Everybody has one address, which is the one for work.
	"emails.type": ofText(sql`'work'`),
	"emails.primary": ofBoolean(sql`true`),
	displayname: ofName("$.displayName", sql`trim(${users.first_name} || ' ' || ${users.last_name})`),
	"name.formatted": ofName("$.name.formatted", sql`''`),
	"name.givenname": ofName("$.name.givenName", users.first_name),
	"name.familyname": ofName("$.name.familyName", users.last_name),
	externalid: ofExactText(scimUsers.external_id),
	active: ofBoolean(sql`${members.id} is not null and ${users.is_active}`),
	"meta.created": ofMoment(users.created_at),
	"meta.lastmodified": ofMoment(
		sql`coalesce(${scimUsers.updated_at}, ${members.updated_at}, ${users.created_at})`,
	),
};

const PINNED = ["id", "username", "emails", "emails.value", "externalid"];

/** Lists users by their age. Returns the page, and their number. */
export async function list(
	directory: Directory,
	{ start, count, filter }: ReturnType<typeof pageOf>,
) {
	const { organization, domain_id, db } = directory;
	// Without this, the list would start from all accounts of the service.
	const isCandidate = sql`${users.id} in (
		select c.user_id from scim_users as c where c.domain_id = ${domain_id}
		union select m.user_id from members as m where m.organization_id = ${organization})`;
	const where = and(
		filter !== undefined && isPinned(filter, PINNED) ? undefined : isCandidate,
		isVisible(directory),
		filter === undefined ? undefined : toCondition(filter, attributes),
	);
	const { scim, member } = joins(directory);
	const [rows, [counted]] = await directory.read(
		select(directory)
			.where(where)
			.orderBy(users.id)
			.limit(count)
			.offset(start - 1),
		db
			.select({ total: sql<number>`count(*)`.as("total") })
			.from(users)
			.leftJoin(scimUsers, scim)
			.leftJoin(members, member)
			.where(where),
	);
	const resources = await Promise.all(rows.map((row) => toResource(directory, row)));
	return { resources, total: counted?.total ?? 0 };
}

export async function find(directory: Directory, uuid: string) {
	const isUser = and(eq(users.uuid, uuid.toLowerCase()), isVisible(directory));
	const [[row]] = await directory.read(select(directory).where(isUser));
	return toResource(directory, orNotFound(row));
}
