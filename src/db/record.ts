import { is, SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { CachedStatement, cacheByForm, placeholder } from "./cached_statements.ts";
import {
	type Connected,
	type Database,
	insertEach,
	insertPlaceholders,
	insertWhere,
	withDefaults,
} from "./client.ts";
import type { Kind, SystemKind } from "./event_types.ts";
import { activityLog, type Change } from "./schema/activity_log.ts";

/**
 * An entry for the activity log, without its user and time (docs/organizations.md#activity-log).
 */
export type Entry = Kind & Details;

/** The content of an entry, besides its scope and activity. */
export type Details = {
	item_id: string | number | SQL;
	/** The item's display name. */
	name: string;
	changes?: Change[];
	/** The cause of the activity, if that adds information. */
	trigger?: Record<string, unknown>;
	/** The organization and project whose log gets the entry; by default, those of the request. */
	organization?: number | SQL | null;
	project?: number | SQL | null;
};

/** An entry with its user, organization and project. */
type Signed = Entry & {
	/** null: the operator or the system. */
	user_id: number | SQL<number> | null;
	/** Whether it happened without a caller. */
	is_system?: boolean;
	organization: number | SQL | null;
	project: number | SQL | null;
	/** The current time by default, and a random number. */
	created_at?: string;
	nonce?: number;
};

type Statement = BatchItem<"sqlite">;

/** SQL condition: the previous statement of the batch changed at least one row. */
const CHANGED = sql`changes() > 0`;

/** The columns of running totals, see `activityLog`. */
type Totals = Record<"total" | "total_without_project" | "project_total", SQL>;

/** SQL for a total of the newest entry of people that matches `where`; 0 if there is none. */
const newestTotal = (name: keyof Totals, where: SQL) => sql`coalesce((
	select newest.${sql.identifier(name)} from activity_log as newest
	where ${where} and not newest.is_system order by newest.position desc limit 1), 0)`;

/**
 * SQL for the running totals of entries that a statement inserts, from the newest entries before it.
 * @param rank SQL for the number of an entry among those with the same organization or project that the statement inserts, and
 * that match a condition
 */
function totals(
	{ organization, project }: Record<"organization" | "project", SQL>,
	rank: (of: SQL, condition: SQL) => SQL,
): Totals {
	const ofOrganization = sql`newest.organization_id is ${organization}`;
	const ofProject = sql`newest.project_id = ${project}`;
	return {
		total: sql`${newestTotal("total", ofOrganization)} + ${rank(organization, sql`true`)}`,
		total_without_project: sql`${newestTotal("total_without_project", ofOrganization)}
			+ ${rank(organization, sql`${project} is null`)}`,
		project_total: sql`iif(${project} is null, null,
			${newestTotal("project_total", ofProject)} + ${rank(project, sql`true`)})`,
	};
}

/** The totals of a statement that inserts one entry. */
const totalsOfOne = (of: Record<"organization" | "project", SQL>) =>
	totals(of, (_, condition) => sql`(${condition})`);

/** The totals of a statement that inserts the rows of a JSON list. */
const totalsOfEach = totals(
	{ organization: sql`(value ->> 'organization_id')`, project: sql`(value ->> 'project_id')` },
	(of, condition) => sql`sum(${condition}) over (partition by ${of} order by key)`,
);

/** Converts an entry to a row. */
const toRow = ({ organization, project, item_id, ...entry }: Signed) => ({
	...entry,
	// D1 binds numbers as REAL, which SQLite would convert to text such as `7.0`.
	item_id: is(item_id, SQL) ? sql`cast(${item_id} as text)` : String(item_id),
	organization_id: organization,
	project_id: project,
});

/**
 * Returns a statement that writes an entry.
 * @param condition SQL that must be true; by default, that the previous statement of the batch
 * changed a row
 */
export const record = (db: Database, entry: Signed, condition = CHANGED) =>
	insertWhere(
		db,
		activityLog,
		{
			...toRow(entry),
			...(!entry.is_system &&
				totalsOfOne({
					organization: sql`${entry.organization}`,
					project: sql`${entry.project}`,
				})),
		},
		condition,
	);

const cachedRecord = cacheByForm(
	(db, { isCertain }: { isCertain: boolean }) =>
		new CachedStatement(
			insertPlaceholders(
				db,
				activityLog,
				isCertain ? sql`true` : CHANGED,
				totalsOfOne({
					organization: placeholder("organization_id"),
					project: placeholder("project_id"),
				}),
			),
		),
);

/**
 * Like `record`, but the statement is cached, unless a part of the entry is SQL.
 * @param isCertain writes the entry in any case
 */
export function recordCached(
	env: Env,
	db: Connected,
	entry: Signed,
	{ isCertain = false } = {},
): Statement {
	const row = withDefaults(activityLog, toRow(entry));
	const hasSql = Object.values(row).some((value) => is(value, SQL));
	return hasSql
		? record(db, entry, isCertain ? sql`true` : CHANGED)
		: cachedRecord(env, { isCertain }).bind(db, row);
}

/**
 * Returns a statement that writes an event without a caller, such as the end of a run. The event is
 * in the event feed, but not in the pages of the activity log.
 */
export const recordEvent = (
	db: Database,
	event: SystemKind & Details & { organization: SQL; project: SQL },
	condition: SQL,
) => record(db, { ...event, user_id: null, is_system: true }, condition);

/**
 * Returns a change and its entry, which is written if the change changed a row. Spread them into a
 * batch: the entry must directly follow the change.
 */
export const withEntry = <C extends Statement>(db: Database, change: C, entry: Signed) =>
	[change, record(db, entry)] as const;

/** A row of the activity log, without what `insertEntries` computes. */
type EntryRow = Kind & Omit<typeof activityLog.$inferInsert, keyof Totals | "created_at" | "nonce">;

/** Returns a statement that writes several entries, see `insertEach`. Either all or none of them are of the system. */
export const insertEntries = (
	db: Database,
	rows: (EntryRow & Record<string, unknown>)[],
	condition: SQL,
) => insertEach(db, activityLog, rows, condition, rows[0]?.is_system ? {} : totalsOfEach);

/** Like `withEntry`, for several entries as rows of the activity log. */
export const withEntries = <C extends Statement>(db: Database, change: C, rows: EntryRow[]) =>
	[change, insertEntries(db, rows, CHANGED)] as const;
