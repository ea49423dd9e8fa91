import { and, eq, lt, ne, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { idOf } from "../../access/visible.ts";
import { assertExists } from "../../db/client.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isPerson, members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { isHere, selectLinks, unlinking } from "../identities/links.ts";
import { isEditableBy, whyNot } from "../levels.ts";
import { leave, ROLES_OF_MEMBER, setLevel } from "../memberships.ts";
import { reaches } from "../personal_api_keys/reach.ts";
import { adminOf, identityUnlinked, mailChange } from "../users/mails.ts";
import { userColumns } from "../users/shape.ts";
import type { update as Update } from "./shape.ts";

export const columns = {
	id: members.id,
	user: userColumns,
	level: members.level,
	joined_at: members.joined_at,
	updated_at: members.updated_at,
	is_2fa_enabled: users.is_2fa_enabled,
	has_social_auth: users.has_social_auth,
};

export const select = ({ db }: QueryScope) =>
	db.select(columns).from(members).innerJoin(users, eq(users.id, members.user_id));

export type Row = Awaited<ReturnType<typeof select>>[number];

/** Selects the person with this uuid, if they are a member. */
export function selectMember(tenant: Tenant, uuid: string) {
	const isUser =
		uuid === "@me" ? eq(users.id, tenant.key.user_id) : eq(users.uuid, uuid.toLowerCase());
	return select(tenant).where(
		and(eq(members.organization_id, tenant.organization), isPerson, isUser),
	);
}

/** Throws 403 if the caller may not edit the member, or not set its level to `level`. */
export function checkEditable(
	{ caller, key }: Tenant,
	{ user, level: current }: Row,
	level?: number,
) {
	const why = whyNot(
		{ user_id: key.user_id, level: caller.level },
		{ user_id: user.id, level: current },
		level,
	);
	if (why) throw forbidden(why);
}

/** Finds a member. Throws 404 if there is none, 403 if the caller may not edit it. */
export async function findEditable(tenant: Tenant, uuid: string) {
	const member = await tenant.find(selectMember(tenant, uuid));
	checkEditable(tenant, member);
	return member;
}

/** WHERE clause: the member, if the caller still may edit it. */
export const isEditable = (tenant: Tenant, member: Row) =>
	and(isSame(tenant, member), isEditableBy(tenant.key.user_id, tenant.organization));

/** WHERE clause: the same member, by its primary key. The user may have left and joined again. */
const isSame = (tenant: Tenant, { id, user }: Row) =>
	and(
		eq(members.organization_id, tenant.organization),
		eq(members.user_id, user.id),
		eq(members.id, id),
	);

export const update = (tenant: Tenant, uuid: string, body: z.infer<typeof Update>) =>
	retry(async () => {
		const member = await findEditable(tenant, uuid);
		const { level } = body;
		if (level === undefined) return member;
		checkEditable(tenant, member, level);
		const entry = { scope: "Member" as const, name: member.user.email };
		return tenant.patch(member, body, entry, () => ({
			checks: [assertExists(tenant.db, members, isEditable(tenant, member))],
			changes: [setLevel(tenant.db, isSame(tenant, member), level)],
			answer: select(tenant).where(isSame(tenant, member)),
		}));
	});

const countOf = (from: SQL, name: string) => sql<number>`(select count(*) from ${from})`.as(name);

/** Selects how much ends with a membership, for its last entry in the log, which all members can read. */
const selectEnding = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			projects: countOf(
				sql`project_members as pm where pm.organization_id = ${members.organization_id} and pm.user_id = ${members.user_id}`,
				"project_count",
			),
			roles: countOf(sql`(${ROLES_OF_MEMBER})`, "role_count"),
			keys: countOf(
				sql`${personalApiKeys} where ${personalApiKeys.user_id} = ${members.user_id}
					and ${personalApiKeys.session} is null and ${reaches(members.organization_id)}`,
				"key_count",
			),
		})
		.from(members)
		.where(
			and(
				eq(members.organization_id, tenant.organization),
				eq(members.user_id, idOf(tenant, uuid)),
			),
		);

/**
 * Removes a member and its project memberships. If somebody else removes the member, this also ends
 * the links to the providers of the organization's domains: after a return, the account at the
 * provider is often another one (docs/sign-on.md#unlinking).
 * @throws 400 for an owner
 */
export const remove = (tenant: Tenant, uuid: string) =>
	retry(async () => {
		const { db, env } = tenant;
		const where = and(isHere(tenant, uuid), ne(identities.user_id, tenant.key.user_id));
		const [[found], links, [organization], [ending]] = await tenant.read(
			selectMember(tenant, uuid),
			selectLinks(db, where),
			db
				.select({ name: organizations.name })
				.from(organizations)
				.where(eq(organizations.id, tenant.organization)),
			selectEnding(tenant, uuid),
		);
		const member = orNotFound(found);
		checkEditable(tenant, member);
		if (member.level === OWNER) throw invalid(null, "Cannot leave the organization as its owner!");
		const isLeaving = and(isEditable(tenant, member), lt(members.level, OWNER));
		const ended = unlinking(db, where, links);
		const left = leave(
			db,
			{ id: member.id, name: member.user.email, level: member.level, ...ending },
			isLeaving,
		);
		await tenant.write({
			checks: [assertExists(db, members, isLeaving), ...ended.checks],
			changes: [...ended.changes, ...left.changes],
			entries: [...left.entries, ...ended.entries],
			revokes: { type: "member", id: member.id, user: member.user.uuid },
		});
		const who = adminOf(organization?.name ?? "");
		for (const link of links)
			tenant.later(() => mailChange(env, member.user.id, identityUnlinked(link, who), null));
	});
