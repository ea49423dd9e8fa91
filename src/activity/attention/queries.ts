import { and, eq, gt, isNotNull, isNull, lt, not, or, type SQL, sql } from "drizzle-orm";
import { viewable } from "../../access/access_levels.ts";
import { hasScope, type ScopeObject } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { visibleProjectHere } from "../../access/visible.ts";
import { aliased } from "../../db/client.ts";
import { accessControls } from "../../db/schema/access.ts";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { ADMIN, PLUGINS_CONFIG } from "../../db/schema/levels.ts";
import { domains, projects } from "../../db/schema/organizations.ts";
import { serviceAccounts } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { pluginConfigs, plugins } from "../../db/schema/plugins.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { gridOf } from "../../exports/engine/grid.ts";
import { toUndelivered, undeliveredIn } from "../../exports/engine/undelivered.ts";
import { DAY_MS, iso } from "../../lib/time.ts";
import { type Found, type Item, STATES } from "./shape.ts";

/** How many objects of each kind are listed. */
const LIMIT = 100;

/** Keys that expire within this time are listed, unless they were made to last less than a day. */
const EXPIRES_MS = 7 * DAY_MS;

const NOTHING = {
	detail: null,
	since: null,
	expires_at: null,
	undelivered_windows: null,
	project_id: null,
	service_account_id: null,
};

/** Selects the exports that are paused, or that have windows which weren't delivered. */
function selectExports(tenant: Tenant) {
	const undelivered = undeliveredIn(tenant.db, sql`${batchExports.id}`).as("undelivered");
	const listed = tenant.db
		.select({
			id: aliased(batchExports.uuid, "id"),
			name: batchExports.name,
			...gridOf(batchExports),
			paused: batchExports.paused,
			last_paused_at: batchExports.last_paused_at,
			pause_note: batchExports.pause_note,
			project_id: batchExports.project_id,
			undelivered,
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.where(
			and(
				eq(batchExports.organization_id, tenant.organization),
				sql`not ${batchExports.deleted} and not ${batchExports.one_off}`,
				visibleProjectHere(tenant),
				viewable(tenant, "batch_export", batchExports.uuid),
			),
		)
		.as("listed");
	const isMissing = sql`(${listed.undelivered} ->> 'runs' > 0 or json_array_length(${listed.undelivered} -> 'ranges') > 0)`;
	return tenant.db.select().from(listed).where(or(listed.paused, isMissing)).limit(LIMIT);
}

const exportItem = (row: Awaited<ReturnType<typeof selectExports>>[number]): Item => {
	const found = toUndelivered(row, row.undelivered);
	const { id, name, project_id, paused } = row;
	return {
		...NOTHING,
		kind: "batch_export",
		id,
		name,
		project_id,
		state: paused ? (found ? "stopped" : "paused") : "failing",
		detail: found?.latest_error ?? row.pause_note,
		since: found?.start_at ?? row.last_paused_at,
		undelivered_windows: found?.windows ?? 0,
	};
};

const selectConfigs = (tenant: Tenant) =>
	tenant.db
		.select({
			id: pluginConfigs.id,
			name: sql<string>`coalesce(${pluginConfigs.name}, ${plugins.name})`.as("shown_name"),
			project_id: pluginConfigs.project_id,
			error: pluginConfigs.error,
		})
		.from(projects)
		.innerJoin(pluginConfigs, eq(pluginConfigs.project_id, projects.id))
		.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
		.where(
			and(
				eq(projects.organization_id, tenant.organization),
				visibleProjectHere(tenant),
				viewable(tenant, "plugin", pluginConfigs.plugin_id),
				pluginConfigs.enabled,
				not(pluginConfigs.deleted),
				isNotNull(pluginConfigs.error),
			),
		)
		.limit(LIMIT);

/** Selects keys that expire soon. */
function selectKeys(tenant: Tenant, where: SQL | undefined) {
	const { expires_at, created_at } = personalApiKeys;
	return tenant.db
		.select({
			id: personalApiKeys.id,
			label: personalApiKeys.label,
			expires_at,
			account: aliased(serviceAccounts.id, "account_id"),
			account_name: aliased(serviceAccounts.name, "account_name"),
		})
		.from(personalApiKeys)
		.leftJoin(
			serviceAccounts,
			and(
				eq(serviceAccounts.user_id, personalApiKeys.user_id),
				eq(serviceAccounts.organization_id, tenant.organization),
			),
		)
		.where(
			and(
				where,
				isNull(personalApiKeys.session),
				isNull(personalApiKeys.client_id),
				gt(expires_at, iso(Date.now())),
				lt(expires_at, iso(Date.now() + EXPIRES_MS)),
				sql`julianday(${expires_at}) - julianday(${created_at}) > 1`,
			),
		)
		.limit(LIMIT);
}

const keyItem = (row: Awaited<ReturnType<typeof selectKeys>>[number]): Item => ({
	...NOTHING,
	kind: row.account ? "service_account_key" : "personal_api_key",
	id: row.id,
	name: row.account ? `${row.label} of ${row.account_name}` : row.label,
	state: "expires",
	expires_at: row.expires_at,
	service_account_id: row.account,
});

const selectStreams = ({ db, organization }: Tenant) =>
	db
		.select({
			id: auditStreams.id,
			name: auditStreams.name,
			enabled: auditStreams.enabled,
			failing_since: auditStreams.failing_since,
			latest_error: auditStreams.latest_error,
		})
		.from(auditStreams)
		.where(
			and(
				eq(auditStreams.organization_id, organization),
				or(not(auditStreams.enabled), isNotNull(auditStreams.latest_error)),
			),
		)
		.limit(LIMIT);

const streamItem = (row: Awaited<ReturnType<typeof selectStreams>>[number]): Item => ({
	...NOTHING,
	kind: "audit_stream",
	id: row.id,
	name: row.name,
	state: row.enabled ? "failing" : "paused",
	detail: row.latest_error,
	since: row.failing_since,
});

const selectWebhooks = ({ db, organization }: Tenant) =>
	db
		.select({
			id: webhooks.id,
			url: webhooks.url,
			description: webhooks.description,
			disabled_reason: webhooks.disabled_reason,
			failing_since: webhooks.failing_since,
			last_error: webhooks.last_error,
		})
		.from(webhooks)
		.where(
			and(
				eq(webhooks.organization_id, organization),
				or(isNotNull(webhooks.disabled_reason), isNotNull(webhooks.failing_since)),
			),
		)
		.limit(LIMIT);

const webhookItem = (row: Awaited<ReturnType<typeof selectWebhooks>>[number]): Item => ({
	...NOTHING,
	kind: "webhook",
	id: row.id,
	name: row.description || new URL(row.url).host,
	state: row.disabled_reason ? "disabled" : "failing",
	detail: row.disabled_reason ?? row.last_error,
	since: row.failing_since,
});

const selectDomains = ({ db, organization }: Tenant) =>
	db
		.select({ id: domains.id, name: domains.domain })
		.from(domains)
		.where(and(eq(domains.organization_id, organization), isNull(domains.verified_at)))
		.limit(LIMIT);

/** Selects what the first steps of an organization are about. */
const selectSetup = ({ db, organization }: Tenant) =>
	db
		.select({
			has_verified_domain: sql`exists (select 1 from ${domains} where ${and(
				eq(domains.organization_id, organization),
				isNotNull(domains.verified_at),
			)})`.mapWith(Boolean),
			has_webhook:
				sql`exists (select 1 from ${webhooks} where ${eq(webhooks.organization_id, organization)})`.mapWith(
					Boolean,
				),
			has_export_access: sql`exists (select 1 from ${accessControls} where ${and(
				eq(accessControls.organization_id, organization),
				eq(accessControls.resource, "batch_export"),
				isNull(accessControls.role_id),
				isNull(accessControls.user_id),
			)})`.mapWith(Boolean),
		})
		.from(sql`(select 1)`);

const urgency = ({ state }: Item) => STATES.indexOf(state);

const byUrgency = (a: Item, b: Item) =>
	urgency(a) - urgency(b) || (a.expires_at ?? "").localeCompare(b.expires_at ?? "");

/** Lists what needs attention, in one round trip. Leaves out what the caller may not read. */
export async function list(tenant: Tenant): Promise<Found> {
	const ofAccounts = sql`${personalApiKeys.user_id} in (
		select ${serviceAccounts.user_id} from ${serviceAccounts} where ${serviceAccounts.organization_id} = ${tenant.organization})`;
	const [exports, configs, own, ofOthers, streams, hooks, unverified, [setup]] = await tenant.read(
		selectExports(tenant),
		selectConfigs(tenant),
		selectKeys(tenant, eq(personalApiKeys.user_id, tenant.key.user_id)),
		selectKeys(tenant, ofAccounts),
		selectStreams(tenant),
		selectWebhooks(tenant),
		selectDomains(tenant),
		selectSetup(tenant),
	);
	const { key, level, plugins_access_level } = tenant.caller;
	const may = (object: ScopeObject) => hasScope(key.scopes, `${object}:read`);
	const isAdmin = level >= ADMIN;
	const items = [
		...(may("batch_export") ? exports.map(exportItem) : []),
		...(isAdmin && may("audit_stream") ? streams.map(streamItem) : []),
		...(isAdmin && may("webhook") ? hooks.map(webhookItem) : []),
		...(may("plugin") && plugins_access_level >= PLUGINS_CONFIG
			? configs.map(
					({ id, name, project_id, error }): Item => ({
						...NOTHING,
						kind: "plugin_config",
						id: String(id),
						name,
						project_id,
						state: "failing",
						detail: error,
					}),
				)
			: []),
		...(may("personal_api_key") ? own.map(keyItem) : []),
		...(isAdmin && may("organization_member") ? ofOthers.map(keyItem) : []),
		...(isAdmin
			? unverified.map(
					(row): Item => ({ ...NOTHING, ...row, kind: "domain", state: "not_verified" }),
				)
			: []),
	];
	const maySeeSetup = isAdmin && may("webhook") && may("organization");
	return { items: items.sort(byUrgency), setup: (maySeeSetup && setup) || null };
}
