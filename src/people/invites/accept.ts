import type { Context } from "hono";
import type * as z from "zod";
import { commit, retry } from "../../access/unit_of_work.ts";
import type { App } from "../../env.ts";
import { forbidden, invalid, moving, orNotFound } from "../../http/errors.ts";
import { remember } from "../../keys/rows.ts";
import { toPersonalApiKey } from "../personal_api_keys/shape.ts";
import { acceptance, firstKey } from "./accept_batch.ts";
import {
	findInvitation,
	type Invitation,
	isRecipient,
	isUnproved,
	mustSignIn,
} from "./invitation.ts";
import { type Accepted, isPastExpiry, type accept as Names } from "./shape.ts";

/**
 * Makes the invited person a member of the organization. If no user has the email address, creates
 * one with an API key. If another request changes what was checked before the write, nothing is
 * written and the checks run again.
 * @throws 400 if the invite can't be accepted, 409 if other requests interfered each time, and what
 * `findInvitation` throws
 */
export const accept = (c: Context<App>, token: string, names: z.infer<typeof Names>) =>
	retry(async () => {
		const invitation = await findInvitation(c, token);
		checkAcceptable(invitation);
		return write(c, invitation, names);
	});

/** Throws the first reason why the invite can't be accepted. */
function checkAcceptable(invitation: Invitation) {
	const { key, invite } = invitation;
	if (invite.is_moving) throw moving();
	if (isPastExpiry(invite))
		throw invalid(null, "This invite has expired. Please ask your admin for a new one.", "expired");
	if (!invite.inviter_may_invite)
		throw invalid(
			null,
			"The person who invited you can no longer do so. Please ask for a new invite.",
			"inviter_lost_access",
		);
	if ((key && !isRecipient(invitation)) || invite.is_active === false)
		throw invalid(null, "This invite is for another user.", "invalid_recipient");
	if (invite.member_level !== null)
		throw invalid(null, "You are already a member of this organization.", "user_already_member");
	if (isUnproved(invitation))
		throw invalid(
			null,
			"A user with this address already exists. Accept the invite with an API key of that user.",
			"invalid_recipient",
		);
	if (mustSignIn(invitation))
		throw forbidden(
			"Sign in first, then accept the invite with your key: a link in a mail is not enough to sign in with this email address.",
			"sign_in_required",
		);
}

async function write(
	c: Context<App>,
	invitation: Invitation,
	names: z.infer<typeof Names>,
): Promise<z.infer<typeof Accepted>> {
	const { db, invite } = invitation;
	const minted = await firstKey(invitation);
	const write = acceptance(invitation, names, minted);
	const { users, keys } = await commit(c.env, db, write, c);
	const [key] = keys;
	if (key) await remember(c.env, key);
	return {
		organization: {
			id: invite.organization_uuid,
			name: invite.organization_name,
			slug: invite.slug,
			membership_level: invite.level,
		},
		user: orNotFound(users[0]),
		personal_api_key: key ? toPersonalApiKey(key, minted.value) : null,
	};
}
