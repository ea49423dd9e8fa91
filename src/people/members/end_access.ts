/** Admins end what gives a member access (docs/organizations.md#the-page-of-a-member). */
import { and, eq, isNull } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { idOf } from "../../access/visible.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { forbidden, orNotFound } from "../../http/errors.ts";
import { endKey } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import {
	assertReached,
	checkReached,
	entriesIn,
	selectReached,
} from "../personal_api_keys/ended_by_admin.ts";
import { reaches } from "../personal_api_keys/reach.ts";
import * as sessions from "../personal_api_keys/sessions.ts";
import { keyEnded, mailChange, sessionsEnded } from "../users/mails.ts";
import { checkEditable, isEditable, type Row, selectMember } from "./queries.ts";

/**
 * Throws 403 if the member's level is above the caller's, or it is the caller, whose own keys and
 * sessions have other scopes.
 */
function checkOther(tenant: Tenant, member: Row, path: string) {
	checkEditable(tenant, member);
	if (member.user.id === tenant.key.user_id) throw forbidden(`Use ${path} for your own.`);
}

/**
 * Ends a member's key that can access the organization, also for the member's other organizations,
 * each of which gets an event.
 * @throws 403 if the caller isn't an admin of each, or the member's level is above the caller's
 */
export const removeKey = (tenant: Tenant, uuid: string, id: string) =>
	retry(async () => {
		const { db, env } = tenant;
		const isThis = and(
			eq(personalApiKeys.user_id, idOf(tenant, uuid)),
			eq(personalApiKeys.id, id.toLowerCase()),
			isNull(personalApiKeys.session),
			isNull(personalApiKeys.client_id),
			reaches(tenant.organization),
		);
		const [[found], [row], reached] = await tenant.read(
			selectMember(tenant, uuid),
			db.select().from(personalApiKeys).where(isThis),
			selectReached(tenant, isThis),
		);
		const member = orNotFound(found);
		checkOther(tenant, member, "/api/personal_api_keys");
		const { id: item_id, label, scopes, expires_at } = orNotFound(row);
		checkReached(reached);
		const entry = {
			activity: "deleted" as const,
			scope: "PersonalApiKey" as const,
			item_id,
			name: label,
			values: { label, scopes, expires_at },
		};
		const entries = entriesIn(tenant, reached, entry, member.user.email);
		const { checks, ...parts } = endKey(db, isThis, entries);
		await tenant.write({
			...parts,
			checks: [
				...checks,
				assertExists(db, members, isEditable(tenant, member)),
				assertReached(tenant, isThis),
			],
			revokes: { type: "personal_api_key", id: item_id, user: null },
		});
		const change = keyEnded(label, reached[0]?.name ?? "");
		tenant.later(() => mailChange(env, member.user.id, change, null));
	});

/**
 * Ends all sessions of a member, also those that begin meanwhile. Each organization of the member gets
 * an event for each that hasn't expired.
 * @throws 403 if the caller isn't an admin of each, or the member's level is above the caller's
 */
export const removeSessions = (tenant: Tenant, uuid: string) =>
	retry(async () => {
		const { db, env } = tenant;
		const theirs = { user_id: idOf(tenant, uuid) };
		const [[found], all, reached] = await tenant.read(
			selectMember(tenant, uuid),
			sessions.select(db, theirs),
			selectReached(tenant, sessions.theirs(theirs)),
		);
		const member = orNotFound(found);
		checkOther(tenant, member, "/api/users/@me/sessions");
		if (all.length === 0) return;
		checkReached(reached);
		const ids = all.map(({ id }) => id);
		const current = all.filter(({ expires_at }) => expires_at !== null && expires_at > now());
		await tenant.write({
			checks: [
				assertExists(db, members, isEditable(tenant, member)),
				assertThat(db, sessions.areAll(theirs, ids), "is_current"),
				assertReached(tenant, sessions.theirs(theirs)),
			],
			changes: [sessions.remove(db, theirs)],
			entries: current.flatMap((session) =>
				entriesIn(tenant, reached, sessions.adminEntry(session), member.user.email),
			),
		});
		const change = sessionsEnded(reached[0]?.name ?? "");
		tenant.later(() => mailChange(env, member.user.id, change, null));
	});
