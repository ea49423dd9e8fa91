import { and, eq, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { v7 } from "uuid";
import { countFailure } from "../auth/authenticate.ts";
import { cache, evict } from "../auth/keys.ts";
import { changes } from "../db/changes.ts";
import { connect, type Database, rowId } from "../db/client.ts";
import { PLUGINS_CONFIG, PLUGINS_INSTALL } from "../db/levels.ts";
import { type List, paged, type RowOf } from "../db/list.ts";
import { type Entry, record } from "../db/record.ts";
import { activityLog, now, personalApiKeys, projects } from "../db/schema.ts";
import type { App } from "../env.ts";
import { badCredentials, conflict, found, throttled } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import { assertStillAllowed, authorize, type Caller, guard } from "./guard.ts";
import { checkKey, type PathTenant } from "./permit.ts";
import { currentOrganization, currentProject } from "./visible.ts";

type Statement = BatchItem<"sqlite">;

/** The parts of a write, in the order in which they run, in one atomic batch. */
type Write = {
	/** Run first, such as assertions and the removal of what is in the way of the change. */
	before?: readonly Statement[];
	change: Statement;
	/** Entries for the activity log, written if the change changed a row. */
	entry?: Entry | Entry[];
	/** What follows from the change; `changed` is the condition that it changed a row, and needs an entry. */
	after?: (changed: SQL) => readonly Statement[];
	/** Selects the answer. Without it, the answer is the rows that the change returns. */
	answer?: Statement;
};

/**
 * Which parameter of the path names the tenant; `itself`: the path is the tenant's own, not one below it; `child`: the
 * parameter that names a project of the organization.
 */
type Where = {
	kind: PathTenant["kind"];
	parameter?: string;
	itself?: boolean;
	child?: string;
};

const HOUR = 3_600_000;

const organizationId = (text: string) => text.toLowerCase();

const PRIMARY = "first-primary";

/** GETs read the nearest replica that has seen what the caller has; writes read what is true now. */
function sessionStart(c: Context<App>) {
	if (c.req.method !== "GET" && c.req.method !== "HEAD") return PRIMARY;
	// Where the key was just looked up in D1, what follows must know it, too.
	const bookmark = c.var.bookmark?.() ?? c.req.header("x-d1-bookmark") ?? "";
	return /^[0-9a-f]+(-[0-9a-f]+)*$/.test(bookmark) ? bookmark : "first-unconstrained";
}

/**
 * The only way from a family to the database. The guard (credentials, scope, restrictions, existence, membership,
 * level) rides in the batch of the request's own queries: none is answered without it, and it costs no trip.
 */
export class Tenant {
	readonly db: Database;
	readonly #c: Context<App>;
	readonly #where: Where;
	/** Asks the primary from now on; does nothing where it was asked from the start. */
	#toPrimary: (() => void) | undefined;
	#caller: Caller | undefined;

	constructor(c: Context<App>, where: Where) {
		const start = sessionStart(c);
		const { db, restart } = connect(c, start);
		this.db = db;
		this.#toPrimary = start === PRIMARY ? undefined : () => restart(PRIMARY);
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

	/** The id of the organization in a statement: SQL's null where there is none. A write goes where the guard looked. */
	get organization(): SQL<string> {
		const known = this.#caller?.organization_id;
		if (known) return sql`${known}`;
		const { kind } = this.#where;
		if (kind === "organization") return this.#id(this.#named, currentOrganization, organizationId);
		return sql`(select ${projects.organization_id} from ${projects} where ${projects.id} = ${this.project})`;
	}

	/** The id of the project in a statement: SQL's null where there is none. */
	get project(): SQL<number> {
		const known = this.#caller?.project_id;
		if (known) return sql`${known}`;
		if (this.#where.kind === "project") return this.#id(this.#named, currentProject, rowId);
		if (this.#child === undefined) return sql`null`;
		const child = this.#id(this.#child, currentProject, rowId);
		return sql`(select ${projects.id} from ${projects} where ${projects.id} = ${child} and ${projects.organization_id} = ${this.organization})`;
	}

	/** The organization that the caller works in, in a statement. */
	get currentOrganization() {
		return currentOrganization(this.key.user_id);
	}

	#id<T>(
		text: string | undefined,
		current: (user_id: number) => SQL<T>,
		read: (text: string) => T | null,
	): SQL<T> {
		if (text === "@current") return current(this.key.user_id);
		return sql`${text === undefined ? null : read(text)}`;
	}

	/** What the path calls the tenant; undefined on a path that belongs to the caller alone, like a list's. */
	get #named() {
		const { parameter } = this.#where;
		return parameter && this.#c.req.param(parameter);
	}

	/** What the path calls a project of the organization. */
	get #child() {
		const { child } = this.#where;
		return child && this.#c.req.param(child);
	}

	/** Where the path leads, as far as it says so itself. */
	get #place(): PathTenant {
		const { kind } = this.#where;
		const name = this.#named;
		const literal = name === "@current" ? undefined : name;
		return {
			kind,
			named: name !== undefined,
			child: this.#child !== undefined,
			organization: kind === "organization" && literal ? organizationId(literal) : null,
			project: kind === "project" && literal ? rowId(literal) : null,
		};
	}

	/**
	 * Answers `queries` in one trip if the guard lets the caller in; throws the refusal if not. Where KV's record of the
	 * key says no, D1 is asked before the caller hears it: the record may be a minute old.
	 */
	read<Q extends readonly Statement[]>(...queries: Q): Promise<BatchResponse<Q>>;
	async read(...queries: Statement[]): Promise<unknown> {
		const { key, scope, level = 0, plugins = 0 } = this.#c.var;
		const place = this.#place;
		const denied = checkKey(key, scope, place);
		const { success } = await this.env.REQUESTS.limit({ key: key.id });
		if (!success) throw denied ?? throttled(60);
		const [row, ...answers] = await this.#ask(denied ? [] : queries);
		if (!row?.key_id) {
			await evict(this.env, key.hash);
			throw await countFailure(this.#c, badCredentials());
		}
		const caller = authorize(row, {
			place,
			itself: this.#where.itself ?? false,
			scope,
			level,
			plugins,
		});
		this.#caller = caller;
		this.#noteUse(caller);
		if (!denied) return answers;
		this.#c.set("key", { ...caller.key, hash: key.hash });
		this.#c.executionCtx.waitUntil(cache(this.env, key.hash, caller.key));
		return this.read(...queries);
	}

	/** The guard's row and the answers to `queries`. A replica that doesn't know the key yet is not believed. */
	async #ask(queries: Statement[]) {
		const { organization, project, key } = this;
		const asked = guard(this.db, { hash: key.hash, organization, project });
		const [[row], ...answers] = await this.db.batch([asked, ...queries]);
		if (row?.key_id || !this.#toPrimary) return [row, ...answers] as const;
		this.#toPrimary();
		this.#toPrimary = undefined;
		const [[known], ...later] = await this.db.batch([asked, ...queries]);
		return [known, ...later] as const;
	}

	/** Writes what the answer needn't wait for. */
	later(statement: (db: Database) => PromiseLike<unknown>) {
		const write = async () => statement(drizzle(this.env.DB));
		this.#c.executionCtx.waitUntil(write());
	}

	/** `last_used_at` is at most an hour late, and never in the way of the answer. */
	#noteUse({ key, last_used_at }: Caller) {
		const before = new Date(Date.now() - HOUR).toISOString();
		if (last_used_at !== null && last_used_at > before) return;
		const { id, last_used_at: used } = personalApiKeys;
		const stale = and(eq(id, key.id), or(isNull(used), lt(used, before)));
		this.later((db) => db.update(personalApiKeys).set({ last_used_at: now() }).where(stale));
	}

	/** Carries out a write in one round trip, all or nothing. Fails with 403 if the caller's access has changed. */
	write<A extends Statement>(parts: Write & { answer: A }): Promise<A["_"]["result"]>;
	write<C extends Statement>(
		parts: Write & { change: C; answer?: never },
	): Promise<C["_"]["result"]>;
	async write({ before = [], change, entry = [], after, answer }: Write): Promise<unknown> {
		const id = v7();
		const [first, ...others] = [entry].flat();
		const entries = first ? [{ ...first, id }, ...others] : [];
		const changed = sql`exists (select 1 from ${activityLog} where ${activityLog.id} = ${id})`;
		const results = await this.db.batch([
			assertStillAllowed(this.db, this.key.hash, this.caller),
			...before,
			change,
			...entries.map((each) => this.#record(each)),
			...(after?.(changed) ?? []),
			...(answer ? [answer] : []),
		]);
		return answer ? results.at(-1) : results[1 + before.length];
	}

	/** One trip: an entry in the activity log for an action that changes no row. */
	async log(entry: Entry) {
		await this.db.batch([
			assertStillAllowed(this.db, this.key.hash, this.caller),
			this.#record(entry, sql`true`),
		]);
	}

	/**
	 * A DELETE: one trip with `removal`, a statement that returns the rows it removes, and its entry in the activity log.
	 * @returns the removed row; undefined where another request was faster
	 */
	async remove<R>(
		entry: Omit<Entry, "activity">,
		removal: Statement & { _: { result: R[] } },
	): Promise<R | undefined> {
		const [, [row]] = await this.db.batch([
			assertStillAllowed(this.db, this.key.hash, this.caller, { orGone: true }),
			removal,
			this.#record({ activity: "deleted", ...entry }),
		]);
		return row;
	}

	#record(entry: Entry, condition?: SQL) {
		const { organization, project, db } = this;
		const user_id = this.key.user_id;
		return record(db, { organization, project, ...entry, user_id }, condition);
	}

	/**
	 * A PATCH: writes what `body` changes of `row`, if anything.
	 * @param parts the rest of the write, made only if there is something to change
	 * @returns the row as it is afterwards
	 */
	async patch<R extends { id: string | number }>(
		row: R,
		body: object,
		told: Omit<Entry, "activity" | "item_id" | "changes"> & {
			/** Fields whose values the log doesn't show. */
			masked?: string[];
		},
		parts: () => Omit<Write, "entry"> & {
			answer: Statement & { _: { result: R[] } };
		},
	): Promise<R> {
		const { masked, ...rest } = told;
		const changed = changes(row, body, masked);
		if (changed.length === 0) return row;
		const entry = { activity: "updated", item_id: row.id, ...rest };
		const [after] = await this.write({
			...parts(),
			entry: { ...entry, changes: changed },
		});
		return found(after);
	}

	/** One page of the rows of `select`, which is neither filtered nor ordered yet, in one trip. */
	async page<S extends SQLiteSelect>(page: Page, select: S, list: List<S>) {
		const [rows, [counted]] = await this.read(...paged(this.db, page, select, list));
		const { keys } = list;
		return envelope<RowOf<S>>(page, rows, counted?.count ?? 0, keys);
	}
}

/** How often a write is tried again after another request interfered (docs/api.md#conflicts). */
const MAX_RETRIES = 3;

/**
 * Reads and writes, again where another request changed the object between the two.
 * @param attempt answers undefined where that happened
 * @throws 409 when it happens each time
 */
export async function retry<T>(attempt: () => Promise<T | undefined>): Promise<T> {
	for (let retries = 0; retries <= MAX_RETRIES; retries++) {
		const answer = await attempt();
		if (answer !== undefined) return answer;
	}
	throw conflict();
}

const tenantOf = (where: Where) =>
	createMiddleware<App>(async (c, next) => {
		c.set("tenant", new Tenant(c, where));
		await next();
	});

/** The handlers behind it act for the caller, whatever its organization. */
export const asCaller = tenantOf({ kind: "caller" });

/** The handlers behind it act in the organization that the path is below. */
export const inOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
});

/** The handlers behind it act on the caller's organizations, or on the one that the path names. */
export const onOrganizations = tenantOf({
	kind: "organization",
	parameter: "id",
	itself: true,
});

/** The handlers behind it act on the projects of the organization that the path is below, or on the one that it names. */
export const onProjectsOfOrganization = tenantOf({
	kind: "organization",
	parameter: "organization_id",
	child: "id",
});

/** The handlers behind it act in the project that the path is below. */
export const inProject = tenantOf({
	kind: "project",
	parameter: "project_id",
});

/** The handlers behind it act on the caller's projects, or on the one that the path names. */
export const onProjects = tenantOf({
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

/** Plugins are read where they may be configured, and written where they may be installed (docs/plugins.md#access). */
export const pluginAccess = createMiddleware<App>(async (c, next) => {
	const reads = c.req.method === "GET" || c.req.method === "HEAD";
	c.set("plugins", reads ? PLUGINS_CONFIG : PLUGINS_INSTALL);
	await next();
});
