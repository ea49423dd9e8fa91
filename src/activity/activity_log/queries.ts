import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { isAdmin, visibleTo } from "../../access/visible.ts";
import { largeRows, sizeOf } from "../../db/large.ts";
import { countWhere, paged } from "../../db/list.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { projects } from "../../db/schema/projects.ts";
import { users } from "../../db/schema/users.ts";
import { envelope, type Page } from "../../http/page.ts";
import { toEntry } from "./columns.ts";
import { between, type Filters, matches } from "./filters.ts";
import { complete, grouped, smallChanges } from "./large.ts";
import { entryColumns } from "./shape.ts";

/** After this many entries, a page that leaves some of them out ends, with `next`. */
const MAX_READ = 5000;

const { position, organization_id, project_id, item_id } = activityLog;

const ofPeople = sql`not ${activityLog.is_system}`;

/** SQL condition on `projects`: they belong to the organization, and the caller can see them. */
const isVisible = (tenant: Tenant) =>
	sql`${projects.organization_id} = ${tenant.organization} and ${visibleTo(tenant.key.user_id)}`;

/** SQL for the number of entries that the running total `total` of entries that match `where` counts. */
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
		from ${projects} where ${isVisible(tenant)})`;
	return sql`iif(${isAdmin(tenant)}, ${span("total", ofOrganization)},
		${span("total_without_project", ofOrganization)} + ${ofProjects})`;
}

/** SQL for the entries of an index in which the list is, and the condition for those that the caller can see. */
function inIndex(tenant: Tenant, given: Filters) {
	const ofOrganization = eq(organization_id, tenant.organization);
	const inTheirs = sql`(${isAdmin(tenant)} or ${project_id} is null
		or ${project_id} in (select ${projects.id} from ${projects} where ${isVisible(tenant)}))`;
	const isOfProject = tenant.kind === "project";
	if (given.item_id === undefined)
		return {
			indexed: and(isOfProject ? eq(project_id, tenant.project) : ofOrganization, ofPeople),
			seen: isOfProject ? undefined : inTheirs,
		};
	return {
		indexed: and(ofOrganization, eq(item_id, given.item_id), ofPeople),
		// With the plus, SQLite doesn't read the index of the project instead.
		seen: isOfProject ? sql`+${project_id} = ${tenant.project}` : inTheirs,
	};
}

/**
 * The conditions of a list. Filters without an index of their own, and entries that the caller can't see, leave out some of the
 * entries that are read: the newest `MAX_READ` of the page.
 * @param before the position before which the page starts
 */
function selection(tenant: Tenant, given: Filters, before: number | undefined) {
	const { indexed, seen } = inIndex(tenant, given);
	const filter = matches(given);
	const range = and(
		indexed,
		between(given),
		before === undefined ? undefined : sql`${position} < ${before}`,
	);
	const read = sql`(
		select position, project_id, user_id, activity, scope, created_at from ${activityLog}
		where ${range} order by ${position} desc limit ${MAX_READ}) as activity_log`;
	const wanted = and(seen, filter);
	const last = sql`(select ${position} from ${activityLog} where ${range} order by ${position} desc limit 1 offset ${MAX_READ - 1})`;
	const seesAll = filter || tenant.kind === "project" ? sql`false` : isAdmin(tenant);
	const end = wanted ? sql<number | null>`iif(${seesAll}, null, ${last})` : sql<null>`null`;
	const total =
		given.item_id === undefined
			? visibleTotal(tenant)
			: countWhere(activityLog, and(indexed, seen));
	return {
		where: and(range, wanted && sql`${position} >= coalesce(${end}, 0)`, wanted),
		/** The position of the last entry that is read; null if no entry is left. */
		end,
		/** The number of entries that match, among those that are read. */
		matching: wanted ? sql<number>`(select count(*) from ${read} where ${wanted})` : sql<number>`0`,
		/** The number of entries that match. Those that aren't read count too, so it is an upper limit if there are any. */
		count: filter
			? sql<number>`(select matching + iif(entries < ${MAX_READ}, 0, max(0, ${total} - visible)) from (
				select count(*) as entries, count(*) filter (where ${seen ?? sql`true`}) as visible,
					count(*) filter (where ${wanted}) as matching from ${read}))`
			: sql<number>`${total}`,
	};
}

const select = ({ db }: Tenant) =>
	db
		.select({ position, ...entryColumns })
		.from(activityLog)
		.leftJoin(users, eq(users.id, activityLog.user_id));

const ORDER = { by: [position], keys: (row: { position: number }) => [row.position] };

/** Returns the position before which a page starts, and how many matching entries after it the page skips. */
function startOf({ offset, after }: Page) {
	const [before, skipped = 0] = after?.keys ?? [];
	if (typeof before !== "number") return { before: undefined, skipped: offset };
	return { before, skipped: Number(skipped) || 0 };
}

/** Lists entries, newest first: those of the project if the path names one, otherwise those of the organization. */
export async function list(tenant: Tenant, page: Page, given: Filters) {
	const { before, skipped } = startOf(page);
	const { where, end, matching, count } = selection(tenant, given, before);
	const { limit } = page;
	const [statement] = paged(
		tenant.db,
		{ limit, offset: skipped, after: undefined },
		() => select(tenant).$dynamic(),
		{
			...ORDER,
			where,
			large: largeRows(sizeOf(activityLog.changes), activityLog),
		},
	);
	const [rows, [read]] = await tenant.read(
		statement,
		tenant.db
			.select({
				count: (page.after ? sql<number>`${page.after.count}` : count).as("count"),
				end: end.as("end"),
				matching: (skipped > 0 ? matching : sql<number>`0`).as("matching"),
			})
			.from(sql`(select 1)`),
	);
	const { count: total = 0, end: last = null, matching: passed = 0 } = read ?? {};
	const further = last === null ? undefined : [last, Math.max(0, skipped - passed)];
	return envelope(
		page,
		rows,
		total,
		ORDER.keys,
		({ detail: { changes, ...detail }, ...row }) => toEntry({ ...row, detail, changes }),
		further,
	);
}

/** How many entries a download reads at a time. */
const DOWNLOAD_LIMIT = 1000;

/**
 * Reads all entries of `list`, in groups. It doesn't return entries that are written meanwhile, because they are newer than the
 * first one.
 */
export async function* readAll(tenant: Tenant, given: Filters) {
	let before: number | undefined;
	do {
		const { where, end } = selection(tenant, given, before);
		const page = { limit: DOWNLOAD_LIMIT - 1, offset: 0, after: undefined };
		// Groups are limited by `grouped`.
		const [statement] = paged(tenant.db, page, () => selectSmall(tenant).$dynamic(), {
			...ORDER,
			where,
		});
		const [rows, [read]] = await tenant.read(
			statement,
			tenant.db.select({ end: end.as("end") }).from(sql`(select 1)`),
		);
		for (const group of grouped(rows)) yield await complete(tenant, group);
		const last = rows.length === DOWNLOAD_LIMIT ? rows.at(-1)?.position : read?.end;
		before = last ?? undefined;
	} while (before !== undefined);
}

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
