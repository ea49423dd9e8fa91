import { and, eq, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteSelect, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { addressOf, checkAddress } from "../auth/addresses.ts";
import { countFailure } from "../auth/authenticate.ts";
import { cache, evict } from "../auth/keys.ts";
import { assertExists } from "../db/assertion.ts";
import { changes } from "../db/changes.ts";
import type { Connected, Database } from "../db/client.ts";
import type { ScopeWith } from "../db/event_types.ts";
import { type List, paged, type RowOf } from "../db/list.ts";
import { iso, now } from "../db/now.ts";
import type { Details, Entry, SignedEntry } from "../db/record.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { connect } from "../db/session.ts";
import type { App } from "../env.ts";
import { badCredentials, found } from "../http/errors.ts";
import { type Envelope, envelope, type Page } from "../http/page.ts";
import { countRequest } from "../http/rate_limit.ts";
import { HOUR_MS } from "../lib/durations.ts";
import {
	type Cacheable,
	cachedGuard,
	givenFrom,
	type TenantList,
	type TenantStatement,
	type TenantValues,
	type Value,
} from "./cached_statements.ts";
import { assertStillAllowed, authorize, type Caller } from "./guard.ts";
import { checkKey, type PathTenant } from "./permit.ts";
import { foundPlace, organizationOf, projectOf, readPath, tenantIn, type Where } from "./place.ts";
import { commit, type Write } from "./unit_of_work.ts";
import { currentOrganization } from "./visible.ts";

type Statement = BatchItem<"sqlite">;

/** The number of rows up to which a page of a cached list is read without a limit in bytes: `large` costs rows. */
const MAX_CACHED = 100;

/** A write (src/access/unit_of_work.ts), whose entries are the caller's by default. */
type TenantWrite = Pick<Write, "checks" | "changes" | "after"> & {
	entries?: (Entry & Partial<Pick<SignedEntry, "user_id">>)[];
};

/** A select of rows. */
type Answer<R> = Statement & { _: { result: R[] } };

/**
 * The only way for families to access the database. The guard (credentials, scope, restrictions, existence, membership, level)
 * runs in the same batch as the request's queries, so no query can run without it, and it needs no additional round trip.
 */
export class Tenant {
	readonly db: Connected;
	readonly #c: Context<App>;
	readonly #where: Where;
	readonly #session: ReturnType<typeof connect>;
	#caller: Caller | undefined;
	#at: string | undefined;

	constructor(c: Context<App>, where: Where) {
		this.#session = connect(c);
		this.db = this.#session.db;
		this.#c = c;
		this.#where = where;
	}

	get env() {
		return this.#c.env;
	}

	get kind() {
		return this.#where.kind;
	}

	/** The key in use, as recorded in KV. */
	get key() {
		return this.#c.get("key");
	}

	// `c.var` would create an object of all variables each time.
	get #idempotency() {
		return this.#c.get("idempotency");
	}

	get #precondition() {
		return this.#c.get("precondition");
	}

	/** The time of the request's entries in the activity log: when it is first asked for. */
	get at() {
		this.#at ??= now();
		return this.#at;
	}

	/** The caller's IP address; undefined if it is unknown. */
	get address() {
		return addressOf(this.#c);
	}

	/**
	 * The caller, read from D1.
	 * @throws if `read` hasn't returned yet
	 */
	get caller(): Caller {
		if (!this.#caller) throw new Error("The guard has not run yet.");
		return this.#caller;
	}

	/** Whether the key in use is restricted, as recorded in KV. */
	get restricted() {
		const { organizations, projects } = this.key;
		return { organizations: organizations.length > 0, projects: projects.length > 0 };
	}

	/** SQL for the organization's id, null if there is none. After `read`, it is the id that the guard found. */
	get organization(): SQL<number> {
		return organizationOf(this.#place.form, this.#ids);
	}

	/** SQL for the project's id; null if there is none. */
	get project(): SQL<number> {
		return projectOf(this.#place.form, this.#ids);
	}

	/** SQL for the id of the caller's current organization. */
	get currentOrganization() {
		return currentOrganization(this.key.user_id);
	}

	/** The tenant as the path identifies it or, after `read`, as the guard has found it. */
	get #place() {
		if (this.#caller) return foundPlace(this.kind, this.#caller);
		return readPath(this.kind, this.#named, this.#child);
	}

	/** Everything that the SQL of cached statements depends on. */
	get #form() {
		return { ...this.#place.form, ...this.restricted };
	}

	/** The values for the placeholders of cached statements. */
	get #values(): TenantValues {
		const { hash, id, user_id } = this.key;
		const { organization, project } = this.#place;
		return { hash, key_id: id, user_id, organization, project };
	}

	get #ids() {
		const { user_id, organization, project } = this.#values;
		return {
			user_id,
			organization: sql`${organization}`,
			project: sql<number>`${project}`,
		};
	}

	/** The tenant's id in the path; undefined if the path has none, as in lists. */
	get #named() {
		const { parameter } = this.#where;
		return parameter && this.#c.req.param(parameter);
	}

	/** The id of a project of the organization in the path; undefined if the path has none. */
	get #child() {
		const { child } = this.#where;
		return child && this.#c.req.param(child);
	}

	/** The tenant in the path. */
	get #path(): PathTenant {
		return tenantIn(this.kind, this.#named, this.#child);
	}

	/**
	 * Runs the guard and `queries` in one round trip. If KV's record of the key forbids the request, D1 is queried before the
	 * request is rejected, since the record may be a minute old.
	 * @throws the guard's error: 401, 403, 404 or 429
	 */
	read<Q extends readonly Statement[]>(...queries: Q): Promise<BatchResponse<Q>>;
	async read(...queries: Statement[]): Promise<unknown> {
		const idempotency = this.#idempotency;
		const precondition = this.#precondition;
		const intercepted = precondition?.intercept(queries);
		if (intercepted) return intercepted;
		const place = this.#path;
		const { address, key } = this;
		const scope = this.#c.get("scope");
		const denied = (await checkAddress(key, address)) ?? checkKey(key, scope, place);
		// A request counts once, even if it reads several times.
		const tooMany = this.#caller ? undefined : await countRequest(this.#c, key.id);
		if (tooMany) throw denied ?? tooMany;
		// Checked only with the first read.
		const isFirst = !denied && !this.#caller;
		if (isFirst) await idempotency?.readRequest();
		const lookUps = isFirst && idempotency ? [idempotency.lookUp(this.db)] : [];
		const conditions = (isFirst && (await precondition?.statements(this.db))) || [];
		const riding = [...lookUps, ...conditions];
		const [row, ...results] = await this.#ask(denied ? [] : [...riding, ...queries]);
		if (!row?.key_id) {
			await evict(this.env, key.hash);
			throw await countFailure(this.#c, badCredentials());
		}
		const caller = await authorize(row, {
			place,
			address,
			itself: this.#where.itself ?? false,
			scope,
			level: this.#c.get("level") ?? 0,
			plugins: this.#c.get("plugins") ?? 0,
		});
		// The precondition may be about the row of the key, which must not change then.
		if (!precondition) this.#noteUse(caller);
		if (denied) {
			this.#c.set("key", { ...caller.key, hash: key.hash });
			this.#c.executionCtx.waitUntil(cache(this.env, key.hash, caller.key));
			return this.read(...queries);
		}
		this.#caller = caller;
		const answers = results.slice(riding.length);
		if (isFirst) {
			await idempotency?.check(caller, results[0]?.[0]);
			await precondition?.check(results.slice(lookUps.length, riding.length));
		}
		return answers;
	}

	/** Returns the guard's row and the results of `queries`. If a replica doesn't have the key, queries the primary. */
	async #ask(queries: Statement[]) {
		const check = this.#check();
		const [[row], ...answers] = await this.db.batch([check, ...queries]);
		if (row?.key_id || !this.usePrimary()) return [row, ...answers] as const;
		const [[primaryRow], ...primaryAnswers] = await this.db.batch([check, ...queries]);
		return [primaryRow, ...primaryAnswers] as const;
	}

	/** Returns the guard's statement. */
	#check() {
		return cachedGuard(this.env, this.#place.form).bind(this.db, this.#values);
	}

	/**
	 * Makes later reads use the primary instead of a replica.
	 * @returns whether replicas were allowed before
	 */
	usePrimary(): boolean {
		return this.#session.usePrimary();
	}

	/** Runs a statement without delaying the response. */
	later(statement: (db: Database) => PromiseLike<unknown>) {
		const write = async () => statement(drizzle(this.env.DB));
		this.#c.executionCtx.waitUntil(write());
	}

	/** Updates `last_used_at` at most once an hour, without delaying the response. */
	#noteUse({ key, last_used_at }: Caller) {
		const before = iso(Date.now() - HOUR_MS);
		if (last_used_at !== null && last_used_at > before) return;
		const { id, last_used_at: used } = personalApiKeys;
		const stale = and(eq(id, key.id), or(isNull(used), lt(used, before)));
		this.later((db) => db.update(personalApiKeys).set({ last_used_at: now() }).where(stale));
	}

	/**
	 * Runs a write as one transaction, in one round trip.
	 * @returns the rows of `answer`
	 * @throws 403 if the caller's access has changed since `read`, and the errors of `commit`
	 */
	write<R>(write: TenantWrite & { answer: Answer<R> }): Promise<R[]>;
	write(write: TenantWrite): Promise<unknown>;
	async write({
		checks = [],
		entries = [],
		answer,
		...parts
	}: TenantWrite & { answer?: Statement }): Promise<unknown> {
		const { organization_id: organization, project_id: project } = this.caller;
		const access = assertStillAllowed(this.env, this.db, this.key.hash, this.caller);
		const signature = { user_id: this.key.user_id, created_at: this.at, organization, project };
		const write = {
			...parts,
			// A deleted object is a 404, not a 403 because the access to it was lost.
			checks: [...checks, access],
			entries: entries.map((entry) => ({ ...signature, ...entry })),
			...(answer && { answers: { answer } }),
		};
		return (await commit(this.env, this.db, write, this.#c)).answer;
	}

	/** Writes an activity log entry for an action that changes no row, in one round trip. */
	log(entry: Entry) {
		return this.write({ entries: [entry] });
	}

	/**
	 * Executes a DELETE in one round trip.
	 * @throws (the batch) 404 if another request has deleted the row, or it no longer fulfils `where`
	 */
	remove(
		entry: Details & { scope: ScopeWith<"deleted"> },
		table: SQLiteTable,
		where: SQL | undefined,
	) {
		return this.write({
			checks: [assertExists(this.db, table, where)],
			changes: [this.db.delete(table).where(where)],
			entries: [{ activity: "deleted", ...entry }],
		});
	}

	/**
	 * Executes a PATCH: writes the values of `body` that differ from `row`, if there are any.
	 * @param write returns the rest of the write; called only if there is something to change
	 * @returns the row after the write
	 */
	async patch<R extends { id: string | number }>(
		row: R,
		body: object,
		{
			masked,
			...entry
		}: Omit<Details, "item_id" | "changes"> & {
			scope: ScopeWith<"updated">;
			/** Fields whose values must not appear in the log. */
			masked?: string[];
		},
		write: () => TenantWrite & { answer: Answer<R> },
	): Promise<R> {
		const changed = changes(row, body, masked);
		if (changed.length === 0) return row;
		const { entries = [], ...parts } = write();
		const updated = { activity: "updated" as const, item_id: row.id, changes: changed, ...entry };
		const [after] = await this.write({ ...parts, entries: [updated, ...entries] });
		return found(after);
	}

	/**
	 * Returns a page of `select`, which `list` filters and sorts, in one round trip.
	 * @param to converts a row to a result
	 */
	page<S extends SQLiteSelect>(
		page: Page,
		select: () => S,
		list: List<S>,
	): Promise<Envelope<RowOf<S>>>;
	page<S extends SQLiteSelect, R>(
		page: Page,
		select: () => S,
		list: List<S>,
		to: (row: RowOf<S>) => R,
	): Promise<Envelope<R>>;
	async page<S extends SQLiteSelect>(
		page: Page,
		select: () => S,
		list: List<S>,
		to?: (row: RowOf<S>) => unknown,
	): Promise<Envelope<unknown>> {
		const [rows, [counted]] = await this.read(...paged(this.db, page, select, list));
		return envelope(page, rows, counted?.count ?? 0, list.keys, to);
	}

	/** Returns a cached statement with the values of this request. */
	cached<S extends Cacheable, N extends string>(
		{ names, build, statement }: TenantStatement<S, N>,
		values: Record<N, Value>,
	) {
		const anew = () =>
			build(
				this,
				givenFrom(names, (name) => sql`${values[name]}`),
			);
		const all = { ...values, ...this.#values };
		return statement(this.env, this.#form).bind(this.db, all, anew);
	}

	/** Returns a page of a list whose first page is cached, unless it is long. */
	async cachedPage<S extends SQLiteSelect>(
		page: Page,
		{ select, list, statements }: TenantList<S>,
	) {
		const { large, ...short } = list(this);
		if (page.limit > MAX_CACHED) return this.page(page, () => select(this), { ...short, large });
		if (page.after || page.offset > 0) return this.page(page, () => select(this), short);
		const anew = () => paged(this.db, page, () => select(this), list(this));
		const { rows, counted, keys } = statements(this.env, this.#form);
		const values = { ...this.#values, rows: page.limit + 1 };
		const [found, [total]] = await this.read(
			rows.bind(this.db, values, () => anew()[0]),
			counted.bind(this.db, values, () => anew()[1]),
		);
		return envelope<RowOf<S>>(page, found, total?.count ?? 0, keys);
	}
}
