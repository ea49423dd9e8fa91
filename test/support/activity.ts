import { env } from "cloudflare:workers";
import { asc, getTableColumns, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { entryId } from "../../src/db/entries.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";

const db = drizzle(env.DB);

/** Selects entries with their ids, in the order of the feed. */
export const entries = (where: SQL | undefined) =>
	db
		.select({ ...getTableColumns(activityLog), id: entryId.as("entry_id") })
		.from(activityLog)
		.where(where)
		.orderBy(asc(activityLog.position));

/**
 * SQL that sets the running totals of all entries, after some were inserted without them or
 * deleted.
 */
export const RETOTAL = `update activity_log set total = t.total, total_without_project = t.without, project_total = t.of_project
	from (select position as at,
		count(*) over (partition by organization_id order by position) as total,
		sum(project_id is null) over (partition by organization_id order by position) as without,
		iif(project_id is null, null, count(*) over (partition by project_id order by position)) as of_project
		from activity_log where not is_system) as t
	where position = t.at`;

type NewEntry = Omit<typeof activityLog.$inferInsert, "organization_id"> & {
	organization_id?: number | SQL | null;
};

/** Inserts entries as they are given, with their running totals. */
export async function insertLog(...rows: NewEntry[]) {
	const size = 6;
	const inserts = Array.from({ length: Math.ceil(rows.length / size) }, (_, i) =>
		db.insert(activityLog).values(rows.slice(i * size, (i + 1) * size)),
	);
	await db.batch([...inserts, db.run(sql.raw(RETOTAL))] as unknown as Parameters<
		typeof db.batch
	>[0]);
}

/**
 * Inserts `n` entries of an organization, without their running totals. Each has its number as its
 * name.
 * @param columns SQL of columns, in which `i` is the number
 */
export function fillLog(
	{ organization_id, owner, id }: { organization_id: number; owner: { id: number }; id: string },
	n: number,
	columns: Record<string, SQL> = {},
) {
	const all = {
		...{ organization_id: sql`${organization_id}`, user_id: sql`${owner.id}`, name: sql`i` },
		...{ activity: sql`'updated'`, scope: sql`'Organization'`, item_id: sql`${id}` },
		...{ created_at: sql`${Date.now()}`, ...columns },
	};
	const names = sql.raw(Object.keys(all).join());
	return db.run(sql`insert into activity_log (${names})
		with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ${n})
		select ${sql.join(Object.values(all), sql`, `)} from n`);
}
