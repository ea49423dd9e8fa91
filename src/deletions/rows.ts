/** The rows of deleted objects. */
import { and, type Column, is, SQL, sql } from "drizzle-orm";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { storedColumns } from "../access/deletions.ts";
import type { KeptTable } from "../access/kept.ts";
import type { Tenant } from "../access/tenant.ts";
import { assertThat } from "../db/client.ts";
import { accessControls } from "../db/schema/access.ts";
import { batchExports } from "../db/schema/batch_exports.ts";
import { valueColumn } from "../db/schema/deletions.ts";
import { projects } from "../db/schema/organizations.ts";
import { pluginConfigs, plugins } from "../db/schema/plugins.ts";
import { webhooks } from "../db/schema/webhooks.ts";

/** SQL for FROM and WHERE: the rows of a table that a deletion has kept. */
export const rowsOf = (deletion_id: number | Column, table: string) =>
	sql`deleted_rows where deletion_id = ${deletion_id} and "table" = ${sql.raw(`'${table}'`)}`;

/** SQL for the number of these rows. */
export const countRows = (deletion_id: number | Column, table: string) =>
	sql<number>`(select count(*) from ${rowsOf(deletion_id, table)})`;

/** SQL for the value that a row had in a column. */
export const deletedValue = (names: string[] = [], column: string) =>
	valueColumn(names.indexOf(column));

/** Returns SQL for the value of a column in a restored row: its default if it was added since. */
function restoredValue(names: string[], column: Column) {
	if (names.includes(column.name)) return deletedValue(names, column.name);
	const value = column.defaultFn?.() ?? column.default ?? null;
	return is(value, SQL) ? value : sql`${sql.param(value, column)}`;
}

type Scope = Pick<Tenant, "db" | "organization">;

/**
 * Returns SQL conditions for rows about a user: nobody gets back what has ended meanwhile.
 * @param user_id the user's id in the row
 */
function stillGiven({ organization }: Scope, name: string, user_id: SQL, deleted_at: string) {
	// Those who have left and joined again don't get it back.
	const hasStayed = sql`exists (select 1 from members as m
		where m.organization_id = ${organization} and m.user_id = ${user_id} and m.joined_at <= ${deleted_at})`;
	if (name === "access_controls") return [sql`(${user_id} is null or ${hasStayed})`];
	if (name !== "project_members") return [];
	// What their groups give was applied without the project.
	const isChanged = sql`exists (select 1 from domains as d join scim_users as s on s.domain_id = d.id
		where d.organization_id = ${organization} and s.user_id = ${user_id} and s.updated_at > ${deleted_at})`;
	return [hasStayed, sql`not ${isChanged}`];
}

/** How rows are restored, from SQL for the value that a row had in a column. */
export type Restoring = (value: (column: string) => SQL) => {
	/** Other values than before, by column. */
	values?: Record<string, SQL>;
	/** Which rows; by default all. */
	condition?: SQL;
};

/**
 * Returns a statement that inserts the kept rows of a table again. Rows that refer to something that
 * no longer exists, such as a member who has left, are left out.
 */
export function insertRows(
	scope: Scope,
	{
		id,
		columns,
		deleted_at,
	}: { id: number; columns: Record<string, string[]>; deleted_at: string },
	{
		name,
		table,
		restoring = () => ({}),
	}: Pick<KeptTable, "name" | "table"> & { restoring?: Restoring | undefined },
) {
	const names = columns[name] ?? [];
	const { values: changed = {}, condition } = restoring(
		(column) => sql`${deletedValue(names, column)}`,
	);
	const values = storedColumns(table).map(
		(column) => changed[column.name] ?? restoredValue(names, column),
	);
	const parents = getTableConfig(table).foreignKeys.map(({ reference }) => {
		const { columns, foreignColumns } = reference();
		const [parent] = foreignColumns;
		const own = columns.map(({ name }) => deletedValue(names, name));
		const isNone = sql.join(
			own.map((value) => sql`${value} is null`),
			sql` or `,
		);
		const isSame = and(...foreignColumns.map((column, i) => sql`${column} = ${own[i]}`));
		return sql`(${isNone} or exists (select 1 from ${parent?.table} where ${isSame}))`;
	});
	const given = names.includes("user_id")
		? stillGiven(scope, name, sql`${deletedValue(names, "user_id")}`, deleted_at)
		: [];
	return scope.db
		.insert(table)
		.select(
			sql`select ${sql.join(values, sql`, `)} from ${rowsOf(id, name)} and ${and(sql`true`, ...parents, ...given, condition)} order by number`,
		);
}

/** The tables whose rows an organization has a limited number of (docs/api.md#limits). */
const LIMITED = {
	projects,
	plugins,
	plugin_configs: pluginConfigs,
	webhooks,
	access_controls: accessControls,
};

/**
 * Returns statements that make their batch fail unless there is room for the rows of a deletion.
 * @param exports the number of its exports with a schedule
 * @throws (the batch) 409 `limit_reached`
 */
export function assertRooms(
	{ db, env, organization }: Tenant,
	deletion_id: number,
	exports: number,
) {
	const limit = Number(env.OBJECTS_PER_ORGANIZATION);
	const ofOrganization = sql`organization_id = ${organization}`;
	const rooms = Object.entries(LIMITED).map(
		([name, table]) =>
			sql`(${countRows(deletion_id, name)} = 0 or ${countRows(deletion_id, name)} + (select count(*) from ${table} where ${ofOrganization}) <= ${limit})`,
	);
	const ofExports = sql`(${exports} = 0 or ${exports} + (select count(*) from ${batchExports} where ${ofOrganization} and not deleted and not one_off) <= ${limit})`;
	return [assertThat(db, sql.join([...rooms, ofExports], sql` and `), "has_room")];
}
