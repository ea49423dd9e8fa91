import { and, eq, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import type * as z from "zod";
import { guard } from "../../access/guard.ts";
import { connect } from "../../db/bookmark.ts";
import { aliased, runBatch } from "../../db/client.ts";
import { isMoving, organizations } from "../../db/schema/organizations.ts";
import { invites, members, users } from "../../db/schema/people.ts";
import type { App } from "../../env.ts";
import { badCredentials, notFound } from "../../http/errors.ts";
import { countRequest } from "../../http/rate_limit.ts";
import { addressOf, checkAddress, countFailure } from "../../keys/addresses.ts";
import { digest, type Key, toKey } from "../../keys/keys.ts";
import { needsMoreThanMail } from "../identities/sign_in_rules.ts";
import { inviterMayInvite } from "../levels.ts";
import { isExpired, type Invitation as Preview } from "./shape.ts";

export type Invitation = Awaited<ReturnType<typeof findInvitation>>;

/**
 * Returns the invite whose link has this token, the user with its email address, and the request's
 * key, in one round trip.
 * @throws 401 for an invalid key, 403 for a key that doesn't allow the client's IP address, 404 for
 * an unknown token, 429 after too many requests or unknown tokens
 */
export async function findInvitation(c: Context<App>, token: string) {
	const { db } = connect(c, "first-primary");
	const { idempotency } = c.var;
	await idempotency?.readRequest();
	const inviter = alias(users, "inviter");
	// Without a key, the guard looks up the empty hash, which matches no row.
	const hash = c.get("key")?.hash ?? "";
	const { callers, invitations, used } = await runBatch(db, {
		callers: guard(db, { hash, isOrganization: sql`false`, project: sql`null` }),
		invitations: db
			.select({
				id: invites.id,
				organization_id: invites.organization_id,
				target_email: invites.target_email,
				first_name: aliased(invites.first_name, "invited_first_name"),
				level: aliased(invites.level, "invited_level"),
				message: invites.message,
				private_project_access: invites.private_project_access,
				emailing_attempt_made: invites.emailing_attempt_made,
				created_by: invites.created_by,
				created_at: invites.created_at,
				inviter_may_invite: inviterMayInvite.mapWith(Boolean).as("inviter_may_invite"),
				organization_uuid: organizations.uuid,
				organization_name: organizations.name,
				slug: organizations.slug,
				is_moving: isMoving,
				inviter: {
					first_name: aliased(inviter.first_name, "inviter_first_name"),
					last_name: aliased(inviter.last_name, "inviter_last_name"),
					email: aliased(inviter.email, "inviter_email"),
				},
				user_id: sql<number | null>`${users.id}`.as("user_id"),
				is_active: users.is_active,
				is_email_verified: users.is_email_verified,
				member_level: members.level,
				needs_sign_in: needsMoreThanMail(sql`${invites.target_email}`)
					.mapWith(Boolean)
					.as("needs_sign_in"),
			})
			.from(invites)
			.innerJoin(organizations, eq(organizations.id, invites.organization_id))
			.innerJoin(inviter, eq(inviter.id, invites.created_by))
			.leftJoin(users, eq(users.email, invites.target_email))
			.leftJoin(
				members,
				and(eq(members.organization_id, invites.organization_id), eq(members.user_id, users.id)),
			)
			.where(eq(invites.token_hash, await digest(token))),
		used: idempotency?.lookUp(db),
	});
	const [caller] = callers;
	const key = caller && toKey(caller);
	if (hash) await checkKey(c, key);
	if (key) await idempotency?.check({ key, is_session: caller.is_session }, used?.[0]);
	const [invite] = invitations;
	if (!invite) throw await countFailure(c, notFound());
	return { db, hash, key, invite };
}

/** Checks the optional key: it must be valid, and the request counts against its rate limit. */
async function checkKey(c: Context<App>, key: Key | undefined) {
	if (!key) throw badCredentials();
	const tooMany = await countRequest(c, key.id);
	if (tooMany) throw tooMany;
	const denied = await checkAddress(key, addressOf(c));
	if (denied) throw denied;
}

/** Whether the request has a key of the user whom the invite is for. */
export const isRecipient = ({ key, invite }: Invitation) =>
	key !== undefined && key.user_id === invite.user_id;

/** Whether an existing user's invite may be in other hands: not mailed, and without a key. */
export const isUnproved = (invitation: Invitation) =>
	invitation.invite.user_id !== null &&
	!invitation.invite.emailing_attempt_made &&
	!isRecipient(invitation);

/**
 * Whether the invite can only be accepted with a key of the user, because a link in a mail isn't
 * enough to sign in with this email address. Only who could accept the invite otherwise learns it.
 */
export const mustSignIn = (invitation: Invitation) =>
	invitation.invite.needs_sign_in && !isRecipient(invitation) && !isUnproved(invitation);

/**
 * Whether accepting gives the holder of the link control of an existing user: the user's email
 * address was never verified, and the link was mailed to it.
 */
export const isTakeover = (invitation: Invitation) =>
	invitation.invite.is_email_verified === false &&
	invitation.invite.emailing_attempt_made &&
	!isRecipient(invitation);

/** Returns what anyone with the link may see of the invite. Throws as `findInvitation`. */
export async function preview(c: Context<App>, token: string): Promise<z.infer<typeof Preview>> {
	const { invite } = await findInvitation(c, token);
	const { organization_name, inviter, target_email, first_name } = invite;
	return {
		organization_name,
		inviter_first_name: inviter.first_name,
		target_email,
		first_name,
		is_expired: isExpired(invite),
	};
}
