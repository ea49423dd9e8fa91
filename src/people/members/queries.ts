import { and, eq, lt, ne, sql } from "drizzle-orm";
import type * as z from "zod";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists } from "../../db/client.ts";
import { ADMIN, OWNER } from "../../db/schema/levels.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isPerson, members, users } from "../../db/schema/people.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { now } from "../../lib/time.ts";
import { selectLinks, unlinking } from "../identities/links.ts";
import { isHere } from "../identities/of_member.ts";
import { adminOf, identityUnlinked, mailChange } from "../users/mails.ts";
import { userColumns } from "../users/shape.ts";
import type { update as Update } from "./shape.ts";

export const select = ({ db }: QueryScope) =>
	db
		.select({
			id: members.id,
			user: userColumns,
			level: members.level,
			joined_at: members.joined_at,
			updated_at: members.updated_at,
			is_2fa_enabled: users.is_2fa_enabled,
			has_social_auth: users.has_social_auth,
		})
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id));

export type Row = Awaited<ReturnType<typeof select>>[number];

const isSelf = ({ key }: Tenant, { user }: Row) => user.id === key.user_id;

function selectMember(tenant: Tenant, uuid: string) {
	const isUser =
		uuid === "@me" ? eq(users.id, tenant.key.user_id) : eq(users.uuid, uuid.toLowerCase());
	return select(tenant).where(
		and(eq(members.organization_id, tenant.organization), isPerson, isUser),
	);
}

/** Finds a member. Throws 404 if there is none, 403 if the caller may not edit it. */
export const find = async (tenant: Tenant, uuid: string) =>
	editableBy(tenant, await tenant.find(selectMember(tenant, uuid)));

function editableBy(tenant: Tenant, member: Row) {
	const { level } = tenant.caller;
	if (!isSelf(tenant, member) && level < ADMIN)
		throw forbidden("You can only edit others if you are an admin.");
	if (member.level > level)
		throw forbidden("You can only edit others with level lower or equal to you.");
	return member;
}

/** WHERE clause: the caller's level is still at least the member's. */
const editable = (tenant: Tenant) =>
	sql`(select caller.level from members as caller where caller.organization_id = ${tenant.organization} and caller.user_id = ${tenant.key.user_id}) >= ${members.level}`;

/** WHERE clause: the same member, by its primary key. The user may have left and joined again. */
const isSame = (tenant: Tenant, { id, user }: Row) =>
	and(
		eq(members.organization_id, tenant.organization),
		eq(members.user_id, user.id),
		eq(members.id, id),
	);

export const update = (tenant: Tenant, uuid: string, body: z.infer<typeof Update>) =>
	retry(async () => {
		const member = await find(tenant, uuid);
		const { level = member.level } = body;
		if (body.level !== undefined && isSelf(tenant, member))
			throw forbidden("You can't change your own access level.");
		if (level === OWNER && tenant.caller.level < OWNER && body.level)
			throw forbidden(
				"You can only make another member owner if you're this organization's owner.",
			);
		if (level > tenant.caller.level)
			throw forbidden(
				"You can only change access level of others to lower or equal to your current one.",
			);
		const entry = { scope: "Member" as const, name: member.user.email };
		return tenant.patch(member, body, entry, () => ({
			checks: [assertExists(tenant.db, members, and(isSame(tenant, member), editable(tenant)))],
			changes: [
				tenant.db.update(members).set({ level, updated_at: now() }).where(isSame(tenant, member)),
			],
			answer: select(tenant).where(isSame(tenant, member)),
		}));
	});

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
		const [[found], links, [organization]] = await tenant.read(
			selectMember(tenant, uuid),
			selectLinks(db, where),
			db
				.select({ name: organizations.name })
				.from(organizations)
				.where(eq(organizations.id, tenant.organization)),
		);
		const member = editableBy(tenant, orNotFound(found));
		if (member.level === OWNER) throw invalid(null, "Cannot leave the organization as its owner!");
		const isMember = and(isSame(tenant, member), lt(members.level, OWNER), editable(tenant));
		const ended = unlinking(db, where, links);
		await tenant.write({
			checks: [assertExists(db, members, isMember), ...ended.checks],
			changes: [...ended.changes, db.delete(members).where(isMember)],
			entries: [
				{ activity: "deleted", scope: "Member", item_id: member.id, name: member.user.email },
				...ended.entries,
			],
		});
		const who = adminOf(organization?.name ?? "");
		for (const link of links)
			tenant.later(() => mailChange(env, member.user.id, identityUnlinked(link, who), null));
	});
