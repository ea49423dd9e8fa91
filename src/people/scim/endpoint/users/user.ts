import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import * as z from "zod";
import { aliased } from "../../../../db/client.ts";
import { isPerson, members, users } from "../../../../db/schema/people.ts";
import { type ScimNames, scimUsers } from "../../../../db/schema/scim.ts";
import { email } from "../../../../http/fields.ts";
import { lazy } from "../../../../lib/lazy.ts";
import type { Directory } from "../directory.ts";
import type { Problem } from "../problems.ts";
import {
	isObject,
	type Names,
	optionalText,
	type Resource,
	take,
	takeShown,
	unknownIn,
	versioned,
} from "../resource.ts";

/** The attributes of a user that providers can set. */
export const NAMES: Names = {
	userName: [],
	externalId: [],
	active: [],
	displayName: [],
	name: ["formatted", "givenName", "familyName"],
};

const values = lazy(() => ({ userName: email(), externalId: optionalText() }));

type OptionalText = string | null | undefined;

/** The attributes of a user. */
export type Body = {
	userName: string;
	/** undefined: the request doesn't say. */
	active?: boolean | undefined;
	externalId?: OptionalText;
	displayName?: OptionalText;
	name?: { [K in "formatted" | "givenName" | "familyName"]?: OptionalText } | undefined;
};

const nullable = <C extends SQLiteColumn, const N extends string>(column: C, name: N) =>
	sql<C["_"]["data"] | null>`${column}`.mapWith(column).as(name);

/** SQL condition: the address of the user is in the domain. */
const inDomain = ({ domain_id, organization }: Directory) =>
	sql`substr(${users.email}, instr(${users.email}, '@') + 1) = (
		select d.domain from domains as d where d.organization_id = ${organization} and d.id = ${domain_id})`;

/** SQL condition: the user is one of the domain's, or was added by SCIM. */
export const isVisible = (directory: Directory) =>
	and(
		isPerson,
		sql`(${scimUsers.user_id} is not null or (${members.id} is not null and ${inDomain(directory)}))`,
	);

/** The tables of a user, joined with `users`. */
export const joins = ({ domain_id, organization }: Directory) => ({
	scim: and(eq(scimUsers.domain_id, domain_id), eq(scimUsers.user_id, users.id)),
	member: and(eq(members.organization_id, organization), eq(members.user_id, users.id)),
});

export function select(directory: Directory) {
	const { scim, member } = joins(directory);
	return directory.db
		.select({
			user_id: aliased(users.id, "account_id"),
			uuid: users.uuid,
			email: users.email,
			first_name: users.first_name,
			last_name: users.last_name,
			is_active: users.is_active,
			created_at: aliased(users.created_at, "account_created_at"),
			level: nullable(members.level, "member_level"),
			joined_at: nullable(members.updated_at, "member_updated_at"),
			managed: nullable(scimUsers.user_id, "managed"),
			external_id: nullable(scimUsers.external_id, "external_id"),
			names: nullable(scimUsers.names, "names"),
			updated_at: nullable(scimUsers.updated_at, "scim_updated_at"),
			groups: sql<string>`(select json_group_array(json_array(g.id, g.display_name) order by g.id)
				from scim_group_members as gm join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
				where gm.domain_id = ${directory.domain_id} and gm.user_id = ${users.id})`.as("groups"),
		})
		.from(users)
		.leftJoin(scimUsers, scim)
		.leftJoin(members, member)
		.$dynamic();
}

export type Row = Awaited<ReturnType<typeof select>>[number];

const pairs = lazy(() => z.array(z.tuple([z.string(), z.string()])));

/** Returns the names as the provider sent them, else those of the account. */
export const namesOf = ({ names, first_name, last_name }: Row): ScimNames =>
	names ?? {
		displayName: `${first_name} ${last_name}`.trim() || undefined,
		name: { givenName: first_name || undefined, familyName: last_name || undefined },
	};

export const isActive = ({ level, is_active }: Row) => level !== null && is_active;

/** The fields that a provider can change besides `active`, as it was before a request. */
export const writable = (row: Row): Body => ({
	userName: row.email,
	...(row.external_id !== null && { externalId: row.external_id }),
	...namesOf(row),
});

export function toResource(directory: Directory, row: Row): Promise<Resource> {
	const { displayName, name } = namesOf(row);
	const groups = pairs().parse(JSON.parse(row.groups));
	const hasName = Object.values(name ?? {}).some((part) => part !== undefined);
	return versioned({
		schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
		id: row.uuid,
		...(row.external_id !== null && { externalId: row.external_id }),
		userName: row.email,
		...(hasName && { name }),
		...(displayName !== undefined && { displayName }),
		active: isActive(row),
		emails: [{ value: row.email, type: "work", primary: true }],
		...(groups.length > 0 && {
			groups: groups.map(([value, display]) => ({
				value,
				display,
				$ref: `${directory.url}/Groups/${value}`,
				type: "direct",
			})),
		}),
		meta: {
			resourceType: "User",
			created: row.created_at,
			lastModified: row.updated_at ?? row.joined_at ?? row.created_at,
			location: `${directory.url}/Users/${row.uuid}`,
		},
	});
}

/**
 * Returns `active`: whatever isn't true ends the access, so that no unknown value keeps it or gives
 * it (docs/sign-on.md#users).
 */
function takeActive(value: unknown, problems: Problem[]) {
	if (value === undefined || typeof value === "boolean") return value;
	const text = typeof value === "string" ? value.toLowerCase() : undefined;
	if (text !== "true" && text !== "false")
		problems.push({ rejects: "value", detail: "active: Neither true nor false, so it is false." });
	return text === "true";
}

/** Returns the attributes of a body that we don't know, and `emails` if they aren't the userName. */
export function ignoredIn(body: Record<string, unknown>): Problem[] {
	const { data: userName } = values().userName.safeParse(body.userName);
	const isUserName = (item: unknown) =>
		isObject(item) && typeof item.value === "string" && item.value.toLowerCase() === userName;
	const isSame = [body.emails].flat().every(isUserName);
	return unknownIn(body, isSame ? { ...NAMES, emails: [] } : NAMES);
}

/** Reads the attributes of a user. Those that aren't valid stay as they were before. */
export function readAttributes(
	sent: Record<string, unknown>,
	before: Body,
	problems: Problem[],
): Body {
	const { userName, externalId } = values();
	const name = sent.name ?? {};
	const parts = isObject(name) ? name : undefined;
	if (!parts) problems.push({ rejects: "shown", detail: "name: Expected a dictionary of items." });
	const part = (key: "formatted" | "givenName" | "familyName") =>
		takeShown({ name: `name.${key}`, value: parts?.[key], before: before.name?.[key] }, problems);
	const given = <N extends "userName" | "externalId" | "displayName">(name: N) => ({
		name,
		value: sent[name],
		before: before[name],
	});
	return {
		userName: take(given("userName"), userName, problems),
		active: takeActive(sent.active, problems),
		externalId: take(given("externalId"), externalId, problems),
		displayName: takeShown(given("displayName"), problems),
		name: parts
			? {
					formatted: part("formatted"),
					givenName: part("givenName"),
					familyName: part("familyName"),
				}
			: before.name,
	};
}

/** Returns the names of a body, without what is missing. */
export function toNames({ displayName, name }: Body): ScimNames {
	const parts = Object.entries(name ?? {}).filter(
		([, part]) => part !== null && part !== undefined,
	);
	return {
		...(parts.length > 0 && { name: Object.fromEntries(parts) }),
		...(displayName !== null && displayName !== undefined && { displayName }),
	};
}

const MAX_NAME_LENGTH = 150;

/** Returns the names of the account: if there are no parts, the whole name is the first name. */
export function toAccount({ name, displayName }: ScimNames) {
	const { givenName, familyName, formatted } = name ?? {};
	const hasParts = givenName !== undefined || familyName !== undefined;
	const first = hasParts ? (givenName ?? "") : (displayName ?? formatted ?? "");
	const cut = (text: string) => [...text.replace(/\p{Cc}/gu, " ").trim()].slice(0, MAX_NAME_LENGTH);
	return { first_name: cut(first).join(""), last_name: cut(familyName ?? "").join("") };
}

/** The row of `scim_users` of a body. */
export const columnsOf = (user: Body) => ({
	external_id: user.externalId ?? null,
	names: toNames(user),
});
