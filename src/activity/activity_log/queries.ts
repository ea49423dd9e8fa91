import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { isAdmin, ofVisibleProjects } from "../../access/visible.ts";
import { fits, sizeOf } from "../../db/large.ts";
import { countWhere } from "../../db/list.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { projects } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { envelope, type Page } from "../../http/page.ts";
import { actorOf, showOrigins } from "./actor.ts";
import { between, type Filters, matches } from "./filters.ts";
import { complete, inGroups, smallChanges } from "./large.ts";
import { entryColumns } from "./shape.ts";

/** After this many entries, a page that leaves some of them out ends, with `next`. */
const MAX_READ = 5000;

const { position, organization_id, project_id, item_id } = activityLog;

const ofPeople = sql`not ${activityLog.is_system}`;

/** SQL for the number of entries that match `where`, from a running total. */
function span(total: string, where: SQL) {
	const end = (order: "asc" | "desc") => sql`(
		select ${sql.identifier(total)} as total, project_id is null as is_without from activity_log
		where ${where} and not is_system order by position ${sql.raw(order)} limit 1)`;
	const isCounted = total === "total_without_project" ? sql`oldest.is_without` : sql`1`;
	return sql`coalesce((select newest.total - oldest.total + ${isCounted}
		from ${end("desc")} as newest, ${end("asc")} as oldest), 0)`;
}

/** SQL for the number of entries of the project or organization that the caller can see. */
function visibleTotal(tenant: Tenant) {
	if (tenant.kind === "project") return span("project_total", sql`project_id = ${tenant.project}`);
	const ofOrganization = sql`organization_id = ${tenant.organization}`;
	const ofProjects = sql`(select coalesce(sum(${span("project_total", sql`project_id = ${projects.id}`)}), 0)
		${ofVisibleProjects(tenant)})`;
	return sql`iif(${isAdmin(tenant)}, ${span("total", ofOrganization)},
		${span("total_without_project", ofOrganization)} + ${ofProjects})`;
}

/** SQL conditions for the entries of an index that has the list, and for those that are visible. */
function inIndex(tenant: Tenant, filters: Filters) {
	const ofOrganization = eq(organization_id, tenant.organization);
	const inTheirs = sql`(${isAdmin(tenant)} or ${project_id} is null
		or ${project_id} in (select ${projects.id} ${ofVisibleProjects(tenant)}))`;
	const isOfProject = tenant.kind === "project";
	if (filters.item_id === undefined)
		return {
			indexed: and(isOfProject ? eq(project_id, tenant.project) : ofOrganization, ofPeople),
			seen: isOfProject ? undefined : inTheirs,
		};
	return {
		indexed: and(ofOrganization, eq(item_id, filters.item_id), ofPeople),
		// With the plus, SQLite doesn't read the index of the project instead.
		seen: isOfProject ? sql`+${project_id} = ${tenant.project}` : inTheirs,
	};
}

/** Which matching entries a page has. */
type Slice = {
	/** The position before which the page starts. */
	before: number | undefined;
	/** How many matching entries after it the page skips. */
	skipped: number;
	rows: number;
};

/**
 * A list. Filters without an index of their own, and entries that the caller can't see, leave out
 * some of the entries that are read: the newest `MAX_READ` of the page.
 */
function selection(tenant: Tenant, filters: Filters, { before, skipped, rows }: Slice) {
	const { indexed, seen } = inIndex(tenant, filters);
	const filter = matches(tenant, filters);
	const wanted = and(seen, filter) ?? sql`true`;
	const range = and(
		indexed,
		between(tenant, filters),
		before === undefined ? undefined : sql`${position} < ${before}`,
	);
	// A coroutine: SQLite reads it in its order, and only as far as the outer select needs.
	const read = (columns: SQL) => sql`(
		select ${columns} from ${activityLog} where ${range} order by ${position} desc limit ${MAX_READ}) as activity_log`;
	// SQLite reads the columns before `origin` to find it, such as large changes.
	const filtered = sql`position, project_id, user_id, activity, scope, created_at, name${filters.address ? sql`, origin` : sql``}`;
	const shown = sql`
		select position, bytes from ${read(sql`${filtered}, ${sizeOf(activityLog.changes)} as bytes`)} where ${wanted}
		limit ${rows} offset ${skipped}`;
	const all = sql`(
		select count(*) as entries, count(*) filter (where ${seen ?? sql`true`}) as visible,
			count(*) filter (where ${wanted}) as matching, min(position) as last
		from ${read(filtered)})`;
	const total =
		filters.item_id === undefined
			? visibleTotal(tenant)
			: countWhere(activityLog, and(indexed, seen));
	const end = sql<number | null>`iif(entries < ${MAX_READ}, null, last)`;
	/** SQL for a value of a page without filters, which a full page doesn't need. */
	const ifShort = <T>(value: SQL<T>) =>
		sql<T>`iif((select count(*) from (${shown})) = ${rows}, null, (select ${value} from ${all}))`;
	return {
		/** SQL for the positions of the page's entries, and their sizes. */
		shown,
		/** The number of matching entries, of those among the ones read, and the last one read. */
		read:
			filter || filters.item_id !== undefined
				? {
						// Those that aren't read count too, so it is an upper limit if there are any.
						count: sql<number>`matching + iif(entries < ${MAX_READ}, 0, max(0, ${total} - visible))`,
						matching: sql<number>`matching`,
						end,
						from: all,
					}
				: {
						count: sql<number>`${total}`,
						matching: skipped > 0 ? ifShort(sql<number>`matching`) : sql<number>`0`,
						end: seen
							? sql<number | null>`iif(${isAdmin(tenant)}, null, ${ifShort(end)})`
							: sql<null>`null`,
						from: sql`(select 1)`,
					},
	};
}

const select = ({ db }: Tenant) =>
	db
		.select({ position, ...entryColumns })
		.from(activityLog)
		.leftJoin(users, eq(users.id, activityLog.user_id));

/** Returns the position before which a page starts, and how many entries it skips from there. */
function startOf({ offset, after }: Page) {
	const [before, skipped = 0] = after?.keys ?? [];
	if (typeof before !== "number") return { before: undefined, skipped: offset };
	return { before, skipped: Number(skipped) || 0 };
}

/** Lists the entries of the project in the path, or of the organization, newest first. */
export async function list(tenant: Tenant, page: Page, filters: Filters) {
	const { before, skipped } = startOf(page);
	const { shown, read } = selection(tenant, filters, { before, skipped, rows: page.limit + 1 });
	const [rows, [found]] = await tenant.read(
		select(tenant)
			.where(fits(position, "desc", shown))
			.orderBy(desc(position)),
		tenant.db
			.select({
				count: (page.after ? sql<number>`${page.after.count}` : read.count).as("count"),
				end: read.end.as("end"),
				matching: read.matching.as("matching"),
			})
			.from(read.from),
	);
	const { count = 0, end: last = null, matching: passed } = found ?? {};
	const further = last === null ? undefined : [last, Math.max(0, skipped - (passed ?? 0))];
	return envelope(page, {
		rows,
		count,
		keys: ({ position }) => [position],
		to: toEntryFor(tenant),
		further,
	});
}

/** How many entries a download reads at a time. */
const DOWNLOAD_LIMIT = 1000;

/** Reads all entries in groups, without those that are written meanwhile. */
export async function* readAll(tenant: Tenant, filters: Filters) {
	let before: number | undefined;
	do {
		const slice = { before, skipped: 0, rows: DOWNLOAD_LIMIT };
		const { shown, read } = selection(tenant, filters, slice);
		// Groups are limited by `inGroups`.
		const [rows, [found]] = await tenant.read(
			selectSmall(tenant)
				.where(sql`${position} in (select position from (${shown}))`)
				.orderBy(desc(position)),
			tenant.db.select({ end: read.end.as("end") }).from(read.from),
		);
		const shownTo = showOrigins(tenant);
		for (const group of inGroups(rows)) yield (await complete(tenant, group)).map(shownTo);
		const last = rows.length === DOWNLOAD_LIMIT ? rows.at(-1)?.position : found?.end;
		before = last ?? undefined;
	} while (before !== undefined);
}

/** An entry in a download. */
export type Row = ReturnType<typeof readAll> extends AsyncGenerator<(infer R)[]> ? R : never;

/** Converts an entry to an `ActivityEntry`. */
export function toEntry(row: Omit<Row, "size" | "position">) {
	const { id, user, activity, scope, item_id, detail, changes, origin, created_at } = row;
	const { name, trigger } = detail;
	return {
		id,
		user: user && {
			uuid: user.uuid,
			first_name: user.first_name,
			last_name: user.last_name,
			email: user.email,
		},
		actor: actorOf({ ...row, trigger }),
		origin: origin?.request ?? null,
		activity,
		scope,
		item_id,
		detail: { name, changes, trigger },
		created_at,
	};
}

type Selected = Awaited<ReturnType<typeof select>>[number];

/** Returns a function that converts a row of `entryColumns` to the entry that the caller sees. */
export const toEntryFor =
	(tenant: Tenant) =>
	({ detail: { changes, ...detail }, ...row }: Omit<Selected, "position">) =>
		toEntry({ ...showOrigins(tenant)(row), detail, changes });

const {
	detail: { changes: _, ...detailColumns },
	...otherColumns
} = entryColumns;

/** Selects entries without their large changes. */
const selectSmall = ({ db }: Tenant) =>
	db
		.select({
			position,
			...otherColumns,
			detail: detailColumns,
			changes: smallChanges(activityLog.changes).mapWith(activityLog.changes),
			size: sql<number>`octet_length(${activityLog.changes})`,
		})
		.from(activityLog)
		.leftJoin(users, eq(users.id, activityLog.user_id));
