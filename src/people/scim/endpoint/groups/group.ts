import { and, eq, ne, or, sql } from "drizzle-orm";
import * as z from "zod";
import { equals } from "../../../../db/contains.ts";
import { scimGroups } from "../../../../db/schema/scim.ts";
import { rawText } from "../../../../http/fields.ts";
import { lazy } from "../../../../lib/lazy.ts";
import type { Directory } from "../directory.ts";
import type { Problem } from "../problems.ts";
import {
	idsIn,
	MAX_TEXT_LENGTH,
	type Names,
	optionalText,
	type Resource,
	take,
	takeShown,
	versioned,
} from "../resource.ts";

/** The attributes of a group that providers can set. */
export const NAMES: Names = { displayName: [], externalId: [], members: ["value"] };

const values = lazy(() => ({
	displayName: rawText(MAX_TEXT_LENGTH).min(1),
	externalId: optionalText(),
}));

/** The attributes of a group. */
export type Body = {
	displayName: string;
	externalId: string | null | undefined;
	/** The ids of the members. */
	members: Set<string>;
};

/** The state of a new group before the request. */
export const NOTHING: Body = { displayName: "", externalId: null, members: new Set() };

/** Reads the attributes of a group. Those that aren't valid stay as they were before. */
export function readAttributes(
	sent: Record<string, unknown>,
	before: Body,
	problems: Problem[],
): Body {
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
export const membersOf = ({ domain_id }: Directory) => sql<string>`(
	select json_group_array(json_array(u.id, u.uuid) order by u.id)
	from scim_group_members as gm join users as u on u.id = gm.user_id
	where gm.domain_id = ${domain_id} and gm.group_id = scim_groups.id)`;

/** @param withMembers whether the members are read */
export const select = (directory: Directory, withMembers = true) =>
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

export type Row = Awaited<ReturnType<typeof select>>[number];

const membership = lazy(() => z.array(z.tuple([z.number(), z.string()])));

export const readMembers = ({ members }: Row) => membership().parse(JSON.parse(members));

export const toResource = (directory: Directory, row: Row): Promise<Resource> =>
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

export const byId = ({ domain_id }: Directory, id: string) =>
	and(eq(scimGroups.domain_id, domain_id), eq(scimGroups.id, id.toLowerCase()));

/** SQL condition: another group of the domain that has the name. */
export const isNamesake = ({ domain_id }: Directory, name: string, id = "") =>
	and(
		eq(scimGroups.domain_id, domain_id),
		ne(scimGroups.id, id.toLowerCase()),
		// `equals` folds the case of 50 different letters.
		or(eq(scimGroups.display_name, name), equals(scimGroups.display_name, name)),
	);

export const selectNamesakes = (directory: Directory, name: string, id?: string) =>
	directory.db
		.select({ id: scimGroups.id })
		.from(scimGroups)
		.where(isNamesake(directory, name, id))
		.limit(1);

export const nameTaken: Problem = {
	rejects: "request",
	status: 409,
	scim_type: "uniqueness",
	detail: "displayName: There is a group with this name already.",
};
