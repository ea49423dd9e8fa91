import { and, eq, type SQL, sql } from "drizzle-orm";
import { type Levels, levelOf } from "../access/access_levels.ts";
import { checkAccess } from "../access/check_access.ts";
import { projectLevel } from "../access/controlled_objects.ts";
import { keptSince } from "../access/deletions.ts";
import { keptBy } from "../access/kept.ts";
import type { Tenant } from "../access/tenant.ts";
import { retry } from "../access/unit_of_work.ts";
import { visibleTo } from "../access/visible.ts";
import { assertExists, assertThat, type Database, type Statement } from "../db/client.ts";
import { isUniqueViolation } from "../db/errors.ts";
import { accessControls } from "../db/schema/access.ts";
import {
	deletedRows,
	deletions,
	KEPT_SCOPES,
	type KeptType,
	restoreLinks,
} from "../db/schema/deletions.ts";
import { ADMIN, OWNER, PLUGINS_CONFIG, type Resource } from "../db/schema/levels.ts";
import { organizations, projects } from "../db/schema/organizations.ts";
import { members, users } from "../db/schema/people.ts";
import { pluginConfigs, plugins } from "../db/schema/plugins.ts";
import { webhooks } from "../db/schema/webhooks.ts";
import { NO_LEASE } from "../delivery/lease.ts";
import { conflict, notFound, orNotFound } from "../http/errors.ts";
import { applyAccess, ROLES_OF_MEMBER, rolesOf } from "../people/memberships.ts";
import { restoreExports, selectExports } from "./exports.ts";
import { assertRooms, countRows, deletedValue, insertRows, rowsOf } from "./rows.ts";

/** The types of objects in an organization. */
export type Type = Exclude<KeptType, "organization">;

/** What access controls to a type of object are about. */
const RESOURCES: Record<Type, Resource> = {
	project: "project",
	batch_export: "batch_export",
	webhook: "webhook",
	plugin: "plugin",
	plugin_config: "plugin",
};

/** The levels that their deletion requires, besides the access. */
export const LEVELS: Partial<Record<Type, number>> = { project: OWNER, webhook: ADMIN };

/** SQL condition: the object was deleted from the tenant, and can still be restored. */
const isRestorable = (tenant: Tenant, type: Type, id: string) => sql`
	${deletions.type} = ${type} and ${deletions.item_id} = ${id.toLowerCase()}
	and ${deletions.organization_id} = ${tenant.organization}
	and ${tenant.kind === "project" ? eq(deletions.project_id, tenant.project) : sql`true`}
	and ${deletions.deleted_at} > ${Date.parse(keptSince(tenant.env))}`;

/** SQL for the highest level that access controls about the deleted object gave. */
const levelGiven = (to: SQL) =>
	sql<number | null>`(select max(value ->> 2) from json_each(${deletions.controls}) where ${to})`;

/** Selects a deleted object. */
function selectDeletion({ db, organization, key }: Tenant, deletion: SQL) {
	const me = sql`${key.user_id}`;
	const isMine = sql`value ->> 1 = ${me} or value ->> 0 in (${rolesOf(organization, me)})`;
	return db
		.select({
			id: deletions.id,
			type: deletions.type,
			item_id: deletions.item_id,
			name: deletions.name,
			project_id: deletions.project_id,
			deleted_at: deletions.deleted_at,
			columns: deletions.columns,
			/** The object that access controls can be about. */
			controlled:
				sql<string>`iif(${deletions.type} = 'plugin_config', ${deletions.shown} ->> '$.plugin', ${deletions.item_id}) || ''`.as(
					"controlled",
				),
			is_private:
				sql<number>`(${deletions.type} = 'project' and ${deletions.shown} ->> '$.access_control')`.as(
					"is_private",
				),
			own: levelGiven(isMine).as("own"),
			everyone: levelGiven(sql`value ->> 0 is null and value ->> 1 is null`).as("everyone"),
			/** The caller's access to its project; null if there is none. */
			project_level: sql<number | null>`iif(${projects.id} is null, null, ${projectLevel})`.as(
				"project_level",
			),
			access_controls: countRows(deletions.id, "access_controls").as("access_controls"),
		})
		.from(deletions)
		.leftJoin(projects, eq(projects.id, deletions.project_id))
		.leftJoin(organizations, eq(organizations.id, deletions.organization_id))
		.leftJoin(users, eq(users.id, key.user_id))
		.leftJoin(
			members,
			and(eq(members.organization_id, organizations.id), eq(members.user_id, users.id)),
		)
		.where(deletion);
}

export type Deletion = Awaited<ReturnType<typeof selectDeletion>>[number];

/** Returns levels of access with that to an object as it was when it was deleted. */
function withLevel(levels: Levels, object: string, level: number | null): Levels {
	const { [object]: _, ...others } = levels;
	return level === null ? others : { ...others, [object]: level };
}

/** @throws 403 or 404 unless the caller may restore the object, 409 if its project was deleted */
function checkMayRestore({ caller }: Tenant, type: Type, deletion: Deletion) {
	const { level, access, plugins_access_level } = caller;
	const resource = RESOURCES[type];
	const isAdmin = level >= ADMIN;
	const isAlone = type === "project" || deletion.project_id === null;
	const isOrphan = !isAlone && deletion.project_level === null;
	// Only owners can restore the project.
	if (isOrphan && !isAdmin) throw notFound();
	if (type === "plugin_config" && plugins_access_level < PLUGINS_CONFIG) throw notFound();
	const { own, everyone } = access.controls;
	const object = `${resource}:${deletion.controlled}`;
	// The access controls about a plugin config are those of its plugin, which needn't be deleted.
	const controls =
		type === "plugin_config"
			? access.controls
			: {
					own: withLevel(own, object, deletion.own),
					everyone: withLevel(everyone, object, deletion.everyone),
				};
	const privacy = { isPrivate: deletion.is_private === 1, isProjectMember: false };
	const isHidden = levelOf(controls, { resource, id: deletion.controlled, privacy }) === 0;
	if (type === "project" && isHidden) throw notFound();
	const project = isAlone || isAdmin ? null : deletion.project_level;
	const refused = checkAccess(
		{ resource, need: "manager", level: LEVELS[type] ?? 0 },
		{ ...caller, object: JSON.stringify([deletion.controlled, project]) },
		{ ...access, controls, level, isNamed: true },
	);
	if (refused) throw refused;
	if (isOrphan) throw conflict("Its project was deleted too. Restore that first.");
}

/** SQL for FROM and WHERE: what plugin configs of a deletion need and doesn't exist, as `value`. */
export const missing = (
	deletion: SQL | undefined,
) => sql`${deletions}, json_each(${deletions.needs})
	where ${deletion} and not iif(value ->> 0 = 'plugin',
		exists (select 1 from ${plugins} where ${plugins.id} = value ->> 1),
		exists (select 1 from ${projects} where ${projects.id} = value ->> 1))`;

/** Selects what is missing, with its name if it can be restored. */
export const selectMissing = (db: Database, deletion: SQL) =>
	db
		.select({
			type: sql<KeptType>`m.type`.as("type"),
			id: sql<string>`m.id`.as("id"),
			name: sql<
				string | null
			>`(select d.name from deletions as d where d.type = m.type and d.item_id = m.id)`.as("name"),
			count: sql<number>`m.count`.as("count"),
		})
		.from(
			sql`(select value ->> 0 as type, value ->> 1 || '' as id, value ->> 2 as count from ${missing(deletion)}) as m`,
		);

export type Missing = Awaited<ReturnType<typeof selectMissing>>;

/** Names the first of what is missing. */
export const nameMissing = (missing: Missing) =>
	missing
		.slice(0, 10)
		.map(
			({ type, id, name }) =>
				`the ${type} ${id}${name === null ? ", which is gone for good" : ` (${name})`}`,
		);

/** Returns the 409 that names what is missing. */
function cannotRestore(missing: Missing, isConfig: boolean) {
	const way = isConfig ? "" : ', or send {"partial": true} to restore the rest';
	return conflict(
		`Plugin configs need what was deleted too: ${nameMissing(missing).join("; ")}. Restore that first${way}.`,
	);
}

/** Returns the statements that adapt the rows of a deletion to what passed while it was deleted. */
export function catchUp(
	{ db, at }: Pick<Tenant, "db" | "at">,
	{ id, columns }: Pick<Deletion, "id" | "columns">,
): Statement[] {
	const ids = (table: string) =>
		sql`(select ${deletedValue(columns[table], "id")} from ${rowsOf(id, table)})`;
	return [
		db
			.update(webhooks)
			.set({
				...NO_LEASE,
				// A worker that still delivers its events must not write to the row.
				lease: sql`${webhooks.lease} + 1`,
				position: sql`coalesce((select max(position) from activity_log), 0)`,
				next_attempt_at: null,
				attempts: 0,
				failing_since: null,
			})
			.where(sql`${webhooks.id} in ${ids("webhooks")}`),
		// No task runs whose time has passed.
		db
			.update(pluginConfigs)
			.set({ enabled_at: at, updated_at: sql`updated_at` })
			.where(sql`${pluginConfigs.enabled} and ${pluginConfigs.id} in ${ids("plugin_configs")}`),
	].filter((_, i) => columns[["webhooks", "plugin_configs"][i] ?? ""]);
}

/** Returns the statements that end a deletion, with all that is kept of it. */
export const forget = (db: Database, id: number) => [
	db.delete(deletedRows).where(eq(deletedRows.deletion_id, id)),
	db.delete(restoreLinks).where(eq(restoreLinks.deletion_id, id)),
	db.delete(deletions).where(eq(deletions.id, id)),
];

/** Returns the statements that bring up to date what members may do with what is restored. */
function restoreAccess({ db, organization }: Tenant, { id, columns, access_controls }: Deletion) {
	if (access_controls === 0) return [];
	const restored = sql`select ${deletedValue(columns.access_controls, "id")} from ${rowsOf(id, "access_controls")}`;
	const users = sql`select ${members.user_id} from ${members} join ${accessControls} on ${accessControls.organization_id} = ${members.organization_id}
		where ${members.organization_id} = ${organization} and ${accessControls.id} in (${restored})
		and (${accessControls.user_id} = ${members.user_id} or ${accessControls.role_id} in (${ROLES_OF_MEMBER}))`;
	return applyAccess(db, organization, users);
}

/**
 * Restores a deleted object with all that it had, and adds its event. Windows, events and tasks that
 * passed meanwhile are not made up for.
 * @throws 404 if it wasn't deleted from the tenant, or too long ago, 409 if something that it needs
 * is missing or its place is taken
 */
export const restore = (
	tenant: Tenant,
	type: Type,
	id: string,
	options: { partial?: boolean | undefined },
) =>
	retry(() => tryRestore(tenant, { type, id, ...options })).catch((error: unknown) => {
		if (isUniqueViolation(error, "plugins.url"))
			throw conflict("A plugin with its URL was installed meanwhile. Delete that one first.");
		throw error;
	});

async function tryRestore(
	tenant: Tenant,
	{ type, id, partial = false }: { type: Type; id: string; partial?: boolean | undefined },
) {
	const { db } = tenant;
	const isRequested = isRestorable(tenant, type, id);
	const [[found], left_out, rows] = await tenant.read(
		selectDeletion(tenant, isRequested),
		selectMissing(db, isRequested),
		selectExports(db, sql`(select -${deletions.id} from ${deletions} where ${isRequested})`),
	);
	const deletion = orNotFound(found);
	checkMayRestore(tenant, type, deletion);
	const isConfig = type === "plugin_config";
	if (left_out.length > 0 && (!partial || isConfig)) throw cannotRestore(left_out, isConfig);
	const { item_id, name, project_id } = deletion;
	const exports = restoreExports(db, { deletion_id: deletion.id, rows, at: Date.parse(tenant.at) });
	// The removal for good changes the time.
	const isThis = and(eq(deletions.id, deletion.id), eq(deletions.deleted_at, deletion.deleted_at));
	const isStillOpen =
		tenant.caller.level < ADMIN ? visibleTo(tenant.key.user_id, "editor") : undefined;
	const { tables } = keptBy(type, { item_id, row: item_id, organization: tenant.organization });
	await tenant.write({
		checks: [
			assertExists(db, deletions, isThis),
			assertThat(
				db,
				sql`(select count(*) from ${missing(isThis)}) = ${left_out.length}`,
				"is_current",
			),
			...(type === "project" || project_id === null
				? []
				: [assertExists(db, projects, and(eq(projects.id, project_id), isStillOpen))]),
			...assertRooms(tenant, deletion.id, rows.filter(({ one_off }) => !one_off).length),
		],
		changes: [
			...tables.map((table) => insertRows(tenant, deletion, table)),
			...exports.statements,
			...catchUp(tenant, deletion),
			...restoreAccess(tenant, deletion),
			...forget(db, deletion.id),
		],
		entries: [
			{ activity: "restored", scope: KEPT_SCOPES[type], item_id, name, project: project_id },
		],
	});
	return { type, id: item_id, name, gaps: exports.gaps, left_out };
}
