import { and, eq, gt, isNull, or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { readAll as readAllPages, readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { keyHasScope } from "../../access/visible.ts";
import { contains } from "../../db/contains.ts";
import type { List } from "../../db/list.ts";
import { oauthRefreshTokens, trustedIssuers } from "../../db/schema/oauth.ts";
import { domains, organizations } from "../../db/schema/organizations.ts";
import { members, serviceAccounts, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { scimTokens } from "../../db/schema/scim.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import type { Download } from "../../http/download.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { allowedScopes, getsInto } from "../personal_api_keys/reach.ts";
import type { Credential, filters } from "./shape.ts";

type Listed = z.infer<typeof Credential>;
type Filters = z.infer<typeof filters>;

/** SQL for a text of ours. */
const constant = (text: string) => sql.raw(`'${text}'`);

/** What the parts of the list select, under names that conditions can refer to in each of them. */
const columnsOf = (
	kind: SQL,
	from: {
		/** The id of the user by which the list is sorted; 0 before them. */
		position: SQLWrapper;
		id: SQLWrapper;
		label: SQLWrapper;
		/** The URL of a webhook, which can be secret. */
		url?: SQLWrapper;
		owner: { kind: SQL; id: SQLWrapper; name: SQLWrapper; email?: SQLWrapper };
		/** JSON. */
		scopes?: SQLWrapper;
		/** JSON. */
		scoped_projects?: SQLWrapper;
		created_at: SQLWrapper;
		last_used_at: SQLWrapper;
		expires_at?: SQLWrapper;
	},
) => ({
	position: sql<number>`${from.position}`.as("c_position"),
	id: sql<string>`${from.id}`.as("c_id"),
	kind: sql<Listed["kind"]>`${kind}`.as("c_kind"),
	label: sql<string>`${from.label}`.as("c_label"),
	url: sql<string | null>`${from.url ?? sql`null`}`.as("c_url"),
	owner_kind: sql<Listed["owner"]["kind"]>`${from.owner.kind}`.as("c_owner_kind"),
	owner_id: sql<string>`${from.owner.id}`.as("c_owner_id"),
	owner_name: sql<string>`${from.owner.name}`.as("c_owner_name"),
	owner_email: sql<string | null>`${from.owner.email ?? sql`null`}`.as("c_owner_email"),
	scopes: sql<string>`${from.scopes ?? constant("[]")}`.as("c_scopes"),
	scoped_projects: sql<string>`${from.scoped_projects ?? constant("[]")}`.as("c_projects"),
	created_at: sql<string>`${from.created_at}`.as("c_created_at"),
	last_used_at: sql<string | null>`${from.last_used_at}`.as("c_last_used_at"),
	expires_at: sql<string | null>`${from.expires_at ?? sql`null`}`.as("c_expires_at"),
});

const BEFORE_USERS = sql`0`;

/** The id is null for keys that aren't an app's. */
const grant = oauthRefreshTokens;

/** Keys of members and service accounts, and the apps of members. */
const selectKeys = ({ db, organization }: Tenant) =>
	db
		.select(
			columnsOf(
				sql`case when ${grant.key_id} is not null then 'oauth_grant'
					when ${users.is_service_account} then 'service_account_key' else 'personal_api_key' end`,
				{
					position: members.user_id,
					id: personalApiKeys.id,
					label: personalApiKeys.label,
					owner: {
						kind: sql`iif(${users.is_service_account}, 'service_account', 'user')`,
						id: users.uuid,
						name: sql`trim(${users.first_name} || ' ' || ${users.last_name})`,
						email: sql`iif(${users.is_service_account}, null, ${users.email})`,
					},
					scopes: allowedScopes,
					// Not those of other organizations.
					scoped_projects: sql`(select json_group_array(value) from json_each(${personalApiKeys.scoped_projects})
						where value in (select p.id from projects as p where p.organization_id = ${organization}))`,
					created_at: personalApiKeys.created_at,
					last_used_at: personalApiKeys.last_used_at,
					expires_at: sql`iif(${grant.key_id} is null, ${personalApiKeys.expires_at}, ${grant.ends_at})`,
				},
			),
		)
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(personalApiKeys, eq(personalApiKeys.user_id, members.user_id))
		.leftJoin(grant, eq(grant.key_id, personalApiKeys.id))
		.$dynamic();

const selectIssuers = ({ db }: Tenant) =>
	db
		.select(
			columnsOf(constant("trusted_issuer"), {
				position: BEFORE_USERS,
				id: trustedIssuers.id,
				label: trustedIssuers.name,
				owner: {
					kind: constant("service_account"),
					id: serviceAccounts.id,
					name: serviceAccounts.name,
				},
				scopes: trustedIssuers.scopes,
				scoped_projects: trustedIssuers.scoped_projects,
				created_at: trustedIssuers.created_at,
				last_used_at: trustedIssuers.last_used_at,
			}),
		)
		.from(trustedIssuers)
		.innerJoin(
			serviceAccounts,
			and(
				eq(serviceAccounts.organization_id, trustedIssuers.organization_id),
				eq(serviceAccounts.id, trustedIssuers.service_account_id),
			),
		)
		.$dynamic();

const selectScimTokens = ({ db }: Tenant) =>
	db
		.select(
			columnsOf(constant("scim_token"), {
				position: BEFORE_USERS,
				id: scimTokens.id,
				label: scimTokens.mask_value,
				owner: { kind: constant("domain"), id: domains.id, name: domains.domain },
				created_at: scimTokens.created_at,
				last_used_at: scimTokens.last_used_at,
				expires_at: scimTokens.expires_at,
			}),
		)
		.from(scimTokens)
		.innerJoin(
			domains,
			and(
				eq(domains.organization_id, scimTokens.organization_id),
				eq(domains.id, scimTokens.domain_id),
			),
		)
		.$dynamic();

const selectWebhooks = ({ db }: Tenant) =>
	db
		.select(
			columnsOf(constant("webhook"), {
				position: BEFORE_USERS,
				id: webhooks.id,
				label: webhooks.description,
				url: webhooks.url,
				owner: {
					kind: constant("organization"),
					id: organizations.uuid,
					name: organizations.name,
				},
				created_at: webhooks.created_at,
				last_used_at: sql`${webhooks.deliveries} ->> '$[0].created_at'`,
			}),
		)
		.from(webhooks)
		.innerJoin(organizations, eq(organizations.id, webhooks.organization_id))
		.$dynamic();

/** The parts of the list, each with the condition for what can still get in. */
const partsOf = (tenant: Tenant) => {
	const { organization } = tenant;
	const hasNotEnded = (
		expires_at: typeof personalApiKeys.expires_at | typeof scimTokens.expires_at,
	) => or(isNull(expires_at), gt(expires_at, now()));
	return [
		{
			kinds: ["personal_api_key", "service_account_key", "oauth_grant"],
			select: selectKeys,
			where: and(
				eq(members.organization_id, organization),
				eq(users.is_active, true),
				isNull(personalApiKeys.session),
				getsInto(organization),
				// The keys that issuers are given have a client, too, but no refresh token.
				or(
					and(isNull(personalApiKeys.client_id), hasNotEnded(personalApiKeys.expires_at)),
					gt(grant.expires_at, now()),
				),
			),
		},
		{
			kinds: ["trusted_issuer"],
			select: selectIssuers,
			where: eq(trustedIssuers.organization_id, organization),
		},
		{
			kinds: ["scim_token"],
			select: selectScimTokens,
			where: and(
				eq(scimTokens.organization_id, organization),
				hasNotEnded(scimTokens.expires_at),
				keyHasScope(tenant, "organization:read"),
				viewable(tenant, "domain", scimTokens.domain_id),
			),
		},
		{
			kinds: ["webhook"],
			select: selectWebhooks,
			where: and(
				eq(webhooks.organization_id, organization),
				keyHasScope(tenant, "webhook:read"),
				viewable(tenant, "webhook", webhooks.id),
			),
		},
	] as const;
};

/** SQL for the host of a webhook's URL, which is its label if it has no description. */
const HOST = sql`coalesce(substr(c_url, instr(c_url, '//') + 2, instr(substr(c_url, instr(c_url, '//') + 2) || '/', '/') - 1), '')`;

/** The conditions of the filters, by the names of `columnsOf`. */
const matches = ({ kind, owner, search, unused_since, expires_before }: Filters) =>
	and(
		kind && sql`c_kind in (select value from json_each(${JSON.stringify(kind)}))`,
		owner ? sql`c_owner_id = ${owner}` : undefined,
		search
			? contains(
					sql`c_id || ' ' || c_label || ' ' || ${HOST} || ' ' || c_owner_name || ' ' || coalesce(c_owner_email, '')`,
					search,
				)
			: undefined,
		unused_since ? sql`coalesce(c_last_used_at, c_created_at) < ${unused_since}` : undefined,
		expires_before ? sql`c_expires_at < ${expires_before}` : undefined,
	);

type Select = ReturnType<ReturnType<typeof partsOf>[number]["select"]>;
type Row = Awaited<Select>[number];

const positionOf = ({ position, id }: Row) => [position, id];

/** The list: what belongs to no user, then by user, the oldest first. */
export function listOf(tenant: Tenant, filters: Filters): List<Select> {
	const { kind } = filters;
	const parts = partsOf(tenant).filter(
		({ kinds }) => !kind || kinds.some((one) => kind.includes(one)),
	);
	const where = matches(filters);
	const select = (part: number) => (parts[part]?.select ?? selectKeys)(tenant);
	const whole = parts.map((part) => part.select(tenant).where(and(where, part.where)).getSQL());
	return {
		select,
		where,
		parts: parts.map((part) => part.where),
		total: sql`(select count(*) from (${sql.join(whole, sql` union all `)}))`,
		by: [members.user_id, personalApiKeys.id],
		names: ["c_position", "c_id"],
		order: "asc",
		seek: ([position, id]) =>
			sql`c_position >= ${position} and c_id > iif(c_position = ${position}, ${id}, '')`,
		keys: positionOf,
	};
}

const listRows = (tenant: Tenant, page: Page, filters: Filters) =>
	readPage(tenant, page, listOf(tenant, filters));

const toCredential = ({ url, ...row }: Row): Listed => ({
	id: row.id,
	kind: row.kind,
	label: row.label || (url ? new URL(url).host : ""),
	owner: {
		kind: row.owner_kind,
		id: row.owner_id,
		name: row.owner_name,
		email: row.owner_email,
	},
	scopes: JSON.parse(row.scopes),
	scoped_projects: JSON.parse(row.scoped_projects),
	created_at: row.created_at,
	last_used_at: row.last_used_at,
	expires_at: row.expires_at,
});

export const list = async (tenant: Tenant, page: Page, filters: Filters) =>
	mapResults(await listRows(tenant, page, filters), toCredential);

/** Yields all credentials, in groups. */
export async function* readAll(tenant: Tenant, page: Page, filters: Filters) {
	const pages = readAllPages(page, (part) => listRows(tenant, part, filters), positionOf);
	for await (const rows of pages) yield rows.map(toCredential);
}

/** The columns of a CSV file. */
export const columns: Download<Listed>["columns"] = {
	id: (row) => row.id,
	kind: (row) => row.kind,
	label: (row) => row.label,
	owner_kind: (row) => row.owner.kind,
	owner_id: (row) => row.owner.id,
	owner_name: (row) => row.owner.name,
	owner_email: (row) => row.owner.email,
	scopes: (row) => row.scopes.join(" "),
	scoped_projects: (row) => row.scoped_projects.join(" "),
	created_at: (row) => row.created_at,
	last_used_at: (row) => row.last_used_at,
	expires_at: (row) => row.expires_at,
};
