/** Admins end what gives a member access (docs/organizations.md#the-page-of-a-member). */
import { and, eq, isNull } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { organizationId, organizations } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import { endKey } from "../../keys/rows.ts";
import { idOf } from "../identities/of_member.ts";
import { reaches } from "../personal_api_keys/reach.ts";
import * as sessions from "../personal_api_keys/sessions.ts";
import { keyEnded, mailChange, sessionsEnded } from "../users/mails.ts";
import { checkEditable, isEditable, selectMember } from "./queries.ts";

const selectOrganization = ({ db, organization }: Tenant) =>
	db
		.select({ uuid: organizations.uuid, name: organizations.name })
		.from(organizations)
		.where(eq(organizations.id, organization));

/**
 * Ends a member's key that can access the organization, also for the member's other organizations.
 * Those that it is limited to get an event, without who it was.
 * @throws 403 if the member's level is above the caller's
 */
export const removeKey = (tenant: Tenant, uuid: string, id: string) =>
	retry(async () => {
		const { db, env, key } = tenant;
		const isThis = and(
			eq(personalApiKeys.user_id, idOf(tenant, uuid)),
			eq(personalApiKeys.id, id.toLowerCase()),
			isNull(personalApiKeys.session),
			isNull(personalApiKeys.client_id),
			reaches(tenant.organization),
		);
		const [[found], [row], [organization]] = await tenant.read(
			selectMember(tenant, uuid),
			db.select().from(personalApiKeys).where(isThis),
			selectOrganization(tenant),
		);
		const member = orNotFound(found);
		checkEditable(tenant, member);
		const [ended, { uuid: here, name }] = [orNotFound(row), orNotFound(organization)];
		const { label, scopes, expires_at } = ended;
		const entry = {
			activity: "deleted" as const,
			scope: "PersonalApiKey" as const,
			item_id: ended.id,
			name: label,
			values: { label, scopes, expires_at },
			project: null,
			trigger: { job: "admin", user: member.user.email },
		};
		const others = ended.scoped_organizations.filter((other) => other !== here);
		const { checks, ...parts } = endKey(db, isThis, [
			{ ...entry, organization: tenant.organization, user_id: key.user_id },
			...others.map((other) => ({
				...entry,
				organization: organizationId(other),
				user_id: member.user.id,
			})),
		]);
		await tenant.write({
			...parts,
			checks: [...checks, assertExists(db, members, isEditable(tenant, member))],
			revokes: { type: "personal_api_key", id: ended.id, user: null },
		});
		tenant.later(() => mailChange(env, member.user.id, keyEnded(label, name), null));
	});

/**
 * Ends all sessions of a member, also those that begin meanwhile.
 * @throws 403 if the member's level is above the caller's
 */
export const removeSessions = (tenant: Tenant, uuid: string) =>
	retry(async () => {
		const { db, env, key } = tenant;
		const theirs = { user_id: idOf(tenant, uuid) };
		const [[found], rows, [organization]] = await tenant.read(
			selectMember(tenant, uuid),
			sessions.select(db, theirs),
			selectOrganization(tenant),
		);
		const member = orNotFound(found);
		checkEditable(tenant, member);
		if (rows.length === 0) return;
		const ids = rows.map(({ id }) => id);
		await tenant.write({
			checks: [
				assertExists(db, members, isEditable(tenant, member)),
				assertThat(db, sessions.areAll(theirs, ids), "is_current"),
			],
			changes: [sessions.remove(db, theirs)],
			entries: rows.map((row) => ({
				...sessions.endEntry(row, "admin"),
				user_id: key.user_id,
				organization: tenant.organization,
				trigger: { job: "admin", user: member.user.email },
			})),
		});
		const change = sessionsEnded(organization?.name ?? "");
		tenant.later(() => mailChange(env, member.user.id, change, null));
	});
