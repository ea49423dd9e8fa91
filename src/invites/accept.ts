import { and, eq, gte, ne, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { v7 } from "uuid";
import type * as z from "zod";
import { failed } from "../auth/authenticate.ts";
import { digest, expired, mask, mint, remember } from "../auth/keys.ts";
import { ADMIN } from "../auth/levels.ts";
import { as, connect, insertWhere } from "../db/client.ts";
import { record } from "../db/record.ts";
import {
	invites,
	members,
	organizations,
	personalApiKeys,
	projectMembers,
	projects,
	users,
} from "../db/schema.ts";
import type { App } from "../env.ts";
import {
	badCredentials,
	found,
	invalid,
	notFound,
	throttled,
} from "../http/errors.ts";
import { configured, send } from "../mail/mail.ts";
import { toPersonalApiKey } from "../personal_api_keys/shape.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import { joined } from "./mails.ts";
import {
	type accept as Accept,
	type Accepted,
	type Invitation,
	isExpired,
} from "./shape.ts";

/** The invite whose link holds `token`, with what there is of the person it is for; one trip. */
async function open(c: Context<App>, token: string) {
	const { db } = connect(c, "first-primary");
	const inviter = alias(users, "inviter");
	const asked = alias(personalApiKeys, "asked");
	const asker = alias(users, "asker");
	// Whoever brings no key asks for no key: an empty digest is nobody's.
	const hash = c.get("key")?.hash ?? "";
	const [[invite]] = await db.batch([
		db
			.select({
				id: invites.id,
				organization_id: invites.organization_id,
				target_email: invites.target_email,
				first_name: as(invites.first_name, "invited_first_name"),
				level: as(invites.level, "invited_level"),
				private_project_access: invites.private_project_access,
				emailing_attempt_made: invites.emailing_attempt_made,
				created_at: invites.created_at,
				organization_name: organizations.name,
				slug: organizations.slug,
				tells_admins: organizations.is_member_join_email_enabled,
				inviter_first_name: as(inviter.first_name, "inviter_first_name"),
				user_id: sql<number | null>`${users.id}`.as("user_id"),
				is_active: users.is_active,
				is_email_verified: users.is_email_verified,
				member_level: members.level,
				key_user_id: sql<number | null>`${asked.user_id}`.as("key_user_id"),
				key_id: sql<string | null>`${asked.id}`.as("key_id"),
				key_expires_at: sql<string | null>`${asked.expires_at}`.as(
					"key_expires_at",
				),
				key_is_active: sql<number | null>`${asker.is_active}`.as(
					"key_is_active",
				),
			})
			.from(invites)
			.innerJoin(organizations, eq(organizations.id, invites.organization_id))
			.innerJoin(inviter, eq(inviter.id, invites.created_by))
			.leftJoin(users, eq(users.email, invites.target_email))
			.leftJoin(
				members,
				and(
					eq(members.organization_id, invites.organization_id),
					eq(members.user_id, users.id),
				),
			)
			.leftJoin(asked, eq(asked.hash, hash))
			.leftJoin(asker, eq(asker.id, asked.user_id))
			.where(eq(invites.token_hash, await digest(token))),
	]);
	if (!invite) throw await failed(c, notFound());
	if (hash) await admitKey(c, invite);
	return { db, invite };
}

/** A key that is given must be one that works, though the invite needs none. */
async function admitKey(
	c: Context<App>,
	key: {
		key_id: string | null;
		key_expires_at: string | null;
		key_is_active: number | null;
	},
) {
	if (!key.key_id || !key.key_is_active) throw badCredentials();
	if (expired({ expires_at: key.key_expires_at })) throw badCredentials();
	const { success } = await c.env.REQUESTS.limit({ key: key.key_id });
	if (!success) throw throttled(60);
}

/** What whoever holds the link may know. */
export async function look(
	c: Context<App>,
	token: string,
): Promise<z.infer<typeof Invitation>> {
	const { invite } = await open(c, token);
	const { organization_name, inviter_first_name, target_email, first_name } =
		invite;
	return {
		organization_name,
		inviter_first_name,
		target_email,
		first_name,
		is_expired: isExpired(invite),
	};
}

/**
 * Makes the invited person a member, and a user with a key if it is none yet: one batch, each statement of which
 * holds only while the invite is there, so that of racing requests one succeeds.
 */
export async function accept(
	c: Context<App>,
	token: string,
	body: z.infer<typeof Accept>,
): Promise<z.infer<typeof Accepted>> {
	const { db, invite } = await open(c, token);
	const { organization_id, target_email, level } = invite;
	if (isExpired(invite))
		throw invalid(
			null,
			"This invite has expired. Please ask your admin for a new one.",
			"expired",
		);
	const recipient = invite.key_user_id === invite.user_id;
	if ((invite.key_user_id !== null && !recipient) || invite.is_active === false)
		throw invalid(
			null,
			"This invite is for another user.",
			"invalid_recipient",
		);
	if (invite.member_level !== null)
		throw invalid(
			null,
			"You already are a member of this organization.",
			"user_already_member",
		);
	// A link that no mail carried proves nothing of the address: its user has to say yes.
	if (invite.user_id !== null && !invite.emailing_attempt_made && !recipient)
		throw invalid(
			null,
			"This address is a user's. Accept the invite with a key of that user.",
			"invalid_recipient",
		);

	const tells = invite.tells_admins && configured(c.env);
	const [user, member, value] = [v7(), v7(), mint()];
	const hash = await digest(value);
	const user_id = sql<number>`(select ${users.id} from ${users} where ${users.email} = ${target_email})`;
	const invited = sql`exists (select 1 from ${invites} where ${invites.id} = ${invite.id})`;
	const isMember = sql`exists (select 1 from ${members} where ${members.id} = ${member})`;
	// Whoever made a user of this address never proved that it is theirs; who holds the mail's link does, and takes over.
	const takesOver =
		invite.is_email_verified === false &&
		invite.emailing_attempt_made &&
		!recipient;
	const projectsOf = ({ id }: { id: number }) =>
		sql`exists (select 1 from ${projects} where ${projects.id} = ${id} and ${projects.organization_id} = ${organization_id})
			and not exists (select 1 from ${projectMembers} where ${projectMembers.project_id} = ${id} and ${projectMembers.user_id} = ${user_id})`;

	const [, , , , , gone, , [row], [key], admins] = await db.batch([
		insertWhere(
			db,
			users,
			{
				uuid: user,
				email: target_email,
				first_name: body.first_name ?? invite.first_name,
				last_name: body.last_name ?? "",
			},
			sql`${invited} and ${user_id} is null`,
		),
		insertWhere(
			db,
			members,
			{ id: member, organization_id, user_id, level },
			sql`${invited} and not exists (select 1 from ${members} where ${members.organization_id} = ${organization_id} and ${members.user_id} = ${user_id})`,
		),
		db
			.delete(personalApiKeys)
			.where(
				and(
					eq(personalApiKeys.user_id, user_id),
					isMember,
					takesOver ? undefined : sql`0`,
				),
			),
		insertWhere(
			db,
			personalApiKeys,
			{
				user_id,
				label: "First key",
				hash,
				mask_value: mask(value),
				scopes: ["*"],
			},
			sql`${isMember} and (${takesOver} or exists (select 1 from ${users} where ${users.uuid} = ${user}))`,
		),
		db
			.update(users)
			.set({ is_email_verified: true })
			.where(
				and(
					eq(users.email, target_email),
					isMember,
					invite.emailing_attempt_made ? undefined : sql`0`,
				),
			),
		db
			.delete(invites)
			.where(
				and(
					eq(invites.organization_id, organization_id),
					eq(invites.target_email, target_email),
					isMember,
				),
			)
			.returning(),
		record(db, {
			activity: "accepted",
			scope: "Invite",
			item_id: invite.id,
			name: target_email,
			user_id,
			organization: sql`${organization_id}`,
			project: sql`null`,
		}),
		db.select(userColumns).from(users).where(eq(users.id, user_id)),
		db.select().from(personalApiKeys).where(eq(personalApiKeys.hash, hash)),
		db
			.select({ email: users.email })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(
				and(
					eq(members.organization_id, organization_id),
					gte(members.level, ADMIN),
					eq(users.is_active, true),
					ne(users.email, target_email),
					tells ? undefined : sql`0`,
				),
			),
		...invite.private_project_access.map((access) =>
			insertWhere(
				db,
				projectMembers,
				{
					project_id: access.id,
					organization_id,
					user_id,
					level: levelOf(access),
				},
				sql`${isMember} and ${projectsOf(access)}`,
			),
		),
	]);
	if (gone.length === 0) throw notFound();
	const welcome = found(row);
	if (key)
		await remember(c.env, hash, {
			...key,
			organizations: key.scoped_organizations,
			projects: key.scoped_projects,
		});
	if (tells)
		c.executionCtx.waitUntil(
			Promise.all(
				admins.map(({ email }) =>
					send(c.env, joined(email, welcome, invite.organization_name)),
				),
			),
		);
	return {
		organization: {
			id: organization_id,
			name: invite.organization_name,
			slug: invite.slug,
			membership_level: level,
		},
		user: welcome,
		personal_api_key: key ? toPersonalApiKey(key, value) : null,
	};
}
