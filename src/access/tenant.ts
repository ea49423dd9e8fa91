import type { SQL } from "drizzle-orm";
import type { BatchResponse } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { connect } from "../db/bookmark.ts";
import { changes } from "../db/changes.ts";
import { type Connected, type Database, runBatch, type Statement } from "../db/client.ts";
import type { ScopeWith } from "../db/event_types.ts";
import type { Details, Entry, SignedEntry } from "../db/record.ts";
import { ACCESS_LEVELS, type AccessLevel, type Resource } from "../db/schema/levels.ts";
import type { App } from "../env.ts";
import { badCredentials, orNotFound } from "../http/errors.ts";
import { preferenceOf } from "../http/prefer.ts";
import { countRequest } from "../http/rate_limit.ts";
import { addressOf, checkAddress, countFailure } from "../keys/addresses.ts";
import { cache, evict } from "../keys/keys.ts";
import { noteUse } from "../keys/usage.ts";
import { now } from "../lib/time.ts";
import { isOpened, levelOf, within } from "./access_levels.ts";
import type { TenantStatement } from "./cached_statements.ts";
import { accessNeeded } from "./check_access.ts";
import { authorize, type Caller, cachedGuard } from "./guard.ts";
import type { Idempotency } from "./idempotency.ts";
import { checkKey } from "./key_check.ts";
import { usedKeyOf } from "./origin.ts";
import type { Precondition } from "./precondition.ts";
import type { QueryValues } from "./query_scope.ts";
import type { Revoked } from "./receipts.ts";
import { assertStillAllowed } from "./recheck.ts";
import { formOf, idsOf, type Target } from "./target.ts";
import { commit, type Write } from "./unit_of_work.ts";

/** A write (src/access/unit_of_work.ts), whose entries are the caller's by default. */
type TenantWrite = Pick<Write, "checks" | "changes" | "afterEntries"> & {
	entries?: (Entry & Partial<Pick<SignedEntry, "user_id">>)[];
	/** What ends with the write, for the receipt (docs/audit.md#revocation-receipts). */
	revokes?: Revoked;
};

/** A select of rows. */
type Answer<R> = Statement & { _: { result: R[] } };

/**
 * The only way for families to access the database. The guard (credentials, scope, restrictions,
 * existence, membership, level) runs in the same batch as the request's queries, so no query can
 * run without it, and it needs no additional round trip.
 */
export class Tenant {
	readonly db: Connected;
	readonly env: Env;
	readonly kind: Target["kind"];
	/** The URL of the request. */
	readonly url: string;
	/** The caller's IP address; undefined if it is unknown. */
	readonly address: string | undefined;
	/** Makes later reads use the primary. Returns whether replicas were allowed before. */
	readonly usePrimary: () => boolean;
	readonly #c: Context<App>;
	readonly #path: Target;
	#caller: Caller | undefined;
	#at: string | undefined;

	constructor(c: Context<App>, path: Target) {
		const { db, usePrimary } = connect(c);
		this.db = db;
		this.usePrimary = usePrimary;
		this.env = c.env;
		this.kind = path.kind;
		this.url = c.req.url;
		this.address = addressOf(c);
		this.#c = c;
		this.#path = path;
	}

	/** The key in use, as recorded in KV. */
	get key() {
		return this.#c.get("key");
	}

	/** The time of the request's entries in the activity log: when it is first asked for. */
	get at() {
		this.#at ??= now();
		return this.#at;
	}

	/** The caller, read from D1. Throws if `read` hasn't returned yet. */
	get caller(): Caller {
		if (!this.#caller) throw new Error("The guard has not run yet.");
		return this.#caller;
	}

	/**
	 * Checks the access to an object that a body names, or with null to all of them, after `read`.
	 * @throws 403
	 */
	requireAccess(need: AccessLevel, resource: Resource, id: string | number | null) {
		const { controls, project } = this.caller.access;
		const level = within(
			project,
			levelOf(controls, { resource, id: id === null ? null : String(id) }),
		);
		if (level < ACCESS_LEVELS[need]) throw accessNeeded(resource, need, level);
	}

	/** Whether the caller may view what members of level 1 can't, unless it was given, after `read`. */
	mayReview(resource: Resource) {
		const { controls } = this.caller.access;
		return isOpened(controls, { resource, id: null, need: ACCESS_LEVELS.viewer });
	}

	/** SQL for the organization's id, or null. After `read`, it is the one that the guard found. */
	get organization(): SQL<number> {
		return idsOf(this.#place, this.key.user_id).organization;
	}

	/** SQL condition on `organizations`: it is the organization. */
	get isOrganization(): SQL {
		return idsOf(this.#place, this.key.user_id).isOrganization;
	}

	/** SQL for the project's id; null if there is none. */
	get project(): SQL<number> {
		return idsOf(this.#place, this.key.user_id).project;
	}

	/** The objects in the path or, after `read`, those that the guard has found. */
	get #place(): Target {
		if (!this.#caller) return this.#path;
		const { organization_id, project_id } = this.#caller;
		return {
			kind: this.kind,
			organization: organization_id ?? undefined,
			project: project_id ?? undefined,
			object: this.#path.object,
		};
	}

	/** The values for the placeholders of cached statements. */
	get #values(): QueryValues {
		const { hash, id, user_id } = this.key;
		const { organization = null, project = null, object } = this.#place;
		return { hash, key_id: id, user_id, organization, project, object: object?.id ?? null };
	}

	/**
	 * Runs the guard and `queries` in one round trip. If KV's record of the key forbids the request,
	 * D1 is queried before the request is rejected, since the record may be a minute old.
	 * @throws the guard's error: 401, 403, 404 or 429
	 */
	read<Q extends readonly Statement[]>(...queries: Q): Promise<BatchResponse<Q>>;
	async read(...queries: Statement[]): Promise<unknown> {
		// `c.var` would create an object of all variables each time.
		const [idempotency, precondition] = [this.#c.get("idempotency"), this.#c.get("precondition")];
		// A request counts once, even if it reads several times.
		const isFirst = !this.#caller;
		// Nothing to send: the guard has run already.
		if (!isFirst && queries.length === 0) return [];
		const { key } = this;
		const denied =
			(await checkAddress(key, this.address)) ?? checkKey(key, this.#c.get("scope"), this.#path);
		const tooMany = isFirst ? await countRequest(this.#c, key.id) : undefined;
		if (tooMany) throw denied ?? tooMany;
		if (denied) await this.#renewKey();
		if (!isFirst) {
			const rows = precondition?.selectRows(this.db, queries);
			return (await this.#send({ queries, rows })).queries;
		}
		await idempotency?.readRequest();
		const used = idempotency?.lookUp(this.db);
		const results = await this.#send({ queries, used });
		await idempotency?.check(this.caller, results.used?.[0]);
		await precondition?.check();
		return results.queries;
	}

	/**
	 * Reads a row.
	 * @throws 404 if there is none, and the errors of `read`
	 */
	async find<R>(query: Answer<R>): Promise<R> {
		const [[row]] = await this.read(query);
		return orNotFound(row);
	}

	/** Runs the guard, and replaces the record of the key by D1's. */
	async #renewKey() {
		await this.#send({ queries: [] });
		const { hash } = this.key;
		const { key } = this.caller;
		this.#c.set("key", { ...key, hash });
		this.#c.executionCtx.waitUntil(cache(this.env, hash, key));
	}

	/**
	 * Sends the guard and other statements in one batch. If a replica doesn't have the key, asks the
	 * primary.
	 * @throws the guard's error
	 */
	async #send(parts: {
		queries: Statement[];
		used?: ReturnType<Idempotency["lookUp"]> | undefined;
		rows?: ReturnType<Precondition["selectRows"]>;
	}) {
		const guard = cachedGuard(this.env, formOf(this.#place)).bind(this.db, this.#values);
		const send = () => runBatch(this.db, { guard, ...parts });
		let results = await send();
		if (!results.guard[0]?.key_id && this.usePrimary()) results = await send();
		const [row] = results.guard;
		if (!row?.key_id) {
			await evict(this.env, this.key.hash);
			// It may be an old value of a key that still exists, whose use this isn't.
			this.#c.set("counts", undefined);
			throw await countFailure(this.#c, badCredentials());
		}
		this.#c.set("usedKey", usedKeyOf(row.key_id, row));
		if (row.level !== null) this.#c.set("membership", row);
		this.#caller = await authorize(this.#c, row, this.#path);
		// The precondition may be about the row of the key, which must not change then.
		if (!this.#c.get("precondition")) noteUse(this.#c, this.#caller);
		return results;
	}

	/** Runs a statement without delaying the response. */
	later(statement: (db: Database) => PromiseLike<unknown>) {
		const write = async () => statement(drizzle(this.env.DB));
		this.#c.executionCtx.waitUntil(write());
	}

	/**
	 * Runs a write as one transaction, in one round trip.
	 * @returns the row of `answer`, or all of `rows`
	 * @throws 403 if the caller's access has changed since `read`, 404 if `answer` has no row, and the
	 * errors of `commit`
	 */
	write<R>(write: TenantWrite & { answer: Answer<R> }): Promise<R>;
	write<R>(write: TenantWrite & { rows: Answer<R> }): Promise<R[]>;
	write(write: TenantWrite): Promise<unknown>;
	async write({
		checks = [],
		entries = [],
		answer,
		rows = answer,
		revokes,
		...parts
	}: TenantWrite & { answer?: Statement; rows?: Statement }): Promise<unknown> {
		const { organization_id: organization, project_id: project } = this.caller;
		const receipts =
			revokes && preferenceOf(this.#c, "receipt") !== undefined
				? await import("./receipts.ts")
				: undefined;
		const receipt = receipts?.selectReceipt(this.db, this.env);
		const { hash } = this.key;
		const { object } = this.#path;
		const access = assertStillAllowed(this.env, this.db, this.caller, { hash, object });
		const signature = { user_id: this.key.user_id, created_at: this.at, organization, project };
		const write = {
			...parts,
			// A deleted object is a 404, not a 403 because the access to it was lost.
			checks: [...checks, access],
			entries: entries.map((entry) => ({ ...signature, ...entry })),
			answers: { rows, ...receipt },
		};
		const results = await commit(this.env, this.db, write, this.#c);
		if (receipts && receipt && revokes) {
			const [[entry] = [], [signer] = []] = [results.entry, results.signer];
			// Keys end everywhere, whichever organization the path names.
			const organization_id = revokes.user && this.caller.organization_uuid;
			const made = { revoked: revokes, organization_id, entry, signer };
			this.#c.set("receipt", await receipts.newReceipt(this.env, made));
		}
		return answer ? orNotFound(results.rows?.[0]) : results.rows;
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
		return this.write({ ...parts, entries: [updated, ...entries] });
	}

	/** Returns a cached statement with the values of this request. */
	cached<R, N extends string>(
		{ statement }: TenantStatement<R, N>,
		values: Record<N, string | number | null>,
	) {
		const cached = statement(this.env, formOf(this.#place));
		return cached.bind(this.db, { ...values, ...this.#values });
	}
}
