import { and, asc, desc, eq, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteColumn, SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { remember } from "../auth/keys.ts";
import { denial, type Place } from "../auth/permit.ts";
import type { App } from "../env.ts";
import { throttled } from "../http/errors.ts";
import { envelope, type Key as OrderKey, type Page } from "../http/page.ts";
import { connect, type Database, insertWhere } from "./client.ts";
import { admit, type Caller, guard } from "./guard.ts";
import {
	activityLog,
	type Change,
	now,
	personalApiKeys,
	projects,
} from "./schema.ts";
import { currentOrganization, currentProject } from "./visible.ts";

type Statement = BatchItem<"sqlite">;

/** Which parameter of the path names the tenant; `itself`: the path is the tenant's own, not one below it. */
type Where = { kind: Place["kind"]; parameter: string; itself: boolean };

/** What an entry of the activity log tells, but for who and when (behaviour 12). */
export type Entry = {
	activity: string;
	scope: string;
	item_id: string | number | SQL;
	/** What people call the item. */
	name: string;
	changes?: Change[];
	/** Where it belongs; by default where the request went. */
	organization?: SQL;
	project?: SQL;
};

const HOUR = 3_600_000;

const organizationId = (text: string) => text.toLowerCase();

/** null: not an integer, so no project's id. */
const projectId = (text: string) =>
	/^\d{1,15}$/.test(text) ? Number(text) : null;

/** GETs read the nearest replica that has seen what the caller has; writes read what is true now. */
function sessionStart(c: Context<App>) {
	if (c.req.method !== "GET" && c.req.method !== "HEAD") return "first-primary";
	const bookmark = c.req.header("x-d1-bookmark") ?? "";
	return /^[0-9a-f]+(-[0-9a-f]+)*$/.test(bookmark)
		? bookmark
		: "first-unconstrained";
}

/**
 * The only way from a family to the database. The guard (credentials, scope, restrictions, existence, membership,
 * level) rides in the batch of the request's own queries: none is answered without it, and it costs no trip.
 */
export class Tenant {
	readonly db: Database;
	readonly #c: Context<App>;
	readonly #where: Where;
	#caller: Caller | undefined;

	constructor(c: Context<App>, where: Where) {
		this.db = connect(c, sessionStart(c));
		this.#c = c;
		this.#where = where;
	}

	get env() {
		return this.#c.env;
	}

	get kind() {
		return this.#where.kind;
	}

	/** The key in use, as KV knows it. */
	get key() {
		return this.#c.var.key;
	}

	/** Who asks, as D1 knows it; there once `read` has answered. */
	get caller(): Caller {
		if (!this.#caller) throw new Error("The guard has not been read.");
		return this.#caller;
	}

	/** The id of the organization in a statement: SQL's null where there is none. */
	get organization(): SQL<string> {
		const { kind } = this.#where;
		if (kind === "organization")
			return this.#id(currentOrganization, organizationId);
		return sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${this.project})`;
	}

	/** The id of the project in a statement: SQL's null where there is none. */
	get project(): SQL<number> {
		return this.#where.kind === "project"
			? this.#id(currentProject, projectId)
			: sql`null`;
	}

	/** The organization that the caller works in, in a statement. */
	get currentOrganization() {
		return currentOrganization(this.key.user_id);
	}

	#id<T>(
		current: (user_id: number) => SQL<T>,
		read: (text: string) => T | null,
	): SQL<T> {
		const text = this.#named;
		if (text === "@current") return current(this.key.user_id);
		return sql`${text === undefined ? null : read(text)}`;
	}

	/** What the path calls the tenant; undefined on a path that belongs to the caller alone, like a list's. */
	get #named() {
		return this.#c.req.param(this.#where.parameter);
	}

	/**
	 * Answers `queries` in one trip if the guard lets the caller in; throws the refusal if not. Where KV's record of the
	 * key says no, D1 is asked before the caller hears it: the record may be a minute old.
	 */
	read<Q extends readonly Statement[]>(
		...queries: Q
	): Promise<BatchResponse<Q>>;
	async read(...queries: Statement[]): Promise<unknown> {
		const { key, scope, level = 0 } = this.#c.var;
		const { kind, itself } = this.#where;
		const name = this.#named;
		const denied = denial(key, scope, {
			kind,
			organization:
				kind === "organization" && name && name !== "@current"
					? organizationId(name)
					: null,
			project: kind === "project" && name ? projectId(name) : null,
		});
		const { success } = await this.env.REQUESTS.limit({ key: key.id });
		if (!success) throw denied ?? throttled(60);
		const [[row], ...answers] = await this.db.batch([
			guard(this.db, {
				hash: key.hash,
				organization: this.organization,
				project: this.project,
			}),
			...(denied ? [] : queries),
		]);
		const caller = admit(row, {
			kind,
			itself,
			scope,
			level,
			named: name !== undefined,
		});
		this.#caller = caller;
		this.#noteUse(caller);
		if (!denied) return answers;
		this.#c.set("key", { ...caller.key, hash: key.hash });
		this.#c.executionCtx.waitUntil(remember(this.env, key.hash, caller.key));
		return this.read(...queries);
	}

	/** `last_used_at` is at most an hour late, and never in the way of the answer. */
	#noteUse({ key, last_used_at }: Caller) {
		const before = new Date(Date.now() - HOUR).toISOString();
		if (last_used_at !== null && last_used_at > before) return;
		const { id, last_used_at: used } = personalApiKeys;
		const stale = and(eq(id, key.id), or(isNull(used), lt(used, before)));
		this.#c.executionCtx.waitUntil(
			drizzle(this.env.DB)
				.update(personalApiKeys)
				.set({ last_used_at: now() })
				.where(stale)
				.run(),
		);
	}

	/**
	 * One trip: `change`, its entry in the activity log if it changed anything, and `rest`; all or nothing.
	 * @returns the rows of the last statement
	 */
	write<S extends Statement>(
		entry: Entry,
		change: S,
	): Promise<S["_"]["result"]>;
	write<S extends Statement>(
		entry: Entry,
		change: Statement,
		...rest: [...Statement[], S]
	): Promise<S["_"]["result"]>;
	async write(
		entry: Entry,
		change: Statement,
		...rest: Statement[]
	): Promise<unknown> {
		const [changed, , ...answers] = await this.db.batch([
			change,
			this.#record(entry),
			...rest,
		]);
		return rest.length === 0 ? changed : answers.at(-1);
	}

	/** `changes()` is the number of rows that the statement before it changed. */
	#record({
		organization = this.organization,
		project = this.project,
		...entry
	}: Entry) {
		const row = {
			...entry,
			item_id: sql<string>`cast(${entry.item_id} as text)`,
			organization_id: organization,
			project_id: project,
			user_id: this.key.user_id,
		};
		return insertWhere(this.db, activityLog, row, sql`changes() > 0`);
	}

	/** One page of the rows of `select`, which is neither filtered nor ordered yet, in one trip. */
	async page<S extends SQLiteSelect>(page: Page, select: S, list: List<S>) {
		const { where, by, keys, order = "desc", total } = list;
		const every = select.where(where).getSQL();
		const after =
			page.after?.keys.length === by.length ? page.after : undefined;
		const beyond =
			after &&
			sql`(${sql.join(by, sql`, `)}) ${sql.raw(order === "desc" ? "<" : ">")} (${sql.join(
				after.keys.map((key) => sql`${key}`),
				sql`, `,
			)})`;
		const count = after
			? sql`${after.count}`
			: (total ?? sql`(select count(*) from (${every}))`);
		const [rows, [counted]] = await this.read(
			select
				.where(and(where, beyond))
				.orderBy(
					...by.map((column) =>
						order === "desc" ? desc(column) : asc(column),
					),
				)
				.limit(page.limit + 1)
				.offset(after ? 0 : page.offset),
			this.db
				.select({ count: sql<number>`${count}`.as("count") })
				.from(sql`(select 1)`),
		);
		return envelope<S["_"]["result"][number]>(
			page,
			rows,
			counted?.count ?? 0,
			keys,
		);
	}
}

type List<S extends SQLiteSelect> = {
	/** The filter of the list. */
	where: SQL | undefined;
	/** What it is ordered by; no two rows are equal in all of it. */
	by: SQLiteColumn[];
	/** The values of `by` in a row. */
	keys: (row: S["_"]["result"][number]) => OrderKey[];
	order?: "asc" | "desc";
	/** The number of rows, where there is a cheaper way than to count them. */
	total?: SQL;
};

const tenants = (where: Where) =>
	createMiddleware<App>(async (c, next) => {
		c.set("tenant", new Tenant(c, where));
		await next();
	});

/** The handlers behind it act for the caller, whatever its organization. */
export const asCaller = tenants({
	kind: "caller",
	parameter: "",
	itself: false,
});

/** The handlers behind it act in the organization that the path is below. */
export const inOrganization = tenants({
	kind: "organization",
	parameter: "organization_id",
	itself: false,
});

/** The handlers behind it act on the caller's organizations, or on the one that the path names. */
export const onOrganizations = tenants({
	kind: "organization",
	parameter: "id",
	itself: true,
});

/** The handlers behind it act in the project that the path is below. */
export const inProject = tenants({
	kind: "project",
	parameter: "project_id",
	itself: false,
});

/** The handlers behind it act on the caller's projects, or on the one that the path names. */
export const onProjects = tenants({
	kind: "project",
	parameter: "id",
	itself: true,
});

/** The route asks for a membership of at least `level`. */
export const atLeast = (level: number) =>
	createMiddleware<App>(async (c, next) => {
		c.set("level", level);
		await next();
	});
