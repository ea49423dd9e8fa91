import { getTableColumns, is, SQL, sql } from "drizzle-orm";
import { CachedStatement, cacheByForm, placeholder } from "./cached_statements.ts";
import { LIFE, valuesAs } from "./changes.ts";
import {
	type Connected,
	type Database,
	insertJson,
	type Statement,
	toJson,
	withDefaults,
} from "./client.ts";
import type { Kind, LifeKind, OtherKind, SystemKind } from "./event_types.ts";
import { activityLog, type Change } from "./schema/activity_log.ts";
import { type Origin, pack } from "./schema/origin.ts";

/** An entry without its user and time (docs/organizations.md#activity-log). */
export type Entry = (LifeKind & LifeDetails) | (OtherKind & Details & Partial<Valued>);

type Valued = {
	/** The first values of what was created or the last ones of what was deleted: its changes. */
	values: object;
};

/** The content of an entry about what was created or deleted. */
export type LifeDetails = Omit<Details, "changes"> & Valued & { changes?: undefined };

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
export type SignedEntry = Entry & {
	/** null: the operator or the system. */
	user_id: number | SQL<number> | null;
	/** Whether it happened without a caller. */
	is_system?: boolean;
	organization: number | SQL | null;
	project: number | SQL | null;
	/** By default the current time. */
	created_at?: string;
	/** By default that of the request, if there is one. */
	origin?: Origin | null;
};

/** SQL for a stored origin, without its address if the organization doesn't keep any. */
const keptOrigin = (origin: SQL, organization: SQL) => sql`iif(
	(select o.logs_addresses from organizations as o where o.id = ${organization}),
	${origin}, substr(${origin}, instr(${origin}, char(9))))`;

/** The columns of running totals, see `activityLog`. */
type Totals = Record<"total" | "total_without_project" | "project_total", SQL>;

/** SQL for a total of the newest entry of people that matches `where`; 0 if there is none. */
const newestTotal = (name: keyof Totals, where: SQL) => sql`coalesce((
	select newest.${sql.identifier(name)} from activity_log as newest
	where ${where} and not newest.is_system order by newest.position desc limit 1), 0)`;

/**
 * SQL for the running totals of entries that a statement inserts, from the newest entries before
 * it.
 * @param rank SQL for the number of an entry among those with the same organization or project that
 * the statement inserts, and that match a condition
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

/** What a statement computes that inserts the rows of a JSON list. */
const originOfEach = {
	origin: keptOrigin(sql`(value ->> 'origin')`, sql`(value ->> 'organization_id')`),
};

const isLife = (activity: string): activity is keyof typeof LIFE => activity in LIFE;

/** Returns the changes of an entry. */
const changesOf = ({ activity, values, changes }: Entry) =>
	values && isLife(activity) ? valuesAs(LIFE[activity], values) : changes;

/** Converts an entry to a row. */
const toRow = (signed: SignedEntry) => {
	const { organization, project, item_id, values: _, ...entry } = signed;
	return {
		...entry,
		changes: changesOf(signed),
		// D1 binds numbers as REAL, which SQLite would convert to text such as `7.0`.
		item_id: is(item_id, SQL) ? sql`cast(${item_id} as text)` : String(item_id),
		organization_id: organization,
		project_id: project,
	};
};

const record = (db: Database, entry: SignedEntry) =>
	db.insert(activityLog).values({
		...toRow(entry),
		origin: entry.origin && keptOrigin(sql`${pack(entry.origin)}`, sql`${entry.organization}`),
		...(!entry.is_system &&
			totalsOfOne({
				organization: sql`${entry.organization}`,
				project: sql`${entry.project}`,
			})),
	});

const cachedInsert = cacheByForm(
	(db, { isSystem }: { isSystem: boolean }) =>
		new CachedStatement(
			insertJson(db, activityLog, {
				rows: placeholder("rows"),
				names: Object.keys(getTableColumns(activityLog)).filter(
					(name) => name !== "origin" && (isSystem || !(name in totalsOfEach)),
				),
				computed: { ...totalsOfEach, ...originOfEach },
			}),
		),
);

/** Returns statements that write the entries: a cached one, unless a part of an entry is SQL. */
export function recordEach(env: Env, db: Connected, entries: readonly SignedEntry[]): Statement[] {
	const rows = entries.map((entry) => withDefaults(activityLog, toRow(entry)));
	if (rows.some((row) => Object.values(row).some((value) => is(value, SQL))))
		return entries.map((entry) => record(db, entry));
	const isSystem = entries[0]?.is_system === true;
	return rows.length === 0
		? []
		: [cachedInsert(env, { isSystem }).bind(db, { rows: toJson(activityLog, rows) })];
}

/** Returns the entry of an event without a caller, which only the feed has. */
export const bySystem = (
	event: SystemKind & Details & Pick<SignedEntry, "organization" | "project">,
) => ({ ...event, user_id: null, is_system: true });

/** A row of the activity log, without what `insertEntries` computes. */
type EntryRow = Kind & Omit<typeof activityLog.$inferInsert, keyof Totals | "created_at" | "nonce">;

/** Returns a statement that writes several entries, all or none of them of the system. */
export const insertEntries = (
	db: Database,
	rows: (EntryRow & Record<string, unknown>)[],
	condition: SQL,
) =>
	insertJson(db, activityLog, {
		rows: sql`${toJson(activityLog, rows)}`,
		names: Object.keys(rows[0] ?? {}).filter((name) => name !== "origin"),
		condition,
		computed: { ...originOfEach, ...(rows[0]?.is_system ? {} : totalsOfEach) },
	});
