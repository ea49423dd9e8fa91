/** What belongs to a member, or to somebody who was one (docs/organizations.md#the-page-of-a-member). */
import { and, eq, gt, isNotNull, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { hasScope, type ScopeObject } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { idOf, visibleProjectHere } from "../../access/visible.ts";
import { aliased } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { projects } from "../../db/schema/organizations.ts";
import {
	isPerson,
	members,
	projectMembers,
	serviceAccounts,
	users,
} from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { orNotFound } from "../../http/errors.ts";
import { iso, now } from "../../lib/time.ts";
import { isHere } from "../identities/links.ts";
import { select as selectIdentities, toIdentity } from "../identities/queries.ts";
import { columns } from "./columns.ts";
import type { MemberDetails } from "./shape.ts";

/** How many objects of each kind are listed. */
const LIMIT = 100;

/** How many of the newest entries of the log are searched for somebody who isn't a member. */
const MAX_ENTRIES = 5000;

const isMember = ({ organization }: Tenant) =>
	and(eq(members.organization_id, organization), eq(members.user_id, users.id));

/** WHERE clause on `members`: the membership of the user in the path. */
const isTheirs = (tenant: Tenant, uuid: string) =>
	and(eq(members.organization_id, tenant.organization), eq(members.user_id, idOf(tenant, uuid)));

/**
 * SQL for what the newest entries of the log that are by or about the user in `users` say: how many
 * there are, and when the last removal was. Null for a member, whose entries aren't read. Only names of
 * members are addresses: others are free, and would confirm whose address somebody has guessed.
 */
const past = ({ organization }: Tenant) =>
	sql`iif(${members.id} is not null, null, (
		select json_object('entries', count(*),
			'left_at', max(entry.created_at) filter (where entry.scope = 'Member' and entry.activity = 'deleted' and entry.name = ${users.email}))
		from (
			select log.user_id, log.scope, log.activity, log.name, log.created_at from ${activityLog} as log
			where log.organization_id = ${organization} and not log.is_system
			order by log.position desc limit ${MAX_ENTRIES}) as entry
		where entry.user_id = ${users.id} or (entry.scope = 'Member' and entry.name = ${users.email})))`
		.mapWith((json): { entries: number; left_at: number | null } => JSON.parse(json))
		.as("past");

/** Selects a member, or somebody who was one. Others have no entries. */
const selectPerson = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({ ...columns, id: members.id, past: past(tenant) })
		.from(users)
		.leftJoin(members, isMember(tenant))
		.where(and(eq(users.id, idOf(tenant, uuid)), isPerson));

/** Selects the projects of which somebody is a member themselves. */
const selectProjects = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			id: projects.id,
			name: projects.name,
			access_control: projects.access_control,
			level: projectMembers.level,
		})
		.from(projectMembers)
		.innerJoin(projects, eq(projects.id, projectMembers.project_id))
		.where(
			and(
				eq(projectMembers.organization_id, tenant.organization),
				eq(projectMembers.user_id, idOf(tenant, uuid)),
				visibleProjectHere(tenant),
			),
		)
		.orderBy(projects.id)
		.limit(LIMIT);

/** Selects the sessions of a member that haven't expired, newest first. */
const selectSessions = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			id: personalApiKeys.id,
			created_at: personalApiKeys.created_at,
			last_used_at: personalApiKeys.last_used_at,
			session: personalApiKeys.session,
		})
		.from(personalApiKeys)
		.where(
			and(
				eq(personalApiKeys.user_id, idOf(tenant, uuid)),
				isNotNull(personalApiKeys.session),
				gt(personalApiKeys.expires_at, now()),
				sql`exists (select 1 from ${members} where ${isTheirs(tenant, uuid)})`,
			),
		)
		.orderBy(sql`${personalApiKeys.id} desc`)
		.limit(LIMIT);

const selectAccounts = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			id: serviceAccounts.id,
			name: serviceAccounts.name,
			keys: sql<number>`(select count(*) from personal_api_keys as k
				where k.user_id = service_accounts.user_id and k.client_id is null)`.as("key_count"),
		})
		.from(serviceAccounts)
		.where(
			and(
				eq(serviceAccounts.organization_id, tenant.organization),
				eq(serviceAccounts.created_by, idOf(tenant, uuid)),
			),
		)
		.orderBy(serviceAccounts.id)
		.limit(LIMIT);

/** SQL condition: by its first entry in the log, the user has created the object with this id. */
const isMadeBy = (tenant: Tenant, uuid: string, item_id: SQL) => sql`(
	select iif(log.activity = 'created', log.user_id, null) from ${activityLog} as log
	where log.organization_id = ${tenant.organization} and log.item_id = ${item_id} and not log.is_system
	order by log.position limit 1) = ${idOf(tenant, uuid)}`;

const selectExports = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			id: aliased(batchExports.uuid, "id"),
			name: batchExports.name,
			project_id: batchExports.project_id,
			paused: batchExports.paused,
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.where(
			and(
				eq(batchExports.organization_id, tenant.organization),
				sql`not ${batchExports.deleted} and not ${batchExports.one_off}`,
				isMadeBy(tenant, uuid, sql`${batchExports.uuid}`),
				visibleProjectHere(tenant),
				viewable(tenant, "batch_export", batchExports.uuid),
			),
		)
		.orderBy(batchExports.uuid)
		.limit(LIMIT);

const selectWebhooks = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			id: webhooks.id,
			url: webhooks.url,
			description: webhooks.description,
			enabled: webhooks.enabled,
		})
		.from(webhooks)
		.where(
			and(
				eq(webhooks.organization_id, tenant.organization),
				isMadeBy(tenant, uuid, sql`${webhooks.id}`),
				viewable(tenant, "webhook", webhooks.id),
			),
		)
		.orderBy(webhooks.id)
		.limit(LIMIT);

/** What is only known, or only the organization's business, while somebody is a member. */
const NOT_A_MEMBER = {
	last_sign_in_at: null,
	last_active_at: null,
	is_2fa_enabled: null,
	has_social_auth: null,
	roles: [],
	keys: [],
	apps: [],
};

/**
 * Finds a member with what belongs to them, in one round trip. Leaves out what the key has no scope
 * to read.
 * @throws 404 for somebody who isn't a member, unless entries of the log are by or about them
 */
export async function find(tenant: Tenant, uuid: string): Promise<z.infer<typeof MemberDetails>> {
	const [[found], inProjects, linked, sessions, accounts, exports, hooks] = await tenant.read(
		selectPerson(tenant, uuid),
		selectProjects(tenant, uuid),
		selectIdentities(tenant)
			.where(isHere(tenant, uuid))
			.orderBy(identities.connection)
			.limit(LIMIT),
		selectSessions(tenant, uuid),
		selectAccounts(tenant, uuid),
		selectExports(tenant, uuid),
		selectWebhooks(tenant, uuid),
	);
	const isKnown = found && (found.id !== null || found.past?.entries);
	const { past, is_service_account: _, ...person } = orNotFound(isKnown ? found : undefined);
	const may = (object: ScopeObject) => hasScope(tenant.caller.key.scopes, `${object}:read`);
	return {
		...person,
		...(person.id === null && NOT_A_MEMBER),
		is_member: person.id !== null,
		left_at: past?.left_at ? iso(past.left_at) : null,
		projects: may("project") ? inProjects : [],
		identities: linked.map(toIdentity),
		sessions: sessions.map(({ session, ...row }) => ({
			...row,
			method: session?.method ?? "",
			user_agent: session?.user_agent ?? null,
		})),
		service_accounts: accounts,
		batch_exports: may("batch_export") ? exports : [],
		webhooks: may("webhook")
			? hooks.map(({ url, description, ...row }) => ({
					...row,
					name: description || new URL(url).host,
				}))
			: [],
	};
}
